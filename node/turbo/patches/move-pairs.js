'use strict';
/**
 * Vanilla: whenever a random set gains a move, writes out the list of pairs of moves that do not go together, and takes
 * every pair to the moves that the set has.
 * Instead: the list is made once, with an index of the pairs by move, and only pairs that hold a move of the set are
 * taken, in the same order.
 * Same, because: a pair removes nothing from the pool unless one of its moves is in the set, and while the pairs are
 * gone through, the set stays as it is. The list is made of constants and of the status moves, by which it is kept.
 */

const LOOP = ') this.incompatibleMoves(moves, movePool, pair[0], pair[1]);';

/**
 * @param {string} file
 * @param {string} key an expression: what the list depends on
 * @param {string} [name] of the list
 * @param {string} [indent]
 */
const indexed = (file, key, name = 'incompatiblePairs', indent = '    ') => [
  {
    site: `const ${name} = [\n`,
    put: `const ${name} = turbo.pairsOf(${key}, "${file} ${name}", () => [\n`,
  },
  {
    site: `${indent}];\n${indent}for (const pair of ${name}${LOOP}`,
    put: `${indent}]);\n${indent}for (const pair of ${name}.with(moves)${LOOP}`,
  },
];

/** @type {Record<string, string>} */
const KEYS = {
  gen9: 'statusMoves',
  gen8: 'statusMoves',
  gen7: 'statusMoves',
  gen6: 'statusMoves',
  gen5: 'statusMoves',
  gen4: 'statusMoves',
  gen3: 'statusMoves',
  gen2: 'SETUP',
  gen9baby: 'statusMoves',
  gen9ffa: 'SETUP',
  champions: 'statusMoves',
};

/** @type {Record<string, import('../source').Edit[]>} */
const edits = {};
for (const [file, key] of Object.entries(KEYS)) edits[`data/random-battles/${file}/teams`] = indexed(file, key);
edits['data/random-battles/gen9/teams'].push(...indexed('gen9', 'SETUP', 'doublesIncompatiblePairs', '      '));

/** @typedef {[string | string[], string | string[]]} Pair of moves, or of lists of them */

class Pairs {
  /** @param {Pair[]} pairs */
  constructor(pairs) {
    this.pairs = pairs;
    /** @type {Map<string, number[]>} */
    this.byMove = new Map();
    for (const [index, pair] of pairs.entries()) {
      for (const move of new Set(pair.flat())) {
        const indexes = this.byMove.get(move);
        if (indexes) indexes.push(index);
        else this.byMove.set(move, [index]);
      }
    }
  }

  /**
   * @param {Iterable<string>} moves
   * @returns {Pair[]} those that hold one of these moves, in the order of the list
   */
  with(moves) {
    /** @type {number[]} */
    const found = [];
    for (const move of moves) {
      for (const index of this.byMove.get(move) ?? []) if (!found.includes(index)) found.push(index);
    }
    return found.sort((one, other) => one - other).map((index) => this.pairs[index]);
  }
}

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'move-pairs',
  needs: ['team-generators'],
  replaces: ['data/random-battles/gen9/teams RandomTeams.incompatibleMoves'],
  edits,
  methods: {
    'sim/dex': (_, { runtime }) => {
      /** @type {WeakMap<object, Map<string, Pairs>>} */
      const known = new WeakMap();
      /** @param {object} key @param {string} name @param {() => Pair[]} make */
      runtime.pairsOf = (key, name, make) => {
        let lists = known.get(key);
        if (!lists) known.set(key, (lists = new Map()));
        let pairs = lists.get(name);
        if (!pairs) lists.set(name, (pairs = new Pairs(make())));
        return pairs;
      };
      return {};
    },
  },
};
