'use strict';
/** Stands between Node and the files of the simulator: gives each its edited text, and tells when it has run. */

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

/**
 * @typedef {import('./installation').Installation} Installation
 * @typedef {(root: string) => Installation | null} Find the installation for a copy of the simulator
 */

const FILE = /^(.*)[\\/]dist[\\/]((?:sim|lib|data|config)[\\/].*)\.js$/;

/**
 * From now on, every file of a copy of the simulator is loaded by us.
 * @param {Find} find
 */
function hook(find) {
  const extensions = /** @type {any} */ (Module)._extensions;
  const load = extensions['.js'];
  /** @param {any} module @param {string} filename */
  extensions['.js'] = (module, filename) => {
    const parts = FILE.exec(filename);
    const installation = parts && isSimulator(parts[1]) ? find(parts[1]) : null;
    if (!parts || !installation) return load(module, filename);
    const file = parts[2].replaceAll('\\', '/');
    run(module, filename, installation.text(file), installation.runtime);
    installation.finish(file, module.exports);
  };
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
 * @param {any} module
 * @param {string} filename
 * @param {string} text
 * @param {Record<string, any>} turbo
 */
function run(module, filename, text, turbo) {
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname, turbo) {${text}\n})`, {
    filename,
  });
  const require = Object.assign((/** @type {string} */ id) => module.require(id), Module.createRequire(filename));
  script.runInThisContext()
    .call(module.exports, module.exports, require, module, filename, path.dirname(filename), turbo);
}

module.exports = { hook };
