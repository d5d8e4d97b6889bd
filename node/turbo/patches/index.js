'use strict';
/** All patches, in the order in which they are applied. */

/** @type {import('../installation').Patch[]} */
const patches = [
  require('./traits'),
  require('./to-id'),
  require('./active-moves'),
  require('./type-chart'),
  require('./pokemon-pools'),
  require('./team-generators'),
  require('./rule-formats'),
];

module.exports = { patches };
