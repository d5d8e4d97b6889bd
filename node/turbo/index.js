'use strict';
/** Turbo: the simulator with its hot paths replaced by faster ones whose output is the same to the byte. */

const { Installation } = require('./installation');
const { hook, loadWith } = require('./loader');

/** @type {Map<string, Installation>} */
const installations = new Map();
let hooked = false;

/**
 * Puts turbo in front of every copy of the simulator that this process loads from now on.
 * @param {{off?: Iterable<string>, cache?: string, warn?: (message: string) => void, onLeft?: (part: string) => void}}
 *   [options] names of patches to leave out, the folder where compiled code is kept, who hears of trouble with it, and who
 *   of each part that is left to vanilla, some of which are known when a mod is met: without one, these are warned of too
 */
function install({ off = [], cache, warn = (message) => process.emitWarning(message), onLeft } = {}) {
  if (hooked) throw new Error('turbo is installed already');
  hooked = true;
  const unwanted = new Set(off);
  for (const name of unwanted) {
    const known = loadPatches().map((patch) => patch.name);
    if (!known.includes(name)) throw new Error(`turbo has no patch called ${name}; there are ${known.join(', ')}`);
  }
  hook((root) => {
    let installation = installations.get(root);
    if (!installation) {
      const load = (/** @type {Installation} */ host) => loadWith(host, loadPatches);
      const leave = onLeft ?? ((/** @type {string} */ part) => warn(`turbo leaves to vanilla ${part}`));
      installation = new Installation(root, load, { off: unwanted, cache, warn, onLeft: leave });
      installations.set(root, installation);
      const { refusals, version } = installation;
      if (onLeft) {
        for (const refusal of refusals) onLeft(refusal);
      } else if (refusals.length) {
        warn(`turbo leaves these parts of pokemon-showdown ${version} as they are: ${refusals.join('; ')}`);
      }
    }
    return installation;
  });
}

/** @returns {import('./installation').Patch[]} all there are; loaded late, since there may be code for them */
function loadPatches() {
  return require('./patches').patches;
}

/** @returns {Installation[]} one for each copy of the simulator that was loaded */
function installed() {
  return [...installations.values()];
}

module.exports = {
  install,
  installed,
  get patches() {
    return loadPatches();
  },
};
