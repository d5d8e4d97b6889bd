'use strict';
/** All patches, in the order in which they are applied. */

/** @type {import('../installation').Patch[]} */
const patches = [
  require('./traits'),
  require('./learnsets-later'),
  require('./fuzzy-aliases-later'),
  require('./libraries-later'),
];

module.exports = { patches };
