'use strict';
/**
 * Vanilla: finds the id and the entry of a type for each question about it; for several types, it asks itself one by one.
 * Instead: each dex remembers its chart by the names of types, and sums for the types of a species.
 * Same, because: only entries that exist are remembered, which vanilla keeps and freezes, and only arrays of types that
 * are frozen, as those of species are. Anything else is asked as vanilla asks it, also a type by another name than its
 * own: players may choose how they write it.
 */

const CHART = Symbol('chart');

/** @typedef {{taken: Map<string, Record<string, number>>, sums: WeakMap<string[], Map<string, number>>}} Chart */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'type-chart',
  replaces: [
    'sim/dex ModdedDex.getEffectiveness',
    'sim/dex ModdedDex.getImmunity',
    'sim/dex-data DexTypes.get',
    'sim/dex-data DexTypes.getByID',
  ],
  methods: {
    'sim/dex': ({ ModdedDex }) => {
      const vanilla = { effectiveness: ModdedDex.prototype.getEffectiveness, immunity: ModdedDex.prototype.getImmunity };
      return {
        ModdedDex: {
          /** @this {any} @param {any} source @param {any} target */
          getEffectiveness(source, target) {
            const type = typeof source === 'string' ? source : source.type;
            if (typeof type === 'string') {
              if (typeof target === 'string') {
                const taken = takenBy(this, target);
                if (taken) return exponent(taken[type]);
              } else if (!target.getTypes && Array.isArray(target.types)) {
                const sum = sumOver(this, target.types, type);
                if (sum !== undefined) return sum;
              }
            }
            return vanilla.effectiveness.call(this, source, target);
          },
          /** @this {any} @param {any} source @param {any} target */
          getImmunity(source, target) {
            const type = typeof source === 'string' ? source : source.type;
            if (typeof type === 'string') {
              if (typeof target === 'string') {
                const taken = takenBy(this, target);
                if (taken) return taken[type] !== 3;
              } else if (target.getTypes) {
                return isHitIn(this, type, target.getTypes() || target.types || target);
              }
            }
            return vanilla.immunity.call(this, source, target);
          },
        },
      };
    },
  },
};

/**
 * @param {any} dex
 * @returns {Chart}
 */
function chartOf(dex) {
  return (dex[CHART] ??= { taken: new Map(), sums: new WeakMap() });
}

/**
 * @param {any} dex
 * @param {string} type
 * @returns {Record<string, number> | undefined} what a Pokémon of this type takes from others, if there is such a type
 */
function takenBy(dex, type) {
  const { taken } = chartOf(dex);
  let entry = taken.get(type);
  if (entry) return entry;
  const { exists, name, damageTaken } = dex.types.get(type);
  if (!exists || name !== type || !Object.isFrozen(damageTaken)) return undefined;
  entry = damageTaken;
  taken.set(type, damageTaken);
  return entry;
}

/**
 * @param {any} dex
 * @param {string[]} types
 * @param {string} source
 * @returns {number | undefined} nothing where it has to be asked one by one
 */
function sumOver(dex, types, source) {
  const { sums } = chartOf(dex);
  let bySource = sums.get(types);
  if (!bySource) {
    if (!Object.isFrozen(types)) return undefined;
    sums.set(types, (bySource = new Map()));
  }
  let sum = bySource.get(source);
  if (sum !== undefined) return sum;
  sum = 0;
  for (const type of types) {
    const taken = takenBy(dex, type);
    if (!taken) return undefined;
    sum += exponent(taken[source]);
  }
  bySource.set(source, sum);
  return sum;
}

/**
 * @param {any} dex
 * @param {string} type
 * @param {any} types of a Pokémon, or whatever a mod has in their place
 * @returns {boolean} whether none of them is immune
 */
function isHitIn(dex, type, types) {
  if (!Array.isArray(types)) return dex.types.get(types).damageTaken[type] !== 3;
  for (const one of types) if (!dex.getImmunity(type, one)) return false;
  return true;
}

/** @param {number} code as the chart has it */
function exponent(code) {
  return code === 1 ? 1 : code === 2 ? -1 : 0;
}
