'use strict';
/**
 * Turbo in one copy of the simulator: which patches fit it, the edited text of its files, and the methods that are
 * replaced once a file has run.
 */

const fs = require('node:fs');
const Module = /** @type {any} */ (require('node:module'));
const path = require('node:path');
const { Bundle, keyOf, pieceOf, prune, stampOf, write } = require('./bundle');
const { later } = require('./later');

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

/**
 * @typedef {{name: string, on: boolean, why: string}} Outcome whether a patch is on, and if not, why not: SWITCHED_OFF if
 *   nobody wants it, or something that it needs
 * @typedef {{outcomes: Outcome[], edited: string[]}} Judgement the outcome of all patches, and the files that they edit
 * @typedef {import('./bundle').Entry & {stamp: string}} Source a file's text as a function, code for it if there is any,
 *   and what the file looked like
 * @typedef {{stamp: string, text: string, script: import('node:vm').Script}} Compiled
 */

/** What a file of the simulator sees: what every module does, and `turbo`. */
const [BEFORE, AFTER] = ['(function (exports, require, module, __filename, __dirname, turbo) {', '\n})'];

const SWITCHED_OFF = 'switched off';

class Installation {
  /**
   * @param {string} root the folder of the package
   * @param {(host: Installation) => Patch[]} loadPatches in the order in which they are applied
   * @param {{off: Set<string>, cache?: string, warn: (message: string) => void, onLeft: (part: string) => void}} options
   *   names of patches that nobody wants, the folder for what the next process can use, who hears of trouble with it, and
   *   who hears of mods that are left to vanilla as they are met
   */
  constructor(root, loadPatches, { off, cache, warn, onLeft }) {
    this.root = root;
    this.off = off;
    this.warn = warn;
    this.complained = false;
    this.version = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).version;
    /** Patches share what they set up as files are loaded, so that they fit all of the simulator or none. */
    this.isLate = hasLoadedFrom(path.join(root, 'dist') + path.sep);
    if (this.isLate) cache = undefined;
    /** What patches share at run time; edited files see it as `turbo`. @type {Record<string, any>} */
    this.runtime = { onLeft, inlined: {}, later };
    /** @type {Map<string, string>} */
    this.texts = new Map();
    /** What files export that have run, but whose methods have not been replaced yet. @type {Map<string, any>} */
    this.arrived = new Map();
    /** @type {Patch[]} */
    this.patches = [];
    /** @type {Outcome[]} */
    this.outcomes = [];
    this.cache = cache;
    this.key = cache ? keyOf(root, this.version, off) : '';
    this.bundle = cache ? Bundle.open(cache, this.key, this.#complain) : null;
    /** What this process has compiled and the bundle does not have. @type {Map<string, Compiled>} */
    this.scripts = new Map();
    /** The files that patches edit. @type {string[]} */
    this.edited = this.bundle?.index.judgement.edited ?? [];
    if (this.bundle && Module._pathCache) Object.assign(Module._pathCache, this.bundle.index.paths);
    this.candidates = loadPatches(this);
    /** How everything looked on which it depends what fits. @type {Record<string, string>} */
    this.stamps = this.bundle?.index.stamps ?? (cache ? this.#stamps() : {});
    if (this.bundle) this.#recall(this.bundle.index.judgement);
    else this.#judge();
  }

  /** @returns {string[]} what could not be applied, and why, for people to read */
  get refusals() {
    /** @type {Map<string, string[]>} */
    const names = new Map();
    for (const { name, on, why } of this.outcomes) {
      if (!on && why !== SWITCHED_OFF) names.set(why, [...(names.get(why) ?? []), name]);
    }
    return [...names].map(([why, patches]) => `${patches.join(', ')}: ${why}`);
  }

  /**
   * @param {string} file such as `sim/battle`
   * @returns {string} its text, with the edits of all patches
   */
  text(file) {
    return this.texts.get(file) ?? fs.readFileSync(this.#path(file), 'utf8');
  }

  /**
   * @param {string} file such as `sim/battle`, or `turbo/patches/traits` for one of ours
   * @param {string} filename where it is
   * @returns {Source}
   */
  source(file, filename) {
    const stamp = this.cache ? stampOf(filename) : '';
    const entry = this.bundle?.entry(file, stamp);
    if (entry) return { ...entry, stamp };
    // It is known that patches fit, but not the text with their edits.
    if (this.edited.includes(file) && !this.texts.has(file)) this.#judge();
    const text = this.texts.get(file) ?? fs.readFileSync(filename, 'utf8');
    return { text: BEFORE + text + AFTER, code: undefined, stamp };
  }

  /**
   * @param {string} file
   * @param {Compiled} compiled
   */
  compiled(file, compiled) {
    if (this.cache && compiled.script.cachedDataRejected !== false) this.scripts.set(file, compiled);
  }

  /**
   * Keeps what this process has compiled for the next one.
   * @returns {Generator<void, void>} does so in small steps, the last of which begins to write
   */
  *remember() {
    const { cache } = this;
    if (!cache || !this.scripts.size) return;
    const scripts = [...this.scripts];
    this.scripts.clear();
    // Another process may have been faster, or may know other files.
    const there = Bundle.open(cache, this.key, this.#complain);
    const pieces = new Map(there?.pieces());
    there?.close();
    const missing = scripts.filter(([file, { stamp, script }]) => {
      const place = pieces.get(file)?.place;
      return script.cachedDataRejected || !place?.code || place.stamp !== stamp;
    });
    if (!missing.length) return;
    for (const [file, { stamp, text, script }] of missing) {
      yield;
      pieces.set(file, pieceOf(stamp, text, script.createCachedData()));
    }
    for (const [file, text] of this.texts) {
      const stamp = this.stamps[this.#path(file)];
      if (!pieces.has(file)) pieces.set(file, pieceOf(stamp, BEFORE + text + AFTER, undefined));
    }
    const judgement = { outcomes: this.outcomes, edited: this.edited };
    const paths = { ...there?.index.paths, ...this.#paths() };
    write(cache, { key: this.key, judgement, stamps: this.stamps, paths }, pieces)
      .then(() => prune(cache))
      .catch((error) => this.#complain(`turbo cannot write its cache: ${error}`));
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

  /** Says once what is wrong with the cache: all goes on without it. @param {string} message */
  #complain = (message) => {
    if (!this.complained) this.warn(message);
    this.complained = true;
  };

  /** @param {string} file */
  #path(file) {
    return path.join(this.root, 'dist', `${file}.js`);
  }

  /** The simulator's files that patches name, and our own. */
  #stamps() {
    const named = this.candidates.flatMap(({ replaces = [], edits = {} }) => [
      ...replaces.map((method) => method.split(' ')[0]),
      ...Object.keys(edits),
    ]);
    const ours = ['.', 'patches'].flatMap((folder) =>
      fs.readdirSync(path.join(__dirname, folder)).map((name) => path.join(__dirname, folder, name)),
    );
    const files = [...new Set(named)].map((file) => this.#path(file));
    return Object.fromEntries([...files, ...ours].map((filename) => [filename, stampOf(filename)]));
  }

  /** Finds out which patches fit. */
  #judge() {
    this.patches = [];
    this.outcomes = [];
    for (const patch of this.candidates) {
      this.#admit(patch, this.off.has(patch.name) ? SWITCHED_OFF : this.#obstacle(patch));
    }
    this.edited = [...this.texts.keys()];
  }

  /** @param {string} name of a patch that stays off */
  #isUnwanted(name) {
    return this.outcomes.some((outcome) => outcome.name === name && outcome.why === SWITCHED_OFF);
  }

  /** Does as it was found out before. @param {Judgement} judgement */
  #recall({ outcomes }) {
    for (const [index, patch] of this.candidates.entries()) this.#admit(patch, outcomes[index].why);
  }

  /** How Node has resolved what files ask for, the simulator's and ours, so that the next process need not look for it. */
  #paths() {
    const folders = [path.join(this.root, 'dist'), __dirname].map((folder) => folder + path.sep);
    const isKept = (/** @type {unknown} */ found) => folders.some((folder) => String(found).startsWith(folder));
    return Object.fromEntries(Object.entries(Module._pathCache ?? {}).filter(([, found]) => isKept(found)));
  }

  /**
   * @param {Patch} patch
   * @param {string} why it stays off, or nothing
   */
  #admit(patch, why) {
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
    if (this.isLate) return 'the simulator was loaded before turbo';
    // Not needed by who has a bundle.
    const { UnknownSite, edited, fingerprint } = require('./source');
    /** @type {Record<string, string> | undefined} */
    const prints = /** @type {any} */ (require('./known.json'))[this.version];
    if (!prints) return `turbo does not know version ${this.version}`;
    const missing = needs.find((name) => !this.patches.some((patch) => patch.name === name));
    if (missing) return this.#isUnwanted(missing) ? SWITCHED_OFF : `it needs ${missing}`;
    /** @type {Map<string, string>} */
    const texts = new Map();
    try {
      for (const method of replaces) {
        const [file, name] = method.split(' ');
        const vanilla = fs.readFileSync(this.#path(file), 'utf8');
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
 * @param {string} folder
 * @returns {boolean} whether a file from there has run; one may be on its way
 */
function hasLoadedFrom(folder) {
  return Object.values(Module._cache).some(({ filename, loaded }) => loaded && filename?.startsWith(folder));
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

module.exports = { Installation, SWITCHED_OFF };
