'use strict';
/** What the tests share: the simulator, battles that are worth a test, and what is said in them. */

const path = require('node:path');
const { RandomPolicy } = require('../lib/random-policy');
const { Refusal } = require('../lib/refusal');
const { Room, SIDES } = require('../lib/room');
const { loadSimulator } = require('../lib/simulator');

/**
 * @typedef {import('../lib/room').SideId} SideId
 * @typedef {Record<SideId, RandomPolicy>} Policies
 * @typedef {{text: string, rqid?: number, request?: any, obs?: string, refusal?: string}} Part
 * @typedef {{p1?: Part, p2?: Part, end?: any, teams?: any}} Frame
 */

const FOLDER = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');
const simulator = loadSimulator(FOLDER);

/** The battles that are played here have at most a few hundred choices. */
const MOST_CHOICES = 1_000;
/** @type {WeakMap<Room, number>} */
const made = new WeakMap();

/** Who is trapped learns of it by a refusal. */
const TRAPPERS = ['Dugtrio', 'Diglett', 'Trapinch']
  .map((name) => `${name}||Leftovers|Arena Trap|slash,earthquake,sandattack,slash||||||50|`)
  .join(']');

const RANDOM = { format: 'gen9randombattle', team: undefined };
const DOUBLES = { format: 'gen9randomdoublesbattle', team: undefined };
const OLD = { format: 'gen1randombattle', team: undefined };
const TRAPS = { format: 'gen9customgame', team: TRAPPERS };

/**
 * @param {{format: string, team: string | undefined}} battle
 * @param {{seed?: number, names?: [string, string]}} [options]
 */
function opening({ format, team }, { seed = 1, names = ['Ash', 'Gary'] } = {}) {
  return {
    format,
    seed: `${seed},2,3,4`,
    players: {
      p1: { name: names[0], seed: `${seed},5,6,7`, team },
      p2: { name: names[1], seed: `${seed},8,9,10`, team },
    },
  };
}

/**
 * @param {{format: string, team: string | undefined}} battle
 * @param {{seed?: number, names?: [string, string]}} [options]
 * @param {Record<SideId, import('../lib/room').View>} [view]
 */
function started(battle, options, view) {
  const room = new Room(simulator, 'battle-test-1', view);
  room.start(opening(battle, options));
  return room;
}

/** @returns {Policies} */
function policies(seed = 1) {
  return { p1: new RandomPolicy(seed), p2: new RandomPolicy(seed + 1) };
}

/**
 * @param {Policies} originals
 * @returns {Policies} as they stand, to choose the same elsewhere
 */
function copied({ p1, p2 }) {
  return { p1: new RandomPolicy(p1.state), p2: new RandomPolicy(p2.state) };
}

/**
 * @param {Room} room
 * @returns {Frame} what the room has not said yet
 */
function told(room) {
  return parsed(room.take());
}

/**
 * @param {string} members of a frame
 * @returns {Frame} without the time of day, which differs
 */
function parsed(members) {
  const frame = JSON.parse(`{"ack":0${members}}`, (key, value) =>
    key === 'text' ? value.replace(/^\|t:\|.*\n?/gm, '') : value,
  );
  delete frame.ack;
  return frame;
}

/**
 * The next side that owes an answer.
 * @param {Room} room
 * @returns {SideId | undefined}
 */
function asked(room) {
  return SIDES.find((id) => !room.seats[id].question.answered && !requestOf(room, id).wait);
}

/**
 * @param {Room} room
 * @param {SideId} id
 * @returns {any} the side's request, whether its seat reads it or not
 */
function requestOf(room, id) {
  return JSON.parse(JSON.stringify(room.battle.getSide(id).activeRequest));
}

/**
 * Plays on with random choices, the refused ones of which are made again.
 * @param {Room} room
 * @param {Policies} chooser
 * @param {number} [choices] how many, or to the end
 * @returns {(Frame & {choice: string, refused: string})[]} what was chosen, and said thereupon
 */
function play(room, chooser, choices = Infinity) {
  const frames = [];
  while (!room.ended && frames.length < choices) {
    const id = /** @type {SideId} */ (asked(room));
    const { question } = room.seats[id];
    const choice = chooser[id].choose(requestOf(room, id));
    let refused = '';
    try {
      room.choose(id, choice, question.rqid);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused = error.message;
    }
    frames.push({ choice: `${id} ${choice}`, refused, ...told(room) });
    made.set(room, (made.get(room) ?? 0) + 1);
    if (Number(made.get(room)) > MOST_CHOICES) throw new Error('this battle has no end');
  }
  return frames;
}

module.exports = {
  DOUBLES,
  FOLDER,
  OLD,
  RANDOM,
  TRAPS,
  asked,
  copied,
  opening,
  parsed,
  play,
  policies,
  requestOf,
  simulator,
  started,
  told,
};
