'use strict';
/**
 * Turbo in one copy of the simulator: which patches fit it, the edited text of its files, and the methods that are
 * replaced once a file has run.
 */

const fs = require('node:fs');
const path = require('node:path');
const known = require('./known.json');
const { UnknownSite, edited, fingerprint } = require('./source');

/**
 * @typedef {import('./source').Edit} Edit
 * @typedef {Record<string, (...args: any[]) => any>} Methods
 * @typedef {(exports: any, tools: Tools) => Record<string, Methods>} Replacement returns new methods by class
 * @typedef {{use: (file: string) => any, runtime: Record<string, any>}} Tools
 *   `use` gives what another file of the simulator exports, `runtime` what patches have there for one another
 */

/**
 * One idea. `replaces` names each method that it replaces or whose text it has taken over, as `sim/battle Battle.add`;
 * these must read as they did when the patch was written. `edits` and `methods` are by file.
 * @typedef {object} Patch
 * @property {string} name
 * @property {string[]} [needs] patches without which this one stays off
 * @property {string[]} [replaces]
 * @property {string[]} [inlines] methods that it no longer calls, as `Pokemon.getAbility`: where a mod has its own, the
 *   battle's traits say so, and the patch leaves that battle to vanilla
 * @property {Record<string, Edit[]>} [edits]
 * @property {Record<string, Replacement>} [methods]
 */

/** @typedef {{name: string, on: boolean, why: string}} Outcome whether a patch is on, and if not, why not */

class Installation {
  /**
   * @param {string} root the folder of the package
   * @param {Patch[]} patches in the order in which they are applied
   * @param {{off: Set<string>, warn: (message: string) => void}} options names of patches that nobody wants, and who
   *   hears of what turbo leaves to vanilla
   */
  constructor(root, patches, { off, warn }) {
    this.root = root;
    this.version = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).version;
    /** What patches share at run time; edited files see it as `turbo`. @type {Record<string, any>} */
    this.runtime = { warn, inlined: {} };
    /** @type {Map<string, string>} */
    this.texts = new Map();
    /** What files export that have run, but whose methods have not been replaced yet. @type {Map<string, any>} */
    this.arrived = new Map();
    /** @type {Patch[]} */
    this.patches = [];
    /** @type {Outcome[]} */
    this.outcomes = [];
    for (const patch of patches) this.#admit(patch, off);
  }

  /** @returns {string[]} what could not be applied, and why, for people to read */
  get refusals() {
    return this.outcomes.filter(({ on, why }) => !on && why !== 'switched off').map(({ name, why }) => `${name}: ${why}`);
  }

  /**
   * @param {string} file such as `sim/battle`
   * @returns {string} its text, with the edits of all patches
   */
  text(file) {
    return this.texts.get(file) ?? fs.readFileSync(path.join(this.root, 'dist', `${file}.js`), 'utf8');
  }

  /**
   * Takes note of a file that has run.
   * @param {string} file
   * @param {any} exports
   */
  loaded(file, exports) {
    this.arrived.set(file, exports);
  }

  /**
   * Replaces methods in what has arrived since the last time. Files of the simulator need each other in circles, so
   * this comes when none of them is still on its way.
   */
  settle() {
    const arrived = this.arrived;
    this.arrived = new Map();
    const use = (/** @type {string} */ file) => require(path.join(this.root, 'dist', file));
    for (const { methods = {} } of this.patches) {
      for (const [file, replacement] of Object.entries(methods)) {
        if (!arrived.has(file)) continue;
        const exports = arrived.get(file);
        const classes = replacement(exports, { use, runtime: this.runtime });
        for (const [name, replacements] of Object.entries(classes)) replace(exports[name], replacements);
      }
    }
  }

  /**
   * @param {Patch} patch
   * @param {Set<string>} off
   */
  #admit(patch, off) {
    const why = off.has(patch.name) ? 'switched off' : this.#obstacle(patch);
    if (!why) {
      this.patches.push(patch);
      this.runtime.inlined[patch.name] = patch.inlines ?? [];
    }
    this.outcomes.push({ name: patch.name, on: !why, why });
  }

  /**
   * Puts the edits of a patch into the texts if the whole of it fits.
   * @param {Patch} patch
   * @returns {string} why it does not, or nothing
   */
  #obstacle({ needs = [], replaces = [], edits = {} }) {
    /** @type {Record<string, string> | undefined} */
    const prints = /** @type {any} */ (known)[this.version];
    if (!prints) return `turbo does not know version ${this.version}`;
    const missing = needs.find((name) => !this.patches.some((patch) => patch.name === name));
    if (missing) return `it needs ${missing}`;
    /** @type {Map<string, string>} */
    const texts = new Map();
    try {
      for (const method of replaces) {
        const [file, name] = method.split(' ');
        const vanilla = fs.readFileSync(path.join(this.root, 'dist', `${file}.js`), 'utf8');
        if (fingerprint(vanilla, name) !== prints[method]) return `${method} is not as turbo knows it`;
      }
      for (const [file, list] of Object.entries(edits)) texts.set(file, list.reduce(edited, this.text(file)));
    } catch (error) {
      if (error instanceof UnknownSite || /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') {
        return /** @type {Error} */ (error).message;
      }
      throw error;
    }
    for (const [file, text] of texts) this.texts.set(file, text);
    return '';
  }
}

/**
 * @param {any} owner a class, or an object
 * @param {Methods} replacements
 */
function replace(owner, replacements) {
  for (const [name, method] of Object.entries(replacements)) {
    const holder = Object.hasOwn(owner, name) ? owner : owner.prototype;
    const descriptor = Object.getOwnPropertyDescriptor(holder, name);
    if (!descriptor) throw new Error(`there is no ${name} to replace`);
    Object.defineProperty(holder, name, descriptor.get ? { ...descriptor, get: method } : { ...descriptor, value: method });
  }
}

module.exports = { Installation };
