'use strict';
/** What the sides of one battle may know, from the lines that everybody sees and each side's own requests. */

const { Encoder, TRANSFORM } = require('./encoder');
const { spec } = require('./numbers');
const { Roster } = require('./roster');
const { Tracker } = require('./tracker');

/**
 * @typedef {'p1' | 'p2'} SideId
 * @typedef {Record<SideId, readonly string[] | null>} Wishes groups that each side wants to see, or null for none at all
 */

/** They hold nothing of a battle, so one serves all. @type {Map<string, Encoder>} */
const ENCODERS = new Map();

/**
 * @param {'singles' | 'doubles'} game
 * @param {readonly string[]} groups
 */
function encoderFor(game, groups) {
  const key = `${game} ${groups.join(' ')}`;
  let encoder = ENCODERS.get(key);
  if (!encoder) {
    encoder = new Encoder(game, groups);
    ENCODERS.set(key, encoder);
  }
  return encoder;
}

class Observer {
  /** @param {Wishes} wishes */
  constructor(wishes) {
    this.wishes = wishes;
    /** How many Pokémon of a side have a place in an observation. */
    this.team = spec.team;
    this.tracker = new Tracker(spec);
    /** @type {Record<SideId, Roster | null>} */
    this.rosters = { p1: wishes.p1 && new Roster(), p2: wishes.p2 && new Roster() };
  }

  /** @param {readonly string[]} lines that everybody sees */
  hear(lines) {
    for (let i = 0; i < lines.length; i++) this.tracker.hear(lines[i]);
  }

  /**
   * @param {SideId} side
   * @param {any} request that the side was sent after these lines
   */
  ask(side, request) {
    this.rosters[side]?.read(request, this.tracker.sides[side], TRANSFORM);
  }

  /**
   * @param {SideId} side that has been asked before
   * @returns {string} its observation as base64
   */
  encode(side) {
    const { tracker } = this;
    const roster = this.rosters[side];
    const groups = this.wishes[side];
    if (!roster?.request || !groups) throw new Error(`${side} was asked nothing that it could observe`);
    const game = tracker.game === 'doubles' ? 'doubles' : 'singles';
    return encoderFor(game, groups).encode({
      tracker,
      own: tracker.sides[side],
      foe: tracker.sides[side === 'p1' ? 'p2' : 'p1'],
      roster,
      tables: tracker.tables,
    });
  }

  /**
   * @param {readonly string[]} lines all that this one has heard
   * @returns {Observer} one in the same state that shares nothing with it
   */
  copy(lines) {
    const copy = new Observer(this.wishes);
    copy.hear(lines);
    for (const id of /** @type {const} */ (['p1', 'p2'])) {
      const [theirs, ours] = [this.tracker.sides[id].pokemon, copy.tracker.sides[id].pokemon];
      copy.rosters[id] = this.rosters[id]?.copy((pokemon) => ours[theirs.indexOf(pokemon)] ?? null) ?? null;
    }
    return copy;
  }
}

module.exports = { Observer };
