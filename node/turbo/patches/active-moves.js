'use strict';
/**
 * Vanilla: an active move is a deep copy of the move, made key by key; so it ends as a hash table, slow to read.
 * Instead: each move gets a function of its own that makes such copies, with the names of the keys written out in it.
 * Moves with the same keys share a constructor, and their copies a hidden class.
 * Same, because: the text of the function is made from the move itself, which is frozen all through, and names the
 * same keys in the same order, down to the objects inside. What is not frozen, or holds what such a text cannot say, is
 * copied by vanilla: so are moves that do not exist, which vanilla makes afresh for each look-up.
 */

const { copiers } = require('../copies');

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'active-moves',
  replaces: ['sim/dex ModdedDex.getActiveMove', 'lib/utils deepClone'],
  methods: {
    'sim/dex': () => {
      const copierOf = copiers();
      return {
        ModdedDex: {
          /** @this {any} @param {any} move */
          getActiveMove(move) {
            if (move && typeof move.hit === 'number') return move;
            const original = this.moves.get(move);
            const copy = copierOf(original);
            if (copy) return copy();
            const plain = this.deepClone(original);
            plain.hit = 0;
            return plain;
          },
        },
      };
    },
  },
};
