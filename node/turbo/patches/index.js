'use strict';
/** All patches, in the order in which they are applied. */

/** @type {import('../installation').Patch[]} */
const patches = [require('./traits'), require('./end-turn'), require('./request-text')];

module.exports = { patches };
