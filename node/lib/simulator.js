'use strict';
/** Loads the simulator from the folder that it was installed in. */

const path = require('node:path');

/**
 * @typedef {typeof import('pokemon-showdown')} Package
 * @typedef {Pick<Package, 'Battle' | 'Dex' | 'PRNG' | 'Teams' | 'TeamValidator'> & {version: string}} Simulator
 */

/**
 * @param {string} folder of the pokemon-showdown package
 * @returns {Simulator}
 */
function loadSimulator(folder) {
  /** @type {Package} */
  const { Battle, Dex, PRNG, Teams, TeamValidator } = require(folder);
  const { version } = require(path.join(folder, 'package.json'));
  return { Battle, Dex, PRNG, Teams, TeamValidator, version };
}

module.exports = { loadSimulator };
