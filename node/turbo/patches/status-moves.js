'use strict';
/**
 * Vanilla: a generator of random teams makes every move of its generation, just to know which are of the category Status.
 * Instead: the category and the id are read from the data that the moves would be made of.
 * Same, because: a move takes both from there as they are. Where its id leads to another one, the move itself is asked.
 *
 * Comes after patches that edit the same line and keep the expression.
 */

const SITE = 'this.dex.moves.all().filter((move) => move.category === "Status"';
const edit = { site: SITE, put: SITE.replace('this.dex.moves.all()', 'turbo.statusMoves(this.dex)') };
const GENERATIONS = ['gen9', 'gen8', 'gen7', 'gen6', 'gen5', 'gen4', 'champions'];

/** @typedef {{id: string, category: string}} Move as much of one as matters here */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'status-moves',
  replaces: [
    'sim/dex-moves DexMoves.getByID',
    'sim/dex-moves DexMoves.all',
    'sim/dex-moves DataMove',
    'sim/dex-data BasicEffect',
  ],
  edits: Object.fromEntries(GENERATIONS.map((name) => [`data/random-battles/${name}/teams`, [edit]])),
  methods: {
    'sim/dex': ({ toID }, { runtime }) => {
      /** @type {WeakMap<object, Move[]>} */
      const byDex = new WeakMap();
      /** @param {any} dex */
      runtime.statusMoves = (dex) => {
        let moves = byDex.get(dex);
        if (!moves) byDex.set(dex, (moves = find(dex)));
        return moves;
      };

      /** @param {any} dex */
      function find(dex) {
        /** @type {Move[]} */
        const moves = [];
        for (const [id, data] of /** @type {[string, any][]} */ (Object.entries(dex.data.Moves))) {
          const { name = id, placeholderFor, category } = data;
          if (dex.getAlias(id) || id.startsWith('hiddenpower')) moves.push(dex.moves.getByID(id));
          else if (category === 'Status') moves.push({ id: toID(placeholderFor || name), category });
        }
        return moves;
      }
      return {};
    },
  },
};
