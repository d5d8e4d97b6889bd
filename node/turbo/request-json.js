'use strict';
/**
 * JSON of the requests to one side. Little changes from one to the next, so the text of each Pokémon and of each move
 * is kept, and written anew when its content differs. It is always the content that is compared: what somebody has
 * changed in a request, or what is unlike the requests known here, is written as it is.
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
const NAMES = new Map(
  ['active', 'forceSwitch', 'side', 'noCancel', 'wait', 'moves', 'trapped', 'canTerastallize'].map((key) => [key, `"${key}"`]),
);
const MOVE_KEYS = ['move', 'id', 'pp', 'maxpp', 'target', 'disabled'];
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

/** A move as it was written last. */
class MoveText {
  constructor() {
    this.move = '';
    this.id = '';
    this.pp = 0;
    this.maxpp = 0;
    this.target = '';
    this.disabled = false;
    /** What stands before the points, and after them; nothing if the move cannot be kept. */
    this.head = '';
    this.tail = '';
    this.text = '';
  }

  /**
   * @param {any} move
   * @returns {string | undefined} its JSON
   */
  of(move) {
    if (!this.#isOf(move)) return this.#write(move);
    if (move.pp !== this.pp) {
      this.pp = move.pp;
      this.text = `${this.head}${move.pp}${this.tail}`;
    }
    return this.text;
  }

  /**
   * @param {any} move
   * @returns {boolean} whether nothing differs but the points that are left
   */
  #isOf(move) {
    return (
      this.head !== '' &&
      isPlainObject(move) &&
      hasKeys(move, MOVE_KEYS) &&
      move.move === this.move &&
      move.id === this.id &&
      Number.isInteger(move.pp) &&
      move.maxpp === this.maxpp &&
      move.target === this.target &&
      move.disabled === this.disabled
    );
  }

  /** @param {any} value of which more than that differs */
  #write(value) {
    const text = JSON.stringify(value);
    this.head = '';
    if (!isPlainObject(value) || !hasKeys(value, MOVE_KEYS)) return text;
    const { move, id, pp, maxpp, target, disabled } = value;
    if (typeof move !== 'string' || typeof id !== 'string' || typeof target !== 'string') return text;
    if (!Number.isInteger(pp) || !Number.isInteger(maxpp) || typeof disabled !== 'boolean') return text;
    Object.assign(this, value);
    this.head = `{"move":${JSON.stringify(move)},"id":${JSON.stringify(id)},"pp":`;
    this.tail = text.slice(`${this.head}${pp}`.length);
    this.text = text;
    return text;
  }
}

class RequestJson {
  constructor() {
    /** @type {Map<string, PokemonText>} by ident */
    this.pokemon = new Map();
    /** @type {Map<string, MoveText>} by id */
    this.moves = new Map();
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
      if (key === 'side' || key === 'ally') text = withMember(text, key, this.#ofSide(value));
      else if (key === 'active' && Array.isArray(value)) text = withMember(text, key, this.#ofActive(value));
      else text = withMember(text, key, textOf(value));
    }
    return `{${text}}`;
  }

  /** @param {any[]} slots */
  #ofActive(slots) {
    let text = '';
    for (const slot of slots) text += (text && ',') + (this.#ofSlot(slot) ?? 'null');
    return `[${text}]`;
  }

  /**
   * @param {any} slot
   * @returns {string | undefined}
   */
  #ofSlot(slot) {
    if (!isPlainObject(slot)) return JSON.stringify(slot);
    let text = '';
    for (const key of Object.keys(slot)) {
      const value = slot[key];
      const areMoves = key === 'moves' && Array.isArray(value);
      text = withMember(text, key, areMoves ? this.#ofMoves(value) : textOf(value));
    }
    return `{${text}}`;
  }

  /** @param {any[]} moves */
  #ofMoves(moves) {
    let text = '';
    for (const move of moves) text += (text && ',') + (this.#ofMove(move) ?? 'null');
    return `[${text}]`;
  }

  /**
   * @param {any} move
   * @returns {string | undefined}
   */
  #ofMove(move) {
    if (typeof move?.id !== 'string') return JSON.stringify(move);
    let last = this.moves.get(move.id);
    if (!last) {
      last = new MoveText();
      this.moves.set(move.id, last);
    }
    return last.of(move);
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

/**
 * @param {any} value
 * @returns {string | undefined}
 */
function textOf(value) {
  return value === true ? 'true' : JSON.stringify(value);
}

/**
 * @param {string} text members of an object
 * @param {string} key
 * @param {string | undefined} value
 * @returns {string} with this one behind them, unless JSON leaves it out
 */
function withMember(text, key, value) {
  return value === undefined ? text : `${text}${text && ','}${NAMES.get(key) ?? JSON.stringify(key)}:${value}`;
}

module.exports = { RequestJson };
