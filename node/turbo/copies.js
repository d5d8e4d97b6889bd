'use strict';
/** Functions that copy frozen moves: one a move, compiled from a text that names its keys. */

const WORD = /^[A-Za-z_$][\w$]*$/;

/** What the simulator and its data set on active moves, whichever these are. */
const LATE = [
  'allies',
  'auraBooster',
  'baseMove',
  'causedCrashDamage',
  'hasAuraBreak',
  'hasBounced',
  'hasSheerForce',
  'hit',
  'hitTargets',
  'infiltrates',
  'isExternal',
  'isZOrMaxPowered',
  'lastHit',
  'magnitude',
  'moveHitData',
  'multihitType',
  'pranksterBoosted',
  'ruinedAtk',
  'ruinedDef',
  'ruinedSpA',
  'ruinedSpD',
  'selfDropped',
  'statusRoll',
  'stellarBoosted',
  'totalDamage',
  'typeChangerBoosted',
];

/**
 * @typedef {{data: {Moves: Record<string, object>}}} Dex
 * @typedef {() => any} Copier makes an active copy of a move
 * @typedef {new (values: any[]) => any} Constructor takes the values of all keys, in their order
 */

/**
 * @returns {(move: object, dex: Dex) => Copier | null} null for a move that vanilla has to copy
 */
function copiers() {
  /** @type {WeakMap<Dex, DexCopiers>} */
  const known = new WeakMap();
  const constructors = new Constructors();
  return (move, dex) => {
    let ofDex = known.get(dex);
    if (!ofDex) known.set(dex, (ofDex = new DexCopiers(dex, constructors)));
    return ofDex.of(move);
  };
}

/** The copiers of a dex: dexes share moves, but the copies of each are of one kind. */
class DexCopiers {
  /**
   * @param {Dex} dex
   * @param {Constructors} constructors
   */
  constructor(dex, constructors) {
    this.keys = keysOf(dex);
    this.constructors = constructors;
    /** @type {WeakMap<object, Copier | null>} */
    this.copiers = new WeakMap();
  }

  /**
   * @param {object} move
   * @returns {Copier | null}
   */
  of(move) {
    const known = this.copiers.get(move);
    if (known !== undefined) return known;
    if (!Object.isFrozen(move)) return null;
    const copier = compiled(move, this.keys, this.constructors);
    this.copiers.set(move, copier);
    return copier;
  }
}

/** Constructors by prototype and keys: what has the same of both shares a hidden class. */
class Constructors {
  constructor() {
    /** @type {Map<object, Map<string, Constructor>>} */
    this.known = new Map();
  }

  /**
   * @param {any} prototype
   * @param {string[]} keys
   * @returns {Constructor}
   */
  of(prototype, keys) {
    let ofPrototype = this.known.get(prototype);
    if (!ofPrototype) this.known.set(prototype, (ofPrototype = new Map()));
    const name = keys.join();
    let constructor = ofPrototype.get(name);
    if (!constructor) ofPrototype.set(name, (constructor = newConstructor(prototype, keys)));
    return constructor;
  }
}

/**
 * @param {Dex} dex
 * @returns {string[]} what any of its moves has, and what a battle adds to them
 */
function keysOf({ data }) {
  const keys = new Set(LATE);
  for (const move of Object.values(data.Moves)) for (const key of Object.keys(move)) keys.add(key);
  return [...keys].filter((key) => WORD.test(key));
}

/**
 * @param {any} prototype
 * @param {string[]} keys
 * @returns {Constructor}
 */
function newConstructor(prototype, keys) {
  const stores = keys.map((key, index) => `this.${key} = values[${index}];`).join(' ');
  const make = new Function(`return function ActiveMove(values) { ${stores} };`)();
  make.prototype = prototype;
  // A number once and none the next time: V8 learns at once that all fields hold anything, and not one by one.
  for (const value of [0, undefined]) new make(keys.map(() => value));
  return make;
}

/**
 * @param {any} move
 * @param {string[]} shared keys of all moves
 * @param {Constructors} constructors
 * @returns {Copier | null}
 */
function compiled(move, shared, constructors) {
  const own = Object.keys(move);
  if (own.includes('hit') || !own.every((key) => WORD.test(key) && isData(move, key))) return null;
  /** @type {any[]} what the text of the function cannot say */
  const constants = [];
  const lines = [];
  for (const key of own) {
    if (typeof move[key] !== 'object' || move[key] === null) continue;
    const text = textOf(move[key], constants);
    if (text === null) return null;
    lines.push(`copy.${key} = ${text};`);
  }
  const keys = [...new Set([...shared, ...own])].sort();
  const make = constructors.of(Object.getPrototypeOf(move), keys);
  const values = keys.map((key) => (key === 'hit' ? 0 : move[key]));
  const body = `return () => { const copy = new make(values); ${lines.join(' ')} return copy; };`;
  return new Function('make', 'values', 'constants', body)(make, values, constants);
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
