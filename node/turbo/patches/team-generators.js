'use strict';
/**
 * Vanilla: each generator of random teams goes through all moves for those of the category Status (in some generations
 * twice), and lists the species that it has sets for.
 * Instead: both lists are made once, the first for each dex and kind of generator, the second for each file of sets.
 * Same, because: neither the moves of a dex nor the files of sets change once they are loaded, and generators only read
 * these lists; they are frozen.
 */

const STATUS = 'this.dex.moves.all().filter((move) => move.category === "Status").map((move) => move.id)';
const STATUS_BUT_NATURE_POWER =
  'this.dex.moves.all().filter((move) => move.category === "Status" && move.id !== "naturepower").map((move) => move.id)';
const SETS = 'Object.keys(this.randomSets)';

/**
 * @param {string} owner an expression: whose list it is
 * @param {string} name
 * @param {string} list the expression that makes it
 */
const once = (owner, name, list) => ({ site: list, put: `turbo.listOf(${owner}, "${name}", () => ${list})` });
const status = once('this.dex', 'status moves', STATUS);
const statusButNaturePower = once('this.dex', 'status moves but Nature Power', STATUS_BUT_NATURE_POWER);
const species = once('this.randomSets', 'species', SETS);

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'team-generators',
  edits: {
    'data/random-battles/gen9/teams': [
      status,
      {
        site: 'isDoubles ? Object.keys(this.randomDoublesSets) : Object.keys(this.randomSets)',
        put: `isDoubles ? turbo.listOf(this.randomDoublesSets, "species", () => Object.keys(this.randomDoublesSets))
      : ${species.put}`,
      },
    ],
    'data/random-battles/gen8/teams': [statusButNaturePower, species],
    'data/random-battles/gen7/teams': [statusButNaturePower, species],
    'data/random-battles/gen6/teams': [status],
    'data/random-battles/gen5/teams': [statusButNaturePower, species],
    'data/random-battles/gen4/teams': [status],
    'data/random-battles/gen3/teams': [species],
    'data/random-battles/gen1/teams': [once('this.randomData', 'species', 'Object.keys(this.randomData)')],
    'data/random-battles/gen9baby/teams': [species],
    'data/random-battles/gen9ffa/teams': [species],
    'data/random-battles/champions/teams': [status, species],
  },
  methods: {
    'sim/dex': (_, { runtime }) => {
      /** @type {WeakMap<object, Map<string, readonly string[]>>} */
      const known = new WeakMap();
      /** @param {object} owner @param {string} name @param {() => string[]} make */
      runtime.listOf = (owner, name, make) => {
        let lists = known.get(owner);
        if (!lists) known.set(owner, (lists = new Map()));
        let list = lists.get(name);
        if (!list) lists.set(name, (list = Object.freeze(make())));
        return list;
      };
      return {};
    },
  },
};
