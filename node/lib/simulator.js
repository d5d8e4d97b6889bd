'use strict';
/** Loads the simulator from the folder that it was installed in. */

const path = require('node:path');

/**
 * @typedef {typeof import('pokemon-showdown')} Package
 * @typedef {Pick<Package, 'Battle' | 'Dex' | 'PRNG' | 'Teams' | 'TeamValidator'> & {
 *   version: string, turbo: boolean, left: string[], remember: () => Generator<void, void>}} Simulator
 *   `left` is what turbo leaves to vanilla, and why; `remember` keeps compiled code for the next process, in small steps
 * @typedef {NonNullable<Parameters<typeof import('../turbo').install>[0]>} TurboOptions
 */

/**
 * @param {string} folder of the pokemon-showdown package
 * @param {{turbo?: boolean} & TurboOptions} [options] whether its hot paths are replaced, and how
 * @returns {Simulator}
 */
function loadSimulator(folder, { turbo = false, ...options } = {}) {
  const installed = turbo ? putTurboInFront(options) : () => [];
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
    left: installation?.refusals ?? [],
    remember: () => installation?.remember() ?? nothing(),
  };
}

function* nothing() {}

/** @param {TurboOptions} options */
function putTurboInFront(options) {
  const { install, installed } = require('../turbo');
  install({ warn: (message) => process.stderr.write(`${message}\n`), ...options });
  return installed;
}

module.exports = { loadSimulator };
