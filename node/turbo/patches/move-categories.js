'use strict';
/**
 * Vanilla: a generator of random teams makes every move of its generation, just to know which are of the category Status.
 * Instead: the category and the id are read from the data that the moves would be made of.
 * Same, because: a move takes both from there as they are. Where its id leads to another one, the move itself is asked.
 *
 * Comes after patches that edit the same line and keep the expression.
 */

const SITE = 'this.dex.moves.all().filter((move) => move.category === "Status"';
const edit = { site: SITE, put: SITE.replace('this.dex.moves.all()', 'turbo.moveCategories(this.dex)') };
const GENERATIONS = ['gen9', 'gen8', 'gen7', 'gen6', 'gen5', 'gen4', 'champions'];

/** @typedef {{id: string, category: string}} Category */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'move-categories',
  replaces: ['sim/dex-moves DexMoves.getByID', 'sim/dex-moves DexMoves.all', 'sim/dex-moves DataMove', 'sim/dex-data BasicEffect'],
  edits: Object.fromEntries(GENERATIONS.map((name) => [`data/random-battles/${name}/teams`, [edit]])),
  methods: {
    'sim/dex': ({ toID }, { runtime }) => {
      /** @type {WeakMap<object, Category[]>} */
      const byDex = new WeakMap();
      /** @param {any} dex */
      runtime.moveCategories = (dex) => {
        let categories = byDex.get(dex);
        if (!categories) byDex.set(dex, (categories = Object.keys(dex.data.Moves).map((id) => categoryOf(dex, id))));
        return categories;
      };

      /** @param {any} dex @param {string} id @returns {Category} */
      function categoryOf(dex, id) {
        if (dex.getAlias(id) || id.startsWith('hiddenpower')) return dex.moves.getByID(id);
        const { name = id, placeholderFor, category } = dex.data.Moves[id];
        return { id: toID(placeholderFor || name), category };
      }
      return {};
    },
  },
};
