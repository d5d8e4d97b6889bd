'use strict';
/**
 * Vanilla: the first look-up of any alias also makes a table of every way to shorten every name, for searches in chat.
 * Instead: makes that table when somebody first searches.
 * Same, because: it is made by vanilla's own lines, of names that do not change, and stands under the same name.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'fuzzy-aliases-later',
  replaces: ['sim/dex ModdedDex.loadAliases'],
  edits: {
    'sim/dex': [
      {
        site: 'const compoundNames = /* @__PURE__ */ new Map();',
        put: `this.aliases = aliases;
    turbo.later(this, "fuzzyAliases", () => {
    const compoundNames = /* @__PURE__ */ new Map();`,
      },
      {
        site: 'this.aliases = aliases;\n    this.fuzzyAliases = fuzzyAliases;',
        put: 'return fuzzyAliases;\n    });',
      },
    ],
  },
};
