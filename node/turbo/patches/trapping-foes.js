'use strict';
/**
 * Vanilla: at the end of a turn, runs an event on each ability that a foe of this species may have, in case it is one
 * that traps; each time it looks up the ability, the rules on it, and the types of the Pokémon that it may trap.
 * Instead: passes over the foes whose species has no ability with a callback for this event.
 * Same, because: for these, nothing happens but questions whose answers are not used. They change nothing either, unless
 * an effect meddles with types, the battle is being debugged or has run away; then every foe is asked as before.
 */

/** @type {any[]} */
const NOBODY = [];

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'trapping-foes',
  needs: ['listeners'],
  replaces: [
    'sim/battle Battle.endTurn',
    'sim/battle Battle.singleEvent',
    'sim/dex ModdedDex.getImmunity',
    'sim/pokemon Pokemon.getTypes',
  ],
  inlines: ['Battle.singleEvent', 'Battle.runEvent', 'Pokemon.getTypes', 'Pokemon.ignoringAbility'],
  edits: {
    'sim/battle': [
      {
        site: 'for (const source of pokemon.foes()) {',
        put: 'for (const source of turbo.possibleTrappers(this, pokemon)) {',
      },
    ],
  },
  methods: {
    'sim/battle': (_, { runtime }) => {
      const { TRAITS, index } = runtime;
      /** @type {WeakMap<object, WeakMap<object, boolean>>} by dex and the abilities of a species */
      const known = new WeakMap();
      const types = index.event('Type');

      /**
       * @param {any} battle
       * @param {any} pokemon
       * @returns {Iterable<any>}
       */
      runtime.possibleTrappers = (battle, pokemon) => {
        const foes = pokemon.foes();
        const traits = battle[TRAITS];
        const isPlain =
          traits.listeners &&
          traits['trapping-foes'] &&
          !battle.debugMode &&
          battle.eventDepth < 8 &&
          battle.log.length - battle.sentLogPos <= 1000 &&
          !(pokemon.knownType && index.isHeard(battle, types, pokemon, null));
        if (!isPlain) return foes;
        let trappers = NOBODY;
        for (const foe of foes) {
          if (!mayTrap(battle.dex, (foe.illusion || foe).species)) continue;
          if (trappers === NOBODY) trappers = [];
          trappers.push(foe);
        }
        return trappers;
      };

      /**
       * @param {any} dex
       * @param {any} species
       */
      function mayTrap(dex, species) {
        const { abilities } = species;
        if (!abilities) return false;
        let byAbilities = known.get(dex);
        if (!byAbilities) {
          byAbilities = new WeakMap();
          known.set(dex, byAbilities);
        }
        let answer = byAbilities.get(abilities);
        if (answer === undefined) {
          answer = false;
          for (const slot in abilities) {
            if (dex.abilities.get(abilities[slot]).onFoeMaybeTrapPokemon !== undefined) answer = true;
          }
          if (Object.isFrozen(abilities)) byAbilities.set(abilities, answer);
        }
        return answer;
      }
      return {};
    },
  },
};
