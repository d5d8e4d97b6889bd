'use strict';
/**
 * Vanilla: loads who can learn what, and what was caught in Pokémon GO, with all other data of a mod: four megabytes of
 * source, a third of the time of a start.
 * Instead: loads these when somebody first asks, which a battle with random teams never does.
 * Same, because: the tables stand under the same names in the same order, whoever reads one gets what vanilla would have
 * put there, and what it is made of (a file, the parent's table) does not change once a mod is loaded. A mod that
 * changes its learnsets as it is initialised asks for them thereby.
 */

/** Of what vanilla calls by these names there. */
const IS_FOR_LATER = 'dataType === "Learnsets" || dataType === "PokemonGoData"';

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'learnsets-later',
  replaces: ['sim/dex ModdedDex.loadData', 'sim/dex ModdedDex.loadDataFile'],
  edits: {
    'sim/dex': [
      {
        site: 'dataCache[dataType] = this.loadDataFile(basePath, dataType);',
        put: `if (${IS_FOR_LATER}) {
        turbo.later(dataCache, dataType, () => turbo.loadTable(this, dataType, parentDex, init));
        continue;
      }
      dataCache[dataType] = this.loadDataFile(basePath, dataType);`,
      },
      {
        site: 'const parentTypedData = parentDex.data[dataType];',
        put: `if (${IS_FOR_LATER}) continue;\n        const parentTypedData = parentDex.data[dataType];`,
      },
    ],
  },
  methods: {
    'sim/dex': (_, { runtime }) => {
      /**
       * @param {any} dex
       * @param {string} name
       * @param {any} parent
       * @param {Function | undefined} init
       */
      runtime.loadTable = (dex, name, parent, init) => {
        const own = dex.loadDataFile(`${dex.dataDir}/`, name);
        if (!parent) return own;
        const inherited = parent.data[name];
        return own || init ? merge(own || {}, inherited) : inherited;
      };
      return {};
    },
  },
};

/**
 * A mod's table, filled up from its parent's, as vanilla does it.
 * @param {Record<string, any>} own
 * @param {Record<string, any>} inherited
 */
function merge(own, inherited) {
  for (const id in inherited) {
    if (own[id] === null) {
      delete own[id];
    } else if (!(id in own)) {
      own[id] = inherited[id];
    } else if (own[id]?.inherit) {
      delete own[id].inherit;
      if (own[id].condition?.inherit) {
        delete own[id].condition.inherit;
        own[id].condition = { ...inherited[id].condition, ...own[id].condition };
      }
      own[id] = { ...inherited[id], ...own[id] };
    }
  }
  return own;
}
