'use strict';
/** What the public knows of one side: its team, what stands in its places on the field, and what lies around it. */

const { Snapshot, TrackedPokemon, NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./lines').Details} Details
 * @typedef {import('./names').Names} Names
 */

const MOST_POKEMON = 24;
/** A turn that no other comes after. */
const NEVER = -2;

/** A place on the field, and all that whoever stands there loses by leaving it. */
class Slot {
  /** @param {Names} names */
  constructor(names) {
    /** @type {TrackedPokemon | null} */
    this.pokemon = null;
    this.species = NONE;
    this.boosts = new Int8Array(names.lists.boosts.length);
    this.types = [NONE, NONE, NONE];
    this.stellar = names.types.get('Stellar') ?? UNKNOWN;
    /** Its types if it had not terastallized. */
    this.plainTypes = [NONE, NONE, NONE];
    /** Whether its types were shown as they are, and not changed. */
    this.typesShown = false;
    /** The types that Roost takes from it until the turn ends. @type {number[] | null} */
    this.roosting = null;
    this.turns = 0;
    this.protects = 0;
    this.stockpiles = 0;
    this.volatiles = new Uint8Array(names.lists.volatiles.length);
    this.lastMove = UNKNOWN;
    this.ability = UNKNOWN;
    /** The ability that it has shown since it came in: one who only looks like it would not. */
    this.abilityShown = UNKNOWN;
    /** Whether its ability is not the one that it came with. */
    this.abilityChanged = false;
    /** Whether it came in during this turn. */
    this.fresh = true;
    /** Whether a move of those that are the less likely to work the more often they do has worked in this turn. */
    this.stalled = false;
    /** Whether it uses a Z-Move in this turn. */
    this.zPowered = false;
    /** The move that Mimic has given it. */
    this.mimicked = UNKNOWN;
    /** How many moves of those had worked in a row before this turn. */
    this.streak = 0;
    /** The move of the last line that had it move, whoever chose it. */
    this.latest = UNKNOWN;
    /** The move that it prepares, and since when. */
    this.prepared = UNKNOWN;
    this.preparedSince = 0;
    /** Which places of the foe exerted Pressure when it began to. @type {boolean[]} */
    this.pressed = [];
    /** The move by which it came to prepare that one. */
    this.payer = UNKNOWN;
    /** A move that goes on by itself in the next turns, and for how many it has done so. */
    this.going = UNKNOWN;
    this.goingFor = 0;
    /** The turn in which Lock-On, and whatever strikes this place later, began. */
    this.lockedOnSince = 0;
    this.futureSince = 0;
    /** The turn in which a move that was chosen here has failed last, whoever stands here now. */
    this.failedIn = NEVER;
    /** Who keeps it from leaving. @type {TrackedPokemon | null} */
    this.trapper = null;
    /** Who has fainted here last. @type {TrackedPokemon | null} */
    this.gone = null;
    /** @type {Snapshot | null} */
    this.before = null;
  }

  /**
   * @param {readonly number[]} kept volatiles that are bound to the place, or passed on
   * @param {boolean} [keepBoosts]
   */
  reset(kept, keepBoosts = false) {
    const { volatiles } = this;
    this.pokemon = null;
    this.species = NONE;
    if (!keepBoosts) this.boosts.fill(0);
    this.types.fill(NONE);
    this.plainTypes.fill(NONE);
    this.roosting = null;
    this.turns = 0;
    this.protects = 0;
    this.stockpiles = 0;
    for (let index = 0; index < volatiles.length; index++) {
      if (volatiles[index] && !kept.includes(index)) volatiles[index] = 0;
    }
    this.lastMove = UNKNOWN;
    this.ability = UNKNOWN;
    this.abilityShown = UNKNOWN;
    this.abilityChanged = false;
    this.fresh = true;
    this.stalled = false;
    this.zPowered = false;
    this.mimicked = UNKNOWN;
    this.streak = 0;
    this.latest = UNKNOWN;
    this.prepared = UNKNOWN;
    this.payer = UNKNOWN;
    this.going = UNKNOWN;
    this.goingFor = 0;
    this.trapper = null;
    this.before = null;
  }

  /**
   * @param {number} first
   * @param {number} second
   * @param {number} third
   */
  setTypes(first, second, third) {
    const { plainTypes } = this;
    plainTypes[0] = first;
    plainTypes[1] = second;
    plainTypes[2] = third;
    this.roosting = null;
    this.showTypes();
  }

  /** Has the types that it shows follow from those that it has, and from whether it has terastallized. */
  showTypes() {
    const { types, pokemon } = this;
    if (pokemon?.terastallized && pokemon.teraType !== this.stellar) {
      types[0] = pokemon.teraType;
      types[1] = types[2] = NONE;
    } else {
      for (let i = 0; i < types.length; i++) types[i] = this.plainTypes[i];
    }
  }

  /**
   * @param {number} flying
   * @param {number} instead the type of what has no other
   */
  roost(flying, instead) {
    const [first, second, third] = this.plainTypes;
    if (first !== flying && second !== flying) return;
    const before = this.plainTypes.slice();
    if (first === flying) this.setTypes(second === NONE ? instead : second, NONE, third);
    else this.setTypes(first, NONE, third);
    this.roosting = before;
  }

  endRoost() {
    if (!this.roosting) return;
    const [first, second, third] = this.roosting;
    this.setTypes(first, second, third);
  }
}

class TrackedSide {
  /** @param {Names} names */
  constructor(names) {
    this.names = names;
    this.size = 0;
    /** Of those that it brings, how many have not fainted. */
    this.left = 0;
    /** @type {TrackedPokemon[]} */
    this.pokemon = [];
    this.slots = [new Slot(names), new Slot(names)];
    this.conditions = {
      hazards: new Uint8Array(names.lists.hazards.length),
      screens: new Int16Array(names.lists.screens.length).fill(-1),
    };
    this.usedMega = 0;
    this.usedZ = 0;
    this.usedDynamax = 0;
    this.usedTera = 0;
  }

  /** @param {number} size */
  resize(size) {
    const next = Math.max(0, Math.min(MOST_POKEMON, size));
    this.left = Math.max(0, this.left + next - this.size);
    this.size = next;
  }

  /**
   * @param {Details} details
   * @param {number} generation
   */
  add(details, generation) {
    const pokemon = new TrackedPokemon(this.names, details, generation);
    this.pokemon.push(pokemon);
    return pokemon;
  }

  /**
   * The Pokémon that comes in, by its name and looks; among those that look alike, the one in the condition it comes in.
   * @param {string} name
   * @param {Details} details
   * @param {number} hp
   * @returns {TrackedPokemon | undefined}
   */
  find(name, details, hp) {
    return this.#mostLike((pokemon) => (pokemon.details.fits(details) ? likenessOf(pokemon, name, details, hp) : 0));
  }

  /**
   * Somebody who comes in, and is none of those who are known. If the one that it looks like stands on the field already,
   * it is an Illusion, of whom nobody knows who it is. If the team is complete, it may be one that shows its own level.
   * @param {string} name
   * @param {Details} details
   * @param {number} generation
   * @returns {TrackedPokemon}
   */
  recruit(name, details, generation) {
    const isHere = this.slots.some(({ pokemon }) => pokemon?.slot && pokemon.name === name && pokemon.details.isKindOf(details));
    if (isHere) return new TrackedPokemon(this.names, details, generation);
    if (this.pokemon.length < this.size || !this.size) return this.add(details, generation);
    const alike = this.#mostLike((pokemon) => (pokemon.details.isKindOf(details) ? likenessOf(pokemon, name, details, 0) : 0));
    return alike ?? new TrackedPokemon(this.names, details, generation);
  }

  /**
   * @param {(pokemon: TrackedPokemon) => number} likeness
   * @returns {TrackedPokemon | undefined}
   */
  #mostLike(likeness) {
    let best;
    let most = 0;
    for (const pokemon of this.pokemon) {
      const how = likeness(pokemon);
      if (how > most) {
        most = how;
        best = pokemon;
      }
    }
    return best;
  }

  /**
   * One that is not on the field.
   * @param {string} name
   * @param {(pokemon: TrackedPokemon) => boolean} [suits] what is said of it, to tell it from others of its name
   */
  benched(name, suits = () => true) {
    const named = this.pokemon.filter((pokemon) => pokemon.name === name);
    return named.find((pokemon) => !pokemon.slot && suits(pokemon)) ?? named[0];
  }

  /** @param {TrackedPokemon} pokemon */
  faint(pokemon) {
    pokemon.hp = 0;
    pokemon.setStatus(this.names.statuses.get('fnt') ?? UNKNOWN);
    if (pokemon.fainted) return;
    pokemon.fainted = 1;
    this.left = Math.max(0, this.left - 1);
  }

  /**
   * One that was seen to faint stands on the field: somebody else had looked like it.
   * @param {TrackedPokemon} pokemon
   */
  wasAnother(pokemon) {
    pokemon.fainted = 0;
    pokemon.setStatus(NONE);
  }

  /** @param {TrackedPokemon} pokemon */
  revive(pokemon) {
    if (!pokemon.fainted) return;
    pokemon.fainted = 0;
    pokemon.setStatus(NONE);
    this.left = Math.min(this.size, this.left + 1);
  }
}

/**
 * @param {TrackedPokemon} pokemon
 * @param {string} name
 * @param {Details} details
 * @param {number} hp
 * @returns {number} 0 if it cannot be the one
 */
function likenessOf(pokemon, name, details, hp) {
  if (pokemon.slot) return 0;
  const seen = pokemon.name !== '';
  if (seen && pokemon.name !== name) return 0;
  if (seen && pokemon.details.shiny !== details.shiny) return 0;
  let likeness = 1;
  if (!pokemon.fainted) likeness += 16;
  if (seen) likeness += 8;
  if (pokemon.details.species === details.species) likeness += 4;
  if (pokemon.hp === hp) likeness += 2;
  return likeness;
}

module.exports = { Slot, TrackedSide };
