'use strict';
/** Takes lines of the protocol apart. One reader serves all lines of a battle, and copies only what is asked for. */

const BAR = '|';
const BRACKET = 91;
const MOST_PARTS = 64;

class Line {
  constructor() {
    this.text = '';
    this.count = 0;
    this.bars = new Int32Array(MOST_PARTS + 1);
    /** Which parts are `[from] …` and `[of] …`; 0 if there is none. */
    this.fromPart = 0;
    this.ofPart = 0;
  }

  /** @param {string} text that begins with a bar; part 0 is its command */
  read(text) {
    const { bars } = this;
    this.text = text;
    this.fromPart = 0;
    this.ofPart = 0;
    let count = 0;
    for (let bar = 0; bar >= 0 && count < MOST_PARTS; bar = text.indexOf(BAR, bar + 1)) {
      if (text.charCodeAt(bar + 1) === BRACKET) this.#tag(bar, count);
      bars[count++] = bar;
    }
    this.count = count;
    bars[count] = text.length;
  }

  /**
   * @param {number} bar
   * @param {number} part
   */
  #tag(bar, part) {
    if (this.text.startsWith('[from]', bar + 1)) this.fromPart = part;
    else if (this.text.startsWith('[of]', bar + 1)) this.ofPart = part;
  }

  /**
   * @param {number} number
   * @returns {string} nothing if the line has no such part
   */
  part(number) {
    return number < this.count ? this.text.slice(this.bars[number] + 1, this.bars[number + 1]) : '';
  }

  /**
   * @param {number} number
   * @returns {string} the part, unless it is a tag
   */
  plain(number) {
    return number < this.count && this.text.charCodeAt(this.bars[number] + 1) !== BRACKET ? this.part(number) : '';
  }

  /** @returns {string} the effect that a line puts what it tells down to */
  get from() {
    return this.fromPart ? this.#after(this.fromPart, 6) : '';
  }

  /** @returns {string} the Pokémon that the effect comes from */
  get of() {
    return this.ofPart ? this.#after(this.ofPart, 4) : '';
  }

  /**
   * @param {number} part
   * @param {number} length of its tag
   */
  #after(part, length) {
    const start = this.bars[part] + 1 + length;
    return this.text.slice(this.text[start] === ' ' ? start + 1 : start, this.bars[part + 1]);
  }

  /** @param {string} tag such as `[silent]` */
  has(tag) {
    return this.text.includes(tag, this.bars[1]);
  }
}

/**
 * @param {string} ident
 * @returns {'p1' | 'p2' | null} the side of a Pokémon or player
 */
function sideOf(ident) {
  if (ident[0] !== 'p') return null;
  return ident[1] === '1' ? 'p1' : ident[1] === '2' ? 'p2' : null;
}

/**
 * @param {string} ident
 * @returns {number} the place on the field, from 0 on; -1 for a Pokémon on the bench
 */
function placeOf(ident) {
  const place = ident.charCodeAt(2) - 97;
  return place >= 0 && place < 3 && ident[3] === ':' ? place : -1;
}

/** @param {string} ident */
function nameOf(ident) {
  return ident.slice(ident.indexOf(': ') + 2);
}

/** What `DETAILS` say: `Species, L50, M, shiny, tera:Fire`. */
class Details {
  /** @param {string} text */
  constructor(text) {
    const tera = text.indexOf(', tera:');
    this.tera = tera < 0 ? '' : text.slice(tera + 7);
    /** All of it that stays the same as long as the Pokémon looks the same. */
    this.key = tera < 0 ? text : text.slice(0, tera);
    const [species, ...more] = this.key.split(', ');
    this.species = species;
    this.level = 100;
    this.gender = 'none';
    this.shiny = false;
    for (const word of more) {
      if (word === 'M' || word === 'F') this.gender = word;
      else if (word === 'shiny') this.shiny = true;
      else if (word[0] === 'L') this.level = Number(word.slice(1)) || 100;
    }
  }

  /**
   * Whether these can be of the same Pokémon, which may have changed its forme meanwhile. A team preview keeps shininess,
   * and some formes (`Urshifu-*`), to itself.
   * @param {Details} other
   */
  fits(other) {
    return this.level === other.level && this.gender === other.gender && this.isKindOf(other);
  }

  /** @param {Details} other of which the level, and the gender, may be those of somebody who only looks like it */
  isKindOf(other) {
    return wordOf(this.species) === wordOf(other.species);
  }
}

/**
 * @param {string} condition such as `100/100`, `23/48y par` or `0 fnt`
 * @returns {number} in 255ths, and not 0 as long as there is any
 */
function hpOf(condition) {
  const slash = condition.indexOf('/');
  const now = parseInt(condition, 10);
  if (slash < 0 || !now) return 0;
  const most = parseInt(condition.slice(slash + 1), 10);
  return most > 0 ? Math.min(255, Math.max(1, Math.round((255 * now) / most))) : 0;
}

/**
 * @param {string} condition
 * @returns {string} nothing if there is none
 */
function statusOf(condition) {
  const space = condition.indexOf(' ');
  return space < 0 ? '' : condition.slice(space + 1);
}

/** @param {string} species */
function wordOf(species) {
  const dash = species.indexOf('-');
  return dash < 0 ? species : species.slice(0, dash);
}

module.exports = { Details, Line, hpOf, nameOf, placeOf, sideOf, statusOf };
