'use strict';
/**
 * Vanilla: at the end of a turn, clones every move of every active Pokémon to run one event on the clone, and to read
 * one flag from it.
 * Instead: clones only the moves that have a callback for this event, or the flag.
 * Same, because: without a callback the event returns at once, unless it stops a runaway battle; then it is run. The
 * clone is seen by nobody else, and making it draws no random number.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'end-turn',
  needs: ['traits'],
  replaces: ['sim/battle Battle.endTurn', 'sim/battle Battle.singleEvent', 'sim/dex ModdedDex.getActiveMove'],
  inlines: ['Battle.singleEvent'],
  edits: {
    'sim/battle': [
      {
        site: 'const activeMove = this.dex.getActiveMove(moveSlot.id);',
        put: 'if (turbo.isMoveIdle(this, moveSlot.id)) continue;\n          const activeMove = this.dex.getActiveMove(moveSlot.id);',
      },
    ],
  },
  methods: {
    'sim/battle': (_, { runtime }) => {
      const { TRAITS } = runtime;
      /** @type {WeakMap<object, Map<string, boolean>>} by dex and id: whether a move is idle */
      const known = new WeakMap();

      /**
       * Whether the end of a turn means nothing to a move.
       * @param {any} battle
       * @param {string} id
       */
      runtime.isMoveIdle = (battle, id) =>
        isIdle(battle.dex, id) &&
        battle.eventDepth < 8 &&
        battle.log.length - battle.sentLogPos <= 1000 &&
        battle[TRAITS]['end-turn'];

      /**
       * @param {any} dex
       * @param {string} id
       */
      function isIdle(dex, id) {
        let byId = known.get(dex);
        if (!byId) {
          byId = new Map();
          known.set(dex, byId);
        }
        let answer = byId.get(id);
        if (answer === undefined) {
          const move = dex.moves.get(id);
          answer = move.onDisableMove === undefined && !move.flags.cantusetwice;
          if (Object.isFrozen(move)) byId.set(id, answer);
        }
        return answer;
      }
      return {};
    },
  },
};
