'use strict';
/** Loads the simulator from the folder that it was installed in. */

const path = require('node:path');

/**
 * @typedef {typeof import('pokemon-showdown')} Package
 * @typedef {Pick<Package, 'Battle' | 'Dex' | 'PRNG' | 'Teams' | 'TeamValidator'> & {
 *   version: string, turbo: boolean, left: string[], calculator: () => typeof import('@smogon/calc'),
 *   remember: () => Generator<void, void>}} Simulator
 *   `left` is what turbo leaves to vanilla, and why, and grows with the mods that are met; `remember` keeps compiled code
 *   for the next process, in small steps
 * @typedef {{cache?: string, off?: string[], warn?: (message: string) => void}} TurboOptions where compiled code is kept,
 *   patches to leave out, and who hears of trouble
 */

/**
 * @param {string} folder of the pokemon-showdown package
 * @param {{turbo?: boolean} & TurboOptions} [options] whether its hot paths are replaced, and how
 * @returns {Simulator}
 */
function loadSimulator(folder, { turbo = false, ...options } = {}) {
  /** @type {string[]} */
  const left = [];
  const installed = turbo ? putTurboInFront(options, left) : () => [];
  /** @type {Package} */
  const { Battle, Dex, PRNG, Teams, TeamValidator } = require(folder);
  const { version } = require(path.join(folder, 'package.json'));
  const installation = installed().at(-1);
  return {
    Battle,
    Dex,
    PRNG,
    Teams,
    TeamValidator,
    version,
    turbo: Boolean(installation?.patches.length),
    left,
    // Installed beside the simulator, and loaded when somebody wants damage reckoned.
    calculator: () => require(path.join(folder, '..', '@smogon', 'calc')),
    remember: () => installation?.remember() ?? nothing(),
  };
}

function* nothing() {}

/**
 * @param {TurboOptions} options
 * @param {string[]} left
 */
function putTurboInFront(options, left) {
  const { install, installed } = require('../turbo');
  const warn = (/** @type {string} */ message) => process.stderr.write(`${message}\n`);
  install({ warn, ...options, onLeft: (part) => left.push(part) });
  return installed;
}

module.exports = { loadSimulator };
