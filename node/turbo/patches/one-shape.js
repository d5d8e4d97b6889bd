'use strict';
/**
 * Vanilla: some properties of a Pokémon appear when something first happens to it, in whatever order, and one is deleted
 * when it faints, so that the engine sees a dozen kinds of Pokémon and looks all their properties up the slow way.
 * Instead: they are there, undefined, from the start, and the one that was deleted is set to undefined.
 * Same, because: whoever reads them finds undefined, as before, nobody asks for their presence, and a serialised battle
 * has no undefined members. Only the order of a serialised Pokémon's members may differ, and it means nothing.
 */

const LATE = ['lastMoveTargetLoc', 'staleness', 'pendingStaleness', 'terastallized'];
const SITE = '    this.maxhp = 0;\n    this.baseMaxhp = 0;\n';

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'one-shape',
  replaces: ['sim/state State.serialize'],
  edits: {
    'sim/pokemon': [{ site: SITE, put: LATE.map((name) => `    this.${name} = void 0;\n`).join('') + SITE }],
    'sim/battle': [{ site: 'delete pokemon.terastallized;', put: 'pokemon.terastallized = void 0;' }],
  },
};
