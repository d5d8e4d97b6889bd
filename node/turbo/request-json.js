'use strict';
/**
 * JSON of the requests to one side. Little changes from one to the next in what they say of the team, so the text of
 * each Pokémon is kept, and written anew when its content differs. It is always the content that is compared: what
 * somebody has changed in a request, or what is unlike the requests known here, is written as it is.
 */

/** What an entry begins with. The last two change more often than all others. */
const FIRST_KEYS = ['ident', 'details', 'condition', 'active'];
/** What may follow, and is a string or a boolean; `stats` and `moves` may too. */
const OTHER_KEYS = new Set([
  'baseAbility',
  'item',
  'pokeball',
  'ability',
  'commanding',
  'reviving',
  'teraType',
  'terastallized',
]);
const SIDE_KEYS = ['name', 'id', 'pokemon'];
const NAMES = new Map(['active', 'forceSwitch', 'side', 'noCancel', 'wait'].map((key) => [key, `"${key}"`]));
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/** @param {any} value */
function isPlainObject(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    value.toJSON === undefined
  );
}

/**
 * @param {object} object
 * @param {string[]} keys
 * @returns {boolean} whether the object has these keys, in this order, and no others
 */
function hasKeys(object, keys) {
  let index = 0;
  for (const key in object) if (key !== keys[index++]) return false;
  return index === keys.length;
}

/**
 * @param {any} entry
 * @returns {boolean} whether its text can be kept
 */
function isKnown(entry) {
  if (!isPlainObject(entry)) return false;
  for (const [index, key] of Object.keys(entry).entries()) {
    const value = entry[key];
    if (index < FIRST_KEYS.length && key !== FIRST_KEYS[index]) return false;
    if (key === 'stats') {
      if (!isPlainObject(value) || !hasKeys(value, STATS)) return false;
      if (!STATS.every((stat) => typeof value[stat] === 'number')) return false;
    } else if (key === 'moves') {
      if (!Array.isArray(value) || !value.every((move) => typeof move === 'string')) return false;
    } else if (key === 'active') {
      if (typeof value !== 'boolean') return false;
    } else if (typeof value !== 'string' && !(typeof value === 'boolean' && OTHER_KEYS.has(key))) {
      return false;
    } else if (index >= FIRST_KEYS.length && !OTHER_KEYS.has(key)) {
      return false;
    }
  }
  return Array.isArray(entry.moves) && isPlainObject(entry.stats);
}

/** The entry of a Pokémon as it was written last. */
class PokemonText {
  constructor() {
    /** A copy of the entry, or null if it cannot be kept. @type {any} */
    this.entry = null;
    /** @type {string[]} */
    this.keys = [];
    /** What stands before the condition, and after `active`. */
    this.head = '';
    this.tail = '';
    this.text = '';
  }

  /**
   * @param {any} entry
   * @returns {string | undefined} its JSON
   */
  of(entry) {
    const last = this.entry;
    if (!last || !this.#isOf(entry)) return this.#write(entry);
    const { condition, active } = entry;
    if (condition !== last.condition || active !== last.active) {
      last.condition = condition;
      last.active = active;
      this.text = `${this.head}${JSON.stringify(condition)},"active":${active}${this.tail}`;
    }
    return this.text;
  }

  /**
   * @param {any} entry
   * @returns {boolean} whether nothing differs but its condition, and whether it is active
   */
  #isOf(entry) {
    const last = this.entry;
    return (
      isPlainObject(entry) &&
      hasKeys(entry, this.keys) &&
      entry.ident === last.ident &&
      entry.details === last.details &&
      typeof entry.condition === 'string' &&
      typeof entry.active === 'boolean' &&
      this.#hasStats(entry.stats) &&
      this.#hasMoves(entry.moves) &&
      entry.baseAbility === last.baseAbility &&
      entry.item === last.item &&
      entry.pokeball === last.pokeball &&
      entry.ability === last.ability &&
      entry.commanding === last.commanding &&
      entry.reviving === last.reviving &&
      entry.teraType === last.teraType &&
      entry.terastallized === last.terastallized
    );
  }

  /** @param {any} stats */
  #hasStats(stats) {
    const last = this.entry.stats;
    return (
      isPlainObject(stats) &&
      hasKeys(stats, STATS) &&
      stats.atk === last.atk &&
      stats.def === last.def &&
      stats.spa === last.spa &&
      stats.spd === last.spd &&
      stats.spe === last.spe
    );
  }

  /** @param {any} moves */
  #hasMoves(moves) {
    const last = this.entry.moves;
    if (!Array.isArray(moves) || moves.length !== last.length) return false;
    for (let index = 0; index < last.length; index++) if (moves[index] !== last[index]) return false;
    return true;
  }

  /** @param {any} entry of which more than that differs */
  #write(entry) {
    const text = JSON.stringify(entry);
    this.entry = null;
    if (!isKnown(entry)) return text;
    const { ident, details, condition, active, stats, moves } = entry;
    this.entry = { ...entry, stats: { ...stats }, moves: moves.slice() };
    this.keys = Object.keys(entry);
    this.head = `{"ident":${JSON.stringify(ident)},"details":${JSON.stringify(details)},"condition":`;
    this.tail = text.slice(`${this.head}${JSON.stringify(condition)},"active":${active}`.length);
    this.text = text;
    return text;
  }
}

class RequestJson {
  constructor() {
    /** @type {Map<string, PokemonText>} by ident */
    this.pokemon = new Map();
  }

  /**
   * @param {any} request
   * @returns {string | undefined} what JSON.stringify gives for it
   */
  of(request) {
    if (!isPlainObject(request)) return JSON.stringify(request);
    let text = '';
    for (const key of Object.keys(request)) {
      const value = request[key];
      const member = key === 'side' || key === 'ally' ? this.#ofSide(value) : JSON.stringify(value);
      if (member !== undefined) text += `${text && ','}${NAMES.get(key) ?? JSON.stringify(key)}:${member}`;
    }
    return `{${text}}`;
  }

  /**
   * @param {any} side
   * @returns {string | undefined}
   */
  #ofSide(side) {
    if (!isPlainObject(side) || !hasKeys(side, SIDE_KEYS)) return JSON.stringify(side);
    const { name, id, pokemon } = side;
    if (typeof name !== 'string' || typeof id !== 'string' || !Array.isArray(pokemon)) return JSON.stringify(side);
    let team = '';
    for (const entry of pokemon) team += (team && ',') + (this.#ofPokemon(entry) ?? 'null');
    return `{"name":${JSON.stringify(name)},"id":${JSON.stringify(id)},"pokemon":[${team}]}`;
  }

  /**
   * @param {any} entry
   * @returns {string | undefined}
   */
  #ofPokemon(entry) {
    if (typeof entry?.ident !== 'string') return JSON.stringify(entry);
    let last = this.pokemon.get(entry.ident);
    if (!last) {
      last = new PokemonText();
      this.pokemon.set(entry.ident, last);
    }
    return last.of(entry);
  }
}

module.exports = { RequestJson };
