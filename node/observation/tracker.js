'use strict';
/**
 * Keeps what the public lines of one battle tell of both sides. Knows no simulator: a spectator could keep it by hand.
 *
 * What the lines of the log mean is in the modules of the same folder that this one dispatches to.
 */

const { actionLines } = require('./hear-actions');
const { appearanceLines } = require('./hear-appearances');
const { boostLines } = require('./hear-boosts');
const { conditionLines } = require('./hear-conditions');
const { fieldLines } = require('./hear-field');
const { formeLines } = require('./hear-formes');
const { possessionLines } = require('./hear-possessions');
const { sheetLines } = require('./hear-sheets');
const { Line, nameOf, placeOf, sideOf } = require('./lines');
const { namesOf } = require('./names');
const { readTables } = require('./spec');
const { TrackedPokemon } = require('./tracked-pokemon');
const { Slot, TrackedSide } = require('./tracked-side');

/**
 * @typedef {import('./spec').Spec} Spec
 * @typedef {import('./spec').Tables} Tables
 * @typedef {'p1' | 'p2'} SideId
 * @typedef {(tracker: Tracker, line: Line) => void} Hear
 */

const MOST_SLOTS = 3;
/** After so many turns comes what was announced. */
const FUTURE = 2;
const MOST_TOXIC = 15;

class Tracker {
  /** @param {Spec} spec */
  constructor(spec) {
    this.spec = spec;
    this.names = namesOf(spec);
    this.gen = 9;
    /** @type {Tables} */
    this.tables = readTables(spec, this.gen);
    this.game = 'singles';
    this.turn = 0;
    this.ended = false;
    this.weather = 0;
    /** The turn in which it began; so for all that begins. */
    this.weatherSince = 0;
    this.terrain = 0;
    this.terrainSince = 0;
    this.fields = new Int16Array(this.names.lists.fields.length).fill(-1);
    /** @type {Record<SideId, TrackedSide>} */
    this.sides = { p1: new TrackedSide(this.names), p2: new TrackedSide(this.names) };
    /** How many moves there were. */
    this.actions = 0;
    /** Who used a move last, and where it was aimed at. @type {Slot | null} */
    this.mover = null;
    /** @type {Slot | null} */
    this.target = null;
    /** Who has chosen the move of which lines tell what comes of it. @type {Slot | null} */
    this.chooser = null;
    this.line = new Line();
  }

  /** @param {string} text one line of the protocol, as a spectator sees it */
  hear(text) {
    const end = text.indexOf('|', 1);
    const hear = LINES.get(end < 0 ? text.slice(1) : text.slice(1, end));
    if (hear === undefined || text.charCodeAt(0) !== 124) return;
    this.line.read(text);
    hear(this, this.line);
  }

  /**
   * @param {string} ident of a Pokémon or a player
   * @returns {TrackedSide | null}
   */
  side(ident) {
    const id = sideOf(ident);
    return id && this.sides[id];
  }

  /**
   * @param {string} ident
   * @returns {Slot | null} the place that it names, if a Pokémon stands there
   */
  slot(ident) {
    const place = placeOf(ident);
    if (place < 0) return null;
    const slot = this.side(ident)?.slots[place];
    return slot?.pokemon ? slot : null;
  }

  /**
   * @param {string} ident
   * @returns {Slot | null} the place that a move is aimed at, even if whoever stood there has fainted
   */
  aim(ident) {
    if (placeOf(ident) >= 0) return this.slot(ident);
    const side = ident ? this.side(ident) : null;
    return side?.slots.find(({ pokemon, gone }) => !pokemon && gone?.name === nameOf(ident)) ?? null;
  }

  /**
   * @param {string} ident
   * @param {(pokemon: TrackedPokemon) => boolean} [suits] to tell one on the bench from others of its name
   * @returns {TrackedPokemon | null}
   */
  pokemon(ident, suits) {
    if (placeOf(ident) >= 0) return this.slot(ident)?.pokemon ?? null;
    return this.side(ident)?.benched(nameOf(ident), suits) ?? null;
  }

  /**
   * @param {string} ident
   * @returns {TrackedSide | null} the side against it
   */
  foes(ident) {
    const id = sideOf(ident);
    return id && this.sides[id === 'p1' ? 'p2' : 'p1'];
  }

  /** @param {string} effect that the log names */
  effect(effect) {
    return this.names.effect(effect);
  }

  /** @param {(slot: Slot) => void} act for every Pokémon on the field */
  eachActive(act) {
    for (const slot of this.sides.p1.slots) if (slot.pokemon) act(slot);
    for (const slot of this.sides.p2.slots) if (slot.pokemon) act(slot);
  }
}

/** @type {Hear} */
function hearGeneration(tracker, line) {
  const generation = Number(line.part(1));
  if (!(generation >= 1 && generation <= 9)) return;
  tracker.gen = generation;
  tracker.tables = readTables(tracker.spec, generation);
}

/** @type {Hear} */
function hearGame(tracker, line) {
  tracker.game = line.part(1);
  if (tracker.game !== 'triples') return;
  for (const side of [tracker.sides.p1, tracker.sides.p2]) {
    while (side.slots.length < MOST_SLOTS) side.slots.push(new Slot(tracker.names));
  }
}

/** @type {Hear} */
function hearTurn(tracker, line) {
  tracker.turn = Number(line.part(1)) || tracker.turn;
  for (const slot of tracker.sides.p1.slots) startTurnOf(slot);
  for (const slot of tracker.sides.p2.slots) startTurnOf(slot);
}

/** A line of nothing stands before what was chosen, and before what the end of a turn brings. @type {Hear} */
function hearPause(tracker) {
  tracker.chooser = null;
}

/** @param {Slot} slot */
function startTurnOf(slot) {
  if (!slot.pokemon) return;
  if (slot.fresh) slot.fresh = false;
  else slot.turns++;
  slot.zPowered = false;
}

/** The turn is over, but for those who come in for the fainted. @type {Hear} */
function hearUpkeep(tracker) {
  const { fields, turn } = tracker;
  const { deluge, lock } = tracker.names.brief;
  fields[deluge] = -1;
  if (turn > fields[lock]) fields[lock] = -1;
  for (const slot of tracker.sides.p1.slots) endTurnOf(tracker, slot);
  for (const slot of tracker.sides.p2.slots) endTurnOf(tracker, slot);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function endTurnOf({ gen, names, turn }, slot) {
  const { doomdesire, futuresight, lockon, preparing, singleTurn } = names.volatiles;
  const { pokemon, volatiles } = slot;
  if (turn - slot.futureSince >= FUTURE) volatiles[doomdesire] = volatiles[futuresight] = 0;
  if (!pokemon) return;
  if (!slot.stalled) slot.protects = 0;
  slot.stalled = false;
  for (let i = 0; i < singleTurn.length; i++) volatiles[singleTurn[i]] = 0;
  if (turn > slot.lockedOnSince) volatiles[lockon] = 0;
  if (gen > 1 && turn > slot.preparedSince) volatiles[preparing] = 0;
  if (slot.roosting) slot.endRoost();
  if (pokemon.status === names.marking.tox && pokemon.statusTurns < MOST_TOXIC) pokemon.statusTurns++;
}

/** @type {Hear} */
function hearEnd(tracker) {
  tracker.ended = true;
}

/** @type {Map<string, Hear>} */
const LINES = new Map([
  ['', hearPause],
  ['gen', hearGeneration],
  ['gametype', hearGame],
  ['turn', hearTurn],
  ['upkeep', hearUpkeep],
  ['win', hearEnd],
  ['tie', hearEnd],
  ...sheetLines,
  ...appearanceLines,
  ...formeLines,
  ...actionLines,
  ...conditionLines,
  ...boostLines,
  ...possessionLines,
  ...fieldLines,
]);

module.exports = { Slot, TrackedPokemon, TrackedSide, Tracker };
