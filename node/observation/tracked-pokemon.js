'use strict';
/** What the public knows of one Pokémon of a team: ids of tables and numbers of classes, as an observation has them. */

/** @typedef {import('./lines').Details} Details */

/** Ids that stand for no name. */
const UNKNOWN = 0;
const NONE = 1;
const FULL = 255;

class TrackedPokemon {
  /**
   * @param {import('./names').Names} names
   * @param {Details} details
   * @param {number} generation
   */
  constructor(names, details, generation) {
    const { statuses, types } = names;
    /** Its nickname, which the log uses; not known before it has been on the field. */
    this.name = '';
    this.details = details;
    this.species = names.look('species', details.species);
    /** What it looks like whenever it comes in. */
    this.baseSpecies = this.species;
    this.level = details.level;
    this.gender = names.genders.get(details.gender) ?? UNKNOWN;
    this.hp = FULL;
    this.status = statuses.get('none') ?? NONE;
    this.statusTurns = 0;
    this.ability = generation < 3 ? NONE : UNKNOWN;
    this.item = generation < 2 ? NONE : UNKNOWN;
    /** The item that it has lost, so that its last words are not taken for a new one. */
    this.lost = UNKNOWN;
    /** The item that it has used up, or lost, last. */
    this.eaten = UNKNOWN;
    /** The move, by its number in the battle, in which it has lost it. */
    this.lostIn = 0;
    this.teraType = (generation === 9 ? types.get('unknown') : types.get('none')) ?? UNKNOWN;
    this.terastallized = 0;
    this.revealed = 0;
    /** @type {number[]} */
    this.moves = [];
    /** How much PP of each of them was used. @type {number[]} */
    this.used = [];
    this.slot = 0;
    this.fainted = 0;
  }

  /**
   * @param {number} move
   * @param {number} cost in PP
   */
  use(move, cost) {
    const index = this.moves.indexOf(move);
    if (index >= 0) {
      this.used[index] = Math.max(0, this.used[index] + cost);
    } else {
      this.moves.push(move);
      this.used.push(Math.max(0, cost));
    }
  }

  /** Has all its PP back. */
  restore() {
    this.used.fill(0);
  }

  /** @param {number} move */
  knows(move) {
    return this.moves.includes(move);
  }

  /** @param {number} item that it is seen to hold */
  holds(item) {
    if (item === UNKNOWN || (this.item === NONE && this.lost === item)) return;
    this.item = item;
    this.lost = UNKNOWN;
  }

  /**
   * @param {number} item that it is given
   * @param {number} action the move that does so, by its number
   */
  gets(item, action) {
    // It may have been used up by the time that the log says so.
    if (this.item === NONE && this.lost === item && this.lostIn === action) return;
    this.item = item;
    this.lost = UNKNOWN;
  }

  /**
   * @param {number} item that it holds no more
   * @param {number} action
   */
  loses(item, action) {
    this.item = NONE;
    this.lost = item;
    this.lostIn = action;
  }

  /** @param {number} status */
  setStatus(status) {
    if (status === this.status) return;
    this.status = status;
    this.statusTurns = 0;
  }
}

/** What was known of a Pokémon when it came in, should it turn out to be another one that looks like it. */
class Snapshot {
  /** @param {TrackedPokemon} pokemon */
  constructor(pokemon) {
    this.details = pokemon.details;
    this.level = pokemon.level;
    this.hp = pokemon.hp;
    this.fainted = pokemon.fainted;
    this.status = pokemon.status;
    this.statusTurns = pokemon.statusTurns;
    this.species = pokemon.species;
    this.baseSpecies = pokemon.baseSpecies;
    this.ability = pokemon.ability;
    this.item = pokemon.item;
    this.lost = pokemon.lost;
    this.teraType = pokemon.teraType;
    this.terastallized = pokemon.terastallized;
    this.revealed = pokemon.revealed;
    this.moves = pokemon.moves.slice();
    this.used = pokemon.used.slice();
  }

  /**
   * Gives a Pokémon back what was put down to it since, to the one that it was.
   * @param {TrackedPokemon} looks
   * @param {TrackedPokemon} actual
   */
  handOver(looks, actual) {
    actual.hp = looks.hp;
    actual.fainted = looks.fainted;
    actual.status = looks.status;
    actual.statusTurns = looks.statusTurns;
    if (looks.item !== this.item || looks.lost !== this.lost) {
      actual.item = looks.item;
      actual.lost = looks.lost;
    }
    if (looks.terastallized && !this.terastallized) {
      actual.teraType = looks.teraType;
      actual.terastallized = looks.terastallized;
    }
    looks.moves.forEach((move, index) => {
      const before = this.moves.indexOf(move);
      const used = looks.used[index] - (before < 0 ? 0 : this.used[before]);
      if (before < 0 || used > 0) actual.use(move, used);
    });
    Object.assign(looks, this);
  }
}

module.exports = { FULL, NONE, Snapshot, TrackedPokemon, UNKNOWN };
