'use strict';
/** Sees which functions of the simulator's data are called, and says what part of all its callbacks that is. */

const { execFile } = require('node:child_process');
const inspector = require('node:inspector');
const path = require('node:path');
const { promisify } = require('node:util');

/**
 * @typedef {import('./callbacks').Callback} Callback
 * @typedef {{kind: string, reached: number, all: number}} Share
 */

/** Where callbacks are written; a place is such a file and the offset of a function in it. */
const DATA = /[\\/]dist[\\/]((?:data|config)[\\/].*\.js)$/;

/** Kinds first, as they come. */
const ORDER = ['shared by all', "a generation's own", "another mod's own", 'all'];

/** Watches this process. It has to begin before the simulator is loaded. */
class Watch {
  constructor() {
    this.session = new inspector.Session();
    this.session.connect();
    this.session.post('Profiler.enable');
    // Whether, not how often: that leaves the compiler its optimisations.
    this.session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
  }

  /** @returns {string[]} the places of the functions that were called since it was last asked */
  take() {
    /** @type {string[]} */
    const places = [];
    this.session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      if (error) throw error;
      for (const { url, functions } of coverage.result) {
        const file = DATA.exec(url)?.[1].replaceAll('\\', '/');
        if (!file) continue;
        for (const { ranges } of functions) if (ranges[0].count) places.push(`${file}:${ranges[0].startOffset}`);
      }
    });
    return places;
  }
}

/** @returns {Promise<Callback[]>} all callbacks of the mods that formats use, found in a process of its own */
async function inventory() {
  const script = path.join(__dirname, 'callbacks.js');
  const { stdout } = await promisify(execFile)(process.execPath, [script], { maxBuffer: 2 ** 28 });
  return JSON.parse(stdout);
}

/**
 * @param {Callback[]} callbacks
 * @param {Set<string>} reached places
 * @returns {{shares: Share[], missed: string[]}} how many were reached, by kind and by whose they are; and the names of
 *   the others
 */
function judge(callbacks, reached) {
  /** @type {Map<string, Share>} */
  const shares = new Map();
  const missed = [];
  for (const { name, kind, mod, places } of callbacks) {
    const met = places.some((place) => reached.has(place));
    for (const group of [kind, owner(mod), 'all']) {
      const share = shares.get(group) ?? { kind: group, reached: 0, all: 0 };
      shares.set(group, share);
      share.all++;
      if (met) share.reached++;
    }
    if (!met) missed.push(name);
  }
  const place = (/** @type {Share} */ { kind }) => ORDER.indexOf(kind);
  return { shares: [...shares.values()].sort((one, other) => place(one) - place(other)), missed };
}

/** @param {string} mod */
function owner(mod) {
  if (!mod) return 'shared by all';
  return /^gen\d$/.test(mod) ? "a generation's own" : "another mod's own";
}

module.exports = { Watch, inventory, judge };
