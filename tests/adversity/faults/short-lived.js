'use strict';
/** A process that comes up, and ends by an error of its own as soon as it has something to do. */

const folder = process.argv.find((word) => word.startsWith('--simulator='))?.slice('--simulator='.length);
const { Battle } = require(String(folder));

const { choose } = Battle.prototype;

/** @this {any} */
Battle.prototype.choose = function (/** @type {any} */ side, /** @type {string} */ choice) {
  setImmediate(() => {
    throw new Error('a short life');
  });
  return choose.call(this, side, choice);
};
