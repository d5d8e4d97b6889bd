'use strict';
/** All patches, in the order in which they are applied. */

/** @type {import('../installation').Patch[]} */
const patches = [
  require('./to-id'),
  require('./traits'),
  require('./one-shape'),
  require('./listeners'),
  require('./quiet-events'),
  require('./single-events'),
  require('./speed-order'),
  require('./priorities'),
  require('./handlers'),
  require('./field-events'),
  require('./stats'),
  require('./suppression'),
  require('./end-turn'),
  require('./active-moves'),
  require('./trapping-foes'),
  require('./request-entries'),
  require('./request-text'),
  require('./type-chart'),
  require('./pokemon-pools'),
  require('./team-generators'),
  require('./move-pairs'),
  require('./rule-formats'),
  require('./learnsets-later'),
  require('./fuzzy-aliases-later'),
  require('./libraries-later'),
  require('./sets-later'),
  require('./status-moves'),
  require('./sodium-numbers'),
];

module.exports = { patches };
