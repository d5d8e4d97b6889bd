'use strict';
/**
 * Vanilla: an active move is a deep copy of the move, made key by key; so it ends as a hash table, slow to read.
 * Instead: each move gets a function of its own that makes such copies. All of them have every key that any move of the
 * dex has, or that a battle may add to one, and so they share a hidden class: most reads of an active move happen at
 * places that meet all moves, and are slow there if each kind of move has a class of its own.
 * Same, because: the text of the function is made from the move itself, which is frozen all through, and has the same
 * values under the same keys, down to the objects inside. The keys beside these are undefined, as they are for whoever
 * reads them in vanilla. Two places walk over the keys of an active move: the serialiser, which drops what is undefined,
 * and the constructor of moves, which a move that strikes later is given to, and which adds to what it has set only what
 * is missing. The order of a serialised active move's members may differ, and it means nothing. What is not frozen, or
 * holds what such a text cannot say, is copied by vanilla: so are moves that do not exist, which vanilla makes afresh for
 * each look-up.
 */

const { copiers } = require('../copies');

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'active-moves',
  replaces: [
    'sim/dex ModdedDex.getActiveMove',
    'lib/utils deepClone',
    'sim/dex-data assignMissingFields',
    'sim/state State.serialize',
    'sim/state State.serializeActiveMove',
    'sim/state State.isActiveMove',
  ],
  methods: {
    'sim/dex': () => {
      const copierOf = copiers();
      return {
        ModdedDex: {
          /** @this {any} @param {any} move */
          getActiveMove(move) {
            if (move && typeof move.hit === 'number') return move;
            const original = this.moves.get(move);
            const copy = copierOf(original, this);
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
