'use strict';
/** Plays whole battles inside the process, so that its hot paths are compiled before the first real one. */

const { RandomPolicy } = require('./random-policy');
const { Refusal } = require('./refusal');
const { Room, SIDES } = require('./room');

/**
 * Plays a battle to its end with a random policy on either side.
 * @param {Room} room that has been started
 * @param {Record<import('./room').SideId, RandomPolicy>} policies
 * @returns {number} the decisions that were taken
 */
function playOut(room, policies) {
  let decisions = 0;
  while (!room.ended) {
    for (const id of SIDES) {
      const { question } = room.seats[id];
      const request = room.battle.getSide(id)?.activeRequest;
      if (!request || question.answered || request.wait) continue;
      decisions++;
      decide(room, id, policies[id], request);
      if (room.ended) break;
    }
  }
  return decisions;
}

/**
 * @param {Room} room
 * @param {import('./room').SideId} id
 * @param {RandomPolicy} policy
 * @param {any} request
 */
function decide(room, id, policy, request) {
  const { question } = room.seats[id];
  try {
    room.choose(id, policy.choose(request), question.rqid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Asked again with what the refusal revealed: choose again. Otherwise let the simulator choose.
    if (room.seats[id].question === question) room.choose(id, 'default', question.rqid);
  }
}

/** Battles that a process plays for itself, one at a time, between those that matter. */
class WarmUp {
  /** @param {import('./simulator').Simulator} simulator */
  constructor(simulator) {
    this.simulator = simulator;
    this.done = 0;
    this.wanted = 0;
  }

  /**
   * @param {string} format with random teams
   * @param {number} battles
   */
  start(format, battles) {
    this.wanted += battles;
    setImmediate(() => this.#next(format));
  }

  /** @param {string} format */
  #next(format) {
    if (this.done >= this.wanted) return;
    playAlone(this.simulator, format, ++this.done);
    setImmediate(() => this.#next(format));
  }
}

/**
 * @param {import('./simulator').Simulator} simulator
 * @param {string} format with random teams
 * @param {number} n its number
 */
function playAlone(simulator, format, n) {
  const room = new Room(simulator, 'warm-up');
  const players = { p1: { name: 'p1', seed: `${n},1,1,1` }, p2: { name: 'p2', seed: `${n},2,2,2` } };
  room.start({ format, seed: `${n},3,3,3`, players });
  room.take();
  playOut(room, { p1: new RandomPolicy(n), p2: new RandomPolicy(n + 1) });
  room.take();
  room.destroy();
}

module.exports = { WarmUp, playOut };
