'use strict';
/**
 * Vanilla: for each effect that somebody holds, `getCallback` is called to learn that the effect has none, and the
 * format is asked again for every event.
 * Instead: the property is read where it is needed, and only a switch-in, which has a rule of its own, asks `getCallback`.
 * Same, because: for every other callback `getCallback` returns just that property. Effects are asked in vanilla's order.
 */

const nothing = () => {};

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'handlers',
  needs: ['listeners'],
  replaces: [
    'sim/battle Battle.findPokemonEventHandlers',
    'sim/battle Battle.findBattleEventHandlers',
    'sim/battle Battle.getCallback',
  ],
  methods: {
    'sim/battle': ({ Battle }, { runtime }) => {
      const { TRAITS } = runtime;
      const { findPokemonEventHandlers, findBattleEventHandlers } = Battle.prototype;
      return {
        Battle: {
          /** @this {any} @param {any} pokemon @param {string} name @param {string} [key] */
          findPokemonEventHandlers(pokemon, name, key) {
            if (!this[TRAITS].listeners || name === 'onSwitchIn') {
              return findPokemonEventHandlers.call(this, pokemon, name, key);
            }
            /** @type {any[]} */
            const handlers = [];
            const { side, statusState, abilityState, itemState, volatiles } = pokemon;
            const { conditions } = this.dex;
            const status = pokemon.getStatus();
            let callback = status[name];
            if (callback !== undefined || (key && statusState[key])) {
              handlers.push(handler(this, pokemon, name, status, callback, statusState, pokemon.clearStatus));
            }
            for (const id in volatiles) {
              const state = volatiles[id];
              const volatile = conditions.getByID(id);
              callback = volatile[name];
              if (callback !== undefined || (key && state[key])) {
                handlers.push(handler(this, pokemon, name, volatile, callback, state, pokemon.removeVolatile));
              }
            }
            const ability = pokemon.getAbility();
            callback = ability[name];
            if (callback !== undefined || (key && abilityState[key])) {
              handlers.push(handler(this, pokemon, name, ability, callback, abilityState, pokemon.clearAbility));
            }
            const item = pokemon.getItem();
            callback = item[name];
            if (callback !== undefined || (key && itemState[key])) {
              handlers.push(handler(this, pokemon, name, item, callback, itemState, pokemon.clearItem));
            }
            const species = pokemon.baseSpecies;
            callback = species[name];
            if (callback !== undefined) {
              handlers.push(handler(this, pokemon, name, species, callback, pokemon.speciesState, nothing));
            }
            const slots = side.slotConditions[pokemon.position];
            for (const id in slots) {
              const state = slots[id];
              const condition = conditions.getByID(id);
              callback = condition[name];
              if (callback === undefined && !(key && state[key])) continue;
              handlers.push(
                this.resolvePriority(
                  {
                    effect: condition,
                    callback,
                    state,
                    end: side.removeSlotCondition,
                    endCallArgs: [side, pokemon, condition.id],
                    effectHolder: pokemon,
                  },
                  name,
                ),
              );
            }
            return handlers;
          },

          /** @this {any} @param {string} name @param {string} [key] @param {any} [holder] */
          findBattleEventHandlers(name, key, holder) {
            const isIdle =
              this[TRAITS].listeners &&
              name !== 'onSwitchIn' &&
              this.events === null &&
              this.format[name] === undefined &&
              !(key && this.formatData[key]);
            return isIdle ? [] : findBattleEventHandlers.call(this, name, key, holder);
          },
        },
      };
    },
  },
};

/**
 * @param {any} battle @param {any} pokemon @param {string} name @param {any} effect @param {any} callback
 * @param {any} state @param {any} end
 */
function handler(battle, pokemon, name, effect, callback, state, end) {
  return battle.resolvePriority({ effect, callback, state, end, effectHolder: pokemon }, name);
}
