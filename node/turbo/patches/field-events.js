'use strict';
/**
 * Vanilla: at the end of a turn and when somebody switches in, `fieldEvent` asks every effect of every active Pokémon,
 * side and the field for callbacks and for states with a duration, and joins a dozen mostly empty lists.
 * Instead: those are asked who listen, or have a state with a duration.
 * Same, because: a list is left out only where it would have been empty, and the others are joined in the same order.
 * What is done with the handlers is vanilla's own text.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'field-events',
  needs: ['listeners'],
  replaces: [
    'sim/battle Battle.fieldEvent',
    'sim/battle Battle.findPokemonEventHandlers',
    'sim/battle Battle.findBattleEventHandlers',
    'sim/battle Battle.findFieldEventHandlers',
    'sim/battle Battle.findSideEventHandlers',
  ],
  edits: {
    'sim/battle': [
      {
        site: '    let handlers = this.findFieldEventHandlers(this.field, `onField${eventid}`, getKey);\n',
        put:
          '    let handlers = turbo.findHandlers(this, eventid, targets, getKey);\n' +
          '    if (!handlers) {\n' +
          '    handlers = this.findFieldEventHandlers(this.field, `onField${eventid}`, getKey);\n',
      },
      {
        site: '    this.speedSort(handlers);\n    while (handlers.length) {\n',
        put: '    }\n    this.speedSort(handlers);\n    while (handlers.length) {\n',
      },
    ],
  },
  methods: {
    'sim/battle': (_, { runtime }) => {
      const { TRAITS, ON, ANY, hears, index } = runtime;

      /**
       * @param {any} battle
       * @param {string} name
       * @param {any[] | undefined} targets
       * @param {'duration' | undefined} key
       * @returns {any[] | null} nothing where vanilla has to do it
       */
      runtime.findHandlers = (battle, name, targets, key) => {
        if (!battle[TRAITS].listeners) return null;
        const event = index.event(name);
        const onField = index.event(`Field${name}`);
        const onSide = index.event(`Side${name}`);
        const { field } = battle;
        const fieldListens = hears(index.field(field), event, ON);
        /** @type {any[]} */
        const handlers = [];
        if (hears(index.field(field), onField, ON) || (key && fieldHasDuration(field))) {
          handlers.push(...battle.findFieldEventHandlers(field, onField.on, key));
        }
        for (const side of battle.sides) {
          const listeners = index.side(side);
          if (side.n < 2 || !side.allySide) {
            if (hears(listeners, onSide, ON) || (key && hasDuration(side.sideConditions))) {
              handlers.push(...battle.findSideEventHandlers(side, onSide.on, key));
            }
          }
          for (const active of side.active) {
            if (!active) continue;
            if (name === 'SwitchIn' && hears(index.pokemon(active), event, ANY)) {
              handlers.push(...battle.findPokemonEventHandlers(active, event.onAny));
            }
            if (targets && !targets.includes(active)) continue;
            if (hears(index.pokemon(active), event, ON) || (key && pokemonHasDuration(active))) {
              handlers.push(...battle.findPokemonEventHandlers(active, event.on, key));
            }
            if (hears(listeners, event, ON)) {
              handlers.push(...battle.findSideEventHandlers(side, event.on, undefined, active));
            }
            if (fieldListens) handlers.push(...battle.findFieldEventHandlers(field, event.on, undefined, active));
            handlers.push(...battle.findBattleEventHandlers(event.on, key, active));
          }
        }
        return handlers;
      };
      return {};
    },
  },
};

/** @param {Record<string, any>} states */
function hasDuration(states) {
  for (const id in states) if (states[id].duration) return true;
  return false;
}

/** @param {any} field */
function fieldHasDuration(field) {
  return field.weatherState.duration || field.terrainState.duration || hasDuration(field.pseudoWeather);
}

/** @param {any} pokemon */
function pokemonHasDuration(pokemon) {
  return (
    pokemon.statusState.duration ||
    pokemon.abilityState.duration ||
    pokemon.itemState.duration ||
    hasDuration(pokemon.volatiles) ||
    hasDuration(pokemon.side.slotConditions[pokemon.position])
  );
}
