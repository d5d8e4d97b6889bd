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
  require('./learnsets-later'),
  require('./fuzzy-aliases-later'),
  require('./libraries-later'),
  require('./sets-later'),
  require('./status-moves'),
];

module.exports = { patches };
