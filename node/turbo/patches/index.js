'use strict';
/** All patches, in the order in which they are applied. */

/** @type {import('../installation').Patch[]} */
const patches = [
  require('./to-id'),
  require('./traits'),
  require('./listeners'),
  require('./quiet-events'),
  require('./single-events'),
  require('./speed-order'),
  require('./priorities'),
  require('./field-events'),
  require('./stats'),
  require('./suppression'),
  require('./end-turn'),
  require('./active-moves'),
  require('./request-text'),
  require('./type-chart'),
  require('./pokemon-pools'),
  require('./team-generators'),
  require('./move-pairs'),
  require('./rule-formats'),
  require('./late-properties'),
  require('./sodium-numbers'),
];

module.exports = { patches };
