'use strict';
/**
 * Vanilla: a Pokémon gets some of its properties only when they are first needed. The engine gives objects with other
 * properties, or in another order, other hidden classes; with more than four of them about, every access to every
 * Pokémon takes the slow way.
 * Instead: these properties live in fields that each Pokémon has from the start, behind accessors.
 * Same, because: reading and writing them is as ever, and nothing in the simulator lists the properties of a Pokémon but
 * the code that serialises it, which is given them in vanilla's order: each remembers after which it came.
 *
 * `terastallized` stays as it is: the simulator deletes it.
 */

const LATE = ['lastMoveTargetLoc', 'staleness', 'pendingStaleness'];
const FIELDS = LATE.map((name) => Symbol(name));
const [LOCATION, STALENESS, PENDING] = FIELDS;
/** Which ones have been set, one bit each, and in what order: each name with the property that was last by then. */
const SET = Symbol('set');
const ORDER = Symbol('order');
const START = '    this.side = side;\n    this.battle = side.battle;\n    this.m = {};\n';

/** @typedef {{name: string, field: symbol, after: string | undefined}} Arrival */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'late-properties',
  edits: {
    'sim/pokemon': [{ site: START, put: `${START}    turbo.giveLateFields(this);\n` }],
    'sim/state': [
      {
        site: 'this.serialize(pokemon, POKEMON, pokemon.battle)',
        put: 'this.serialize(turbo.asListed(pokemon), POKEMON, pokemon.battle)',
      },
    ],
  },
  methods: {
    'sim/pokemon': ({ Pokemon }, { runtime }) => {
      for (const [index, name] of LATE.entries()) {
        Object.defineProperty(Pokemon.prototype, name, accessors(name, FIELDS[index], 1 << index));
      }
      /** @param {any} pokemon */
      runtime.giveLateFields = (pokemon) => {
        pokemon[LOCATION] = undefined;
        pokemon[STALENESS] = undefined;
        pokemon[PENDING] = undefined;
        pokemon[SET] = 0;
        pokemon[ORDER] = null;
      };
      runtime.asListed = asListed;
      return {};
    },
  },
};

/**
 * @param {string} name
 * @param {symbol} field
 * @param {number} bit
 * @returns {PropertyDescriptor & ThisType<any>}
 */
function accessors(name, field, bit) {
  return {
    configurable: true,
    get() {
      return this[field];
    },
    set(value) {
      if (!(this[SET] & bit)) {
        this[SET] |= bit;
        (this[ORDER] ??= []).push({ name, field, after: Object.keys(this).at(-1) });
      }
      this[field] = value;
    },
  };
}

/**
 * @param {any} pokemon
 * @returns {Record<string, any>} its properties as vanilla would list them
 */
function asListed(pokemon) {
  /** @type {Arrival[]} */
  const arrivals = pokemon[ORDER] ?? [];
  if (!arrivals.length) return pokemon;
  /** @type {Record<string, any>} */
  const listed = {};
  for (const key of Object.keys(pokemon)) {
    listed[key] = pokemon[key];
    for (const { name, field, after } of arrivals) if (after === key) listed[name] = pokemon[field];
  }
  // What it came after has been deleted since: that was the last one, so this one is.
  for (const { name, field } of arrivals) if (!(name in listed)) listed[name] = pokemon[field];
  return listed;
}
