'use strict';
/** Numbers for the suite itself, which follow from a text alone and can be copied with all that is still to come. */

class Random {
  /** @param {string | number} seed a text, or the state of another */
  constructor(seed) {
    this.state = typeof seed === 'number' ? seed : hash(seed);
  }

  /** @returns {Random} one that goes on as this one does */
  copy() {
    return new Random(this.state);
  }

  /** A number in [0, 1). */
  unit() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** @param {number} n @returns {number} a whole number in [0, n) */
  below(n) {
    return Math.floor(this.unit() * n);
  }

  /** @param {number} probability */
  chance(probability) {
    return this.unit() < probability;
  }

  /**
   * @template T
   * @param {readonly T[]} items
   * @returns {T}
   */
  pick(items) {
    return items[this.below(items.length)];
  }

  /**
   * @template T
   * @param {readonly T[]} items
   * @returns {T[]} all of them, in another order
   */
  shuffled(items) {
    const list = [...items];
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
}

/**
 * @param {string} text
 * @returns {number} 32 bits of it, by FNV-1a
 */
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/**
 * Deals cards from shuffled decks, one deck after the other, so that hands 0, 1, 2… together hold every card.
 * @template T
 * @param {readonly T[]} cards
 * @param {string} name of the deck
 * @param {number} hand which one
 * @param {number} size of a hand
 * @returns {T[]}
 */
function deal(cards, name, hand, size) {
  /** @type {Map<number, T[]>} */
  const decks = new Map();
  return Array.from({ length: size }, (_, index) => {
    const place = hand * size + index;
    const round = Math.floor(place / cards.length);
    const deck = decks.get(round) ?? new Random(`${name} ${round}`).shuffled(cards);
    decks.set(round, deck);
    return deck[place % cards.length];
  });
}

module.exports = { Random, deal };
