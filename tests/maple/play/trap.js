'use strict';
// Preloaded into a process that observes: one line, which no server sends, ends it.

const path = require('node:path');

const { Tracker } = require(path.join(path.dirname(process.argv[1]), '..', 'observation', 'tracker'));
const { hear } = Tracker.prototype;
Tracker.prototype.hear = function (line) {
  if (line === '|trap|') process.exit(7);
  return hear.call(this, line);
};
