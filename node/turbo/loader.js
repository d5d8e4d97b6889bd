'use strict';
/** Stands between Node and the files of the simulator: gives each its edited text, and tells when it has run. */

const fs = require('node:fs');
const Module = /** @type {any} */ (require('node:module'));
const path = require('node:path');
const vm = require('node:vm');

/**
 * @typedef {import('./installation').Installation} Installation
 * @typedef {(root: string) => Installation | null} Find the installation for a copy of the simulator
 */

const OURS = __dirname + path.sep;
const FILE = /^(.*)[\\/]dist[\\/]((?:sim|lib|data|config)[\\/].*)\.js$/;

/**
 * From now on, every file of a copy of the simulator is loaded by us.
 * @param {Find} find
 */
function hook(find) {
  const load = Module._extensions['.js'];
  let depth = 0;
  /** @param {any} module @param {string} filename */
  Module._extensions['.js'] = (module, filename) => {
    if (host && filename.startsWith(OURS)) {
      const file = path.posix.join('turbo', filename.slice(OURS.length, -'.js'.length).replaceAll('\\', '/'));
      return run(module, filename, compile(host, file, filename), {});
    }
    const parts = FILE.exec(filename);
    const installation = parts && isSimulator(parts[1]) ? find(parts[1]) : null;
    if (!parts || !installation) return load(module, filename);
    const file = parts[2].replaceAll('\\', '/');
    depth++;
    try {
      run(module, filename, compile(installation, file, filename), installation.runtime);
      installation.loaded(file, module.exports);
    } finally {
      depth--;
    }
    if (depth === 0) installation.settle();
  };
}

/** Whose bundle has code for files of ours that are being loaded. @type {Installation | null} */
let host = null;

/**
 * Loads files of ours with the code that an installation has for them.
 * @template Loaded
 * @param {Installation} installation
 * @param {() => Loaded} load
 * @returns {Loaded}
 */
function loadWith(installation, load) {
  host = installation;
  try {
    return load();
  } finally {
    host = null;
  }
}

/** @type {Map<string, boolean>} */
const packages = new Map();

/** @param {string} root */
function isSimulator(root) {
  let answer = packages.get(root);
  if (answer === undefined) {
    const description = path.join(root, 'package.json');
    answer = fs.existsSync(description) && JSON.parse(fs.readFileSync(description, 'utf8')).name === 'pokemon-showdown';
    packages.set(root, answer);
  }
  return answer;
}

/**
 * @param {Installation} installation
 * @param {string} file
 * @param {string} filename
 */
function compile(installation, file, filename) {
  const { text, code, stamp } = installation.source(file, filename);
  const script = new vm.Script(text, { filename, cachedData: code });
  installation.compiled(file, { text, stamp, script });
  return script;
}

/**
 * @param {any} module
 * @param {string} filename
 * @param {vm.Script} script
 * @param {Record<string, any>} turbo
 */
function run(module, filename, script, turbo) {
  script.runInThisContext()
    .call(module.exports, module.exports, requireOf(module), module, filename, path.dirname(filename), turbo);
}

/** What Node gives a module to load others with. @param {any} module */
function requireOf(module) {
  const require = (/** @type {string} */ id) => module.require(id);
  const resolve = (/** @type {string} */ id, /** @type {object} */ options) =>
    Module._resolveFilename(id, module, false, options);
  const paths = (/** @type {string} */ id) => Module._resolveLookupPaths(id, module);
  return Object.assign(require, {
    resolve: Object.assign(resolve, { paths }),
    main: process.mainModule,
    extensions: Module._extensions,
    cache: Module._cache,
  });
}

module.exports = { hook, loadWith };
