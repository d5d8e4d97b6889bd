'use strict';
/** Functions that copy frozen moves: one a move, compiled from a text that names its keys. */

const WORD = /^[A-Za-z_$][\w$]*$/;

/**
 * @returns {(move: object) => (() => any) | null} gives what makes active copies of a move, or null where vanilla has to
 */
function copiers() {
  /** @type {WeakMap<object, (() => any) | null>} */
  const known = new WeakMap();
  /** @type {Map<object, Map<string, Function>>} constructors of copies, by prototype and keys */
  const constructors = new Map();
  return (move) => {
    const copier = known.get(move);
    if (copier !== undefined) return copier;
    if (!Object.isFrozen(move)) return null;
    const made = compiled(move, constructors);
    known.set(move, made);
    return made;
  };
}

/**
 * @param {any} move
 * @param {Map<object, Map<string, Function>>} constructors
 * @returns {(() => any) | null}
 */
function compiled(move, constructors) {
  const keys = Object.keys(move);
  if (keys.includes('hit') || !keys.every((key) => WORD.test(key) && isData(move, key))) return null;
  /** @type {any[]} what the text of the function cannot say */
  const constants = [];
  const lines = [];
  for (const key of keys) {
    if (typeof move[key] !== 'object' || move[key] === null) continue;
    const text = textOf(move[key], constants);
    if (text === null) return null;
    lines.push(`copy.${key} = ${text};`);
  }
  const make = constructorFor(Object.getPrototypeOf(move), keys, constructors);
  const values = keys.map((key) => move[key]);
  const body = `return () => { const copy = new make(values); ${lines.join(' ')} return copy; };`;
  return new Function('make', 'values', 'constants', body)(make, values, constants);
}

/**
 * @param {any} prototype
 * @param {string[]} keys
 * @param {Map<object, Map<string, Function>>} constructors
 * @returns {Function} makes an object of that prototype with these keys, of an array of their values, and `hit`
 */
function constructorFor(prototype, keys, constructors) {
  let ofPrototype = constructors.get(prototype);
  if (!ofPrototype) constructors.set(prototype, (ofPrototype = new Map()));
  const name = keys.join();
  let make = ofPrototype.get(name);
  if (!make) {
    const stores = keys.map((key, index) => `this.${key} = values[${index}];`).join(' ');
    /** @type {Function} */
    const made = new Function(`return function ActiveMove(values) { ${stores} this.hit = 0; };`)();
    made.prototype = prototype;
    ofPrototype.set(name, (make = made));
  }
  return make;
}

/**
 * @param {any} value
 * @param {any[]} constants
 * @returns {string | null} an expression for a deep copy of the value, or null if there is none
 */
function textOf(value, constants) {
  if (typeof value !== 'object' || value === null) return `constants[${constants.push(value) - 1}]`;
  if (!Object.isFrozen(value)) return null;
  const keys = Object.keys(value);
  const isArray = Array.isArray(value);
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return null;
  if (isArray ? keys.length !== value.length : keys.includes('__proto__')) return null;
  const parts = [];
  for (const key of keys) {
    const text = isData(value, key) ? inline(value[key]) ?? textOf(value[key], constants) : null;
    if (text === null) return null;
    parts.push(isArray ? text : `${JSON.stringify(key)}: ${text}`);
  }
  return isArray ? `[${parts.join(', ')}]` : `{${parts.join(', ')}}`;
}

/**
 * @param {any} value
 * @returns {string | null} the value as it is written in a program, if it is as simple as that
 */
function inline(value) {
  if (typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  return Number.isFinite(value) && !Object.is(value, -0) ? String(value) : null;
}

/** @param {object} owner @param {string} key */
function isData(owner, key) {
  return 'value' in /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(owner, key));
}

module.exports = { copiers };
