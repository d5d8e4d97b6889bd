'use strict';
/**
 * Vanilla: some properties of a Pokémon appear when something first happens to it, in whatever order, so that the
 * engine sees a dozen kinds of Pokémon and looks properties up the slow way.
 * Instead: they are there, undefined, from the start.
 * Same, because: whoever reads them finds undefined, as before, and a serialised battle has no undefined members. Not
 * `terastallized`, which the simulator deletes when a Pokémon faints.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'one-shape',
  edits: {
    'sim/pokemon': [
      {
        site: '    this.maxhp = 0;\n    this.baseMaxhp = 0;\n',
        put:
          '    this.lastMoveTargetLoc = void 0;\n    this.staleness = void 0;\n    this.pendingStaleness = void 0;\n' +
          '    this.maxhp = 0;\n    this.baseMaxhp = 0;\n',
      },
    ],
  },
};
