'use strict';
/**
 * Vanilla: `resolvePriority` puts together three property names and a table of types for every handler.
 * Instead: the names of a callback are made once, the table too.
 * Same, because: the names, the table and the order of the questions are vanilla's.
 */

/** @type {Record<string, number>} */
const SUB_ORDERS = { Condition: 2, Weather: 5, Format: 5, Rule: 5, Ruleset: 5, Ability: 7, Item: 8 };

/** The names of the properties that say when a callback's turn is. */
class Names {
  /** @param {string} callback */
  constructor(callback) {
    this.order = `${callback}Order`;
    this.priority = `${callback}Priority`;
    this.subOrder = `${callback}SubOrder`;
    this.isSwitchIn = callback.endsWith('SwitchIn');
    this.keepsOrder = this.isSwitchIn || callback.endsWith('RedirectTarget');
  }
}

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'priorities',
  replaces: ['sim/battle Battle.resolvePriority'],
  methods: {
    'sim/battle': (_, { use }) => {
      const { Side } = use('sim/side');
      const { Field } = use('sim/field');
      /** @type {Map<string, Names>} as many as there are callbacks */
      const known = new Map();

      /** @param {string} callback */
      function namesOf(callback) {
        let names = known.get(callback);
        if (!names) known.set(callback, (names = new Names(callback)));
        return names;
      }

      return {
        Battle: {
          /** @this {any} @param {any} handler @param {string} callback */
          resolvePriority(handler, callback) {
            const names = namesOf(callback);
            const { effect, state } = handler;
            handler.order = effect[names.order] || false;
            handler.priority = effect[names.priority] || 0;
            handler.subOrder = effect[names.subOrder] || subOrder(effect, state);
            if (names.keepsOrder) handler.effectOrder = state?.effectOrder;
            const pokemon = handler.effectHolder;
            if (pokemon && pokemon.getStat) {
              handler.speed = pokemon.speed;
              if (callback === 'onAllyTryHitSide' && effect.effectType === 'Ability' && effect.name === 'Magic Bounce') {
                handler.speed = pokemon.getStat('spe', true, true);
              }
              if (names.isSwitchIn) {
                handler.speed -= this.speedOrder.indexOf(pokemon.getFieldPositionValue()) / (this.activePerHalf * 2);
              }
            }
            return handler;
          },
        },
      };

      /** @param {any} effect @param {any} state */
      function subOrder(effect, state) {
        const { effectType } = effect;
        if (effectType === 'Condition') {
          if (state?.target instanceof Side) return state.isSlotCondition ? 3 : 4;
          if (state?.target instanceof Field) return 5;
        } else if (effectType === 'Ability') {
          if (effect.name === 'Poison Touch' || effect.name === 'Perish Body') return 6;
          if (effect.name === 'Stall') return 9;
        }
        return SUB_ORDERS[effectType] || 0;
      }
    },
  },
};
