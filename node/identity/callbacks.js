'use strict';
/**
 * Prints all callbacks in the data of the simulator, with the places where they are written: node identity/callbacks.js
 *
 * A callback that a mod takes over from another is the same function, and counts once.
 */

const fs = require('node:fs');
const inspector = require('node:inspector');
const path = require('node:path');
const { fileURLToPath } = require('node:url');

/** @typedef {{name: string, kind: string, mod: string, places: string[]}} Callback `mod` is empty for what all share */

const FOLDER = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');
const DIST = path.join(FOLDER, 'dist');
const TABLES = ['Abilities', 'Items', 'Moves', 'Conditions', 'Rulesets', 'Pokedex', 'TypeChart'];
const CALLBACK = /^on[A-Z]|Callback$/;
/** What belongs to a function before its parameters: the debugger counts from these, the profiler from here. */
const OPENING = /(?:async\s+)?(?:function\s*)?\w*\s*$/;

/** @typedef {Omit<Callback, 'places'>} Found */

/** @returns {Map<Function, Found>} */
function collect() {
  const { Dex } = require(FOLDER);
  /** @type {Map<Function, Found>} */
  const found = new Map();
  let mod = '';
  /**
   * @param {any} value
   * @param {string} name
   * @param {string} kind
   * @param {(key: string) => boolean} counts
   */
  const walk = (value, name, kind, counts) => {
    for (const [key, part] of Object.entries(value)) {
      const full = `${name}.${key}`;
      const where = kind === 'moves' && key === 'condition' ? "moves' conditions" : kind;
      if (typeof part === 'function') {
        if (counts(key) && !found.has(part)) found.set(part, { name: mod ? `${mod}/${full}` : full, kind: where, mod });
      } else if (typeof part === 'object' && part !== null) walk(part, full, where, counts);
    }
  };
  const isCallback = (/** @type {string} */ key) => CALLBACK.test(key);
  for (const used of mods(Dex)) {
    const { data } = Dex.mod(used);
    mod = used === Dex.currentMod ? '' : used;
    for (const table of TABLES) {
      for (const [id, entry] of Object.entries(data[table] ?? {})) {
        if (entry) walk(entry, `${table.toLowerCase()}.${id}`, table.toLowerCase(), isCallback);
      }
    }
    walk(data.Scripts, 'scripts', 'scripts of mods', () => mod !== '');
  }
  mod = '';
  for (const format of Dex.formats.all()) walk(format, `formats.${format.id}`, 'rulesets', isCallback);
  return found;
}

/**
 * @param {any} Dex
 * @returns {Set<string>} the mods that formats use, each after those that it is based on
 */
function mods(Dex) {
  /** @type {Set<string>} */
  const used = new Set();
  const add = (/** @type {string} */ mod) => {
    const { parentMod } = Dex.mod(mod);
    Dex.mod(mod).includeData();
    if (parentMod) add(parentMod);
    used.add(mod);
  };
  add(Dex.currentMod);
  for (const format of Dex.formats.all()) add(format.mod);
  return used;
}

/**
 * @param {Function[]} functions
 * @returns {string[][]} for each, the places where a profiler may say that it begins
 */
function locate(functions) {
  const session = new inspector.Session();
  session.connect();
  /** @type {Map<string, string>} */
  const files = new Map();
  session.on('Debugger.scriptParsed', ({ params }) => files.set(params.scriptId, params.url));
  session.post('Debugger.enable');
  /** @param {string} method @param {object} parameters @returns {any} */
  const post = (method, parameters) => {
    /** @type {any} */
    let answer;
    session.post(method, parameters, (/** @type {any} */ error, /** @type {any} */ result) => {
      if (error) throw new Error(error.message);
      answer = result;
    });
    return answer;
  };
  /** @type {any} */ (globalThis).functionsToLocate = functions;
  const { objectId } = post('Runtime.evaluate', { expression: 'globalThis.functionsToLocate' }).result;
  const elements = post('Runtime.getProperties', { objectId, ownProperties: true }).result;
  return functions.map((_, index) => {
    const { value } = elements[index];
    const { internalProperties } = post('Runtime.getProperties', { objectId: value.objectId, ownProperties: true });
    const location = internalProperties?.find((/** @type {any} */ { name }) => name === '[[FunctionLocation]]')?.value.value;
    return location ? places(files.get(location.scriptId) ?? '', location.lineNumber, location.columnNumber) : [];
  });
}

/** @type {Map<string, {text: string, lines: number[]}>} */
const texts = new Map();

/**
 * @param {string} url
 * @param {number} line
 * @param {number} column
 */
function places(url, line, column) {
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  if (!file.startsWith(DIST)) return [];
  const { text, lines } = textOf(file);
  const offset = lines[line] + column;
  const name = path.relative(DIST, file).replaceAll('\\', '/');
  const before = OPENING.exec(text.slice(Math.max(0, offset - 100), offset))?.[0].length ?? 0;
  return [`${name}:${offset}`, ...(before ? [`${name}:${offset - before}`] : [])];
}

/** @param {string} file */
function textOf(file) {
  let known = texts.get(file);
  if (!known) {
    const text = fs.readFileSync(file, 'utf8');
    const lines = [0];
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) lines.push(index + 1);
    known = { text, lines };
    texts.set(file, known);
  }
  return known;
}

function main() {
  const found = collect();
  const located = locate([...found.keys()]);
  const callbacks = [...found.values()].map((callback, index) => ({ ...callback, places: located[index] }));
  process.stdout.write(JSON.stringify(callbacks));
}

main();
