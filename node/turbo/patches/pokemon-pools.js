'use strict';
/**
 * Vanilla: for each random team, looks up every species that it might take, and sorts them by base species.
 * Instead: each dex remembers the result, by the list of species and by type where the team has only one.
 * Same, because: what a name stands for in a dex does not change. The list of base species is a new one each time, since
 * generators draw from it; the species of each are only read, and frozen. Lists are compared name by name; a generator
 * that leaves out Pokémon asks vanilla.
 */

/** @typedef {{names: string[], species: Record<string, string[]>, bases: string[]}} Pool */

/** Of one dex: there are eighteen types, and a few lists. */
const MOST_POOLS = 100;

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'pokemon-pools',
  replaces: [
    'data/random-battles/gen9/teams RandomTeams.getPokemonPool',
    'data/random-battles/gen8bdsp/teams RandomBDSPTeams.getPokemonPool',
  ],
  methods: {
    'data/random-battles/gen9/teams': ({ RandomTeams }) => ({
      RandomTeams: { getPokemonPool: remembering(RandomTeams.prototype.getPokemonPool) },
    }),
    'data/random-battles/gen8bdsp/teams': ({ RandomBDSPTeams }) => ({
      RandomBDSPTeams: { getPokemonPool: remembering(RandomBDSPTeams.prototype.getPokemonPool) },
    }),
  },
};

/** @param {(...args: any[]) => any} vanilla */
function remembering(vanilla) {
  /** @type {WeakMap<object, Map<string, Pool[]>>} by dex, then by type */
  const known = new WeakMap();

  /**
   * @this {any}
   * @param {string} type
   * @param {any[]} [exclude]
   * @param {boolean} [isMonotype]
   * @param {any} [names]
   */
  return function getPokemonPool(type, exclude = [], isMonotype = false, names) {
    if (exclude.length || !Array.isArray(names)) return vanilla.call(this, type, exclude, isMonotype, names);
    let byType = known.get(this.dex);
    if (!byType) known.set(this.dex, (byType = new Map()));
    const key = isMonotype ? type : '';
    let pools = byType.get(key);
    if (!pools) byType.set(key, (pools = []));
    let pool = pools.find((other) => isSame(other.names, names));
    if (!pool) {
      const [species, bases] = vanilla.call(this, type, exclude, isMonotype, names);
      Object.values(species).forEach(Object.freeze);
      pool = { names: names.slice(), species: Object.freeze(species), bases };
      if (pools.length === MOST_POOLS) pools.length = 0;
      pools.push(pool);
    }
    return [pool.species, pool.bases.slice()];
  };
}

/**
 * @param {string[]} list
 * @param {string[]} other
 */
function isSame(list, other) {
  if (list.length !== other.length) return false;
  for (let index = 0; index < list.length; index++) if (list[index] !== other[index]) return false;
  return true;
}
