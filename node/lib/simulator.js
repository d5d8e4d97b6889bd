'use strict';
/** Loads the simulator from the folder that it was installed in. */

const path = require('node:path');

/**
 * @typedef {typeof import('pokemon-showdown')} Package
 * @typedef {Pick<Package, 'Battle' | 'Dex' | 'PRNG' | 'Teams' | 'TeamValidator'> & {
 *   version: string, turbo: boolean, left: string[], remember: () => Generator<void, void>}} Simulator
 *   `left` is what turbo leaves to vanilla, and why, and grows with the mods that are met; `remember` keeps compiled code for the next process, in small steps
 */

/**
 * @param {string} folder of the pokemon-showdown package
 * @param {{turbo?: boolean, cache?: string, off?: string[]}} [options] whether its hot paths are replaced, where their
 *   compiled code is kept, and patches to leave out
 * @returns {Simulator}
 */
function loadSimulator(folder, { turbo = false, cache, off } = {}) {
  /** @type {string[]} */
  const left = [];
  const installed = turbo ? putTurboInFront(cache, off, left) : () => [];
  /** @type {Package} */
  const { Battle, Dex, PRNG, Teams, TeamValidator } = require(folder);
  const { version } = require(path.join(folder, 'package.json'));
  const installation = installed().at(-1);
  left.unshift(...(installation?.refusals ?? []));
  return {
    Battle,
    Dex,
    PRNG,
    Teams,
    TeamValidator,
    version,
    turbo: Boolean(installation?.patches.length),
    left,
    remember: () => installation?.remember() ?? nothing(),
  };
}

function* nothing() {}

/**
 * @param {string | undefined} cache
 * @param {string[] | undefined} off
 * @param {string[]} left
 */
function putTurboInFront(cache, off, left) {
  const { install, installed } = require('../turbo');
  const warn = (/** @type {string} */ message) => process.stderr.write(`${message}\n`);
  install({ off, cache, warn, onLeft: (part) => left.push(part) });
  return installed;
}

module.exports = { loadSimulator };
