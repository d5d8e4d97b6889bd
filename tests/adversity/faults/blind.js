'use strict';
/** No observation can be made from the second turn of a battle on. */

const path = require('node:path');

const { Observer } = require(path.join(path.dirname(process.argv[1]), 'observation', 'observer.js'));

const { encode } = Observer.prototype;

/** @this {any} */
Observer.prototype.encode = function (/** @type {any} */ side) {
  if (this.tracker.turn > 1) throw new Error('blinded by a test');
  return encode.call(this, side);
};
