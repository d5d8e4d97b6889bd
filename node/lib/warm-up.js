'use strict';
/** Battles that a process plays with itself, so that its hot paths are compiled before the real ones need them. */

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
  for (const _ of decide(room, policies)) decisions++;
  return decisions;
}

/**
 * @param {Room} room that has been started
 * @param {Record<import('./room').SideId, RandomPolicy>} policies
 * @returns {Generator<void, void>} takes a decision each time, until the battle is over
 */
function* decide(room, policies) {
  while (!room.ended) {
    for (const id of SIDES) {
      const { question } = room.seats[id];
      const request = room.battle.getSide(id)?.activeRequest;
      if (!request || question.answered || request.wait) continue;
      choose(room, id, policies[id], request);
      yield;
      if (room.ended) break;
    }
  }
}

/**
 * @param {Room} room
 * @param {import('./room').SideId} id
 * @param {RandomPolicy} policy
 * @param {any} request
 */
function choose(room, id, policy, request) {
  const { question } = room.seats[id];
  try {
    room.choose(id, policy.choose(request), question.rqid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Asked again with what the refusal revealed: choose again. Otherwise let the simulator choose.
    if (room.seats[id].question === question) room.choose(id, 'default', question.rqid);
  }
}

/** How warm a process is, counted in battles: those that it plays with itself, and the real ones too. */
class WarmUp {
  /** @param {import('./simulator').Simulator} simulator */
  constructor(simulator) {
    this.simulator = simulator;
    this.done = 0;
    this.wanted = 0;
    this.format = '';
    this.isPlaying = false;
    /** Hears of every battle that ends, with their number. @type {(done: number) => void} */
    this.onBattle = () => {};
  }

  /** @returns {[number, number]} battles that were played, and how many are wanted */
  get warmth() {
    return [Math.min(this.done, this.wanted), this.wanted];
  }

  /** A battle was played to its end. */
  count() {
    this.done++;
    this.onBattle(this.done);
  }

  /**
   * @param {string} format with random teams
   * @param {number} battles that this process shall have played
   * @returns {Generator<void, void> | null} plays what is missing, in small steps; nothing if that is under way already
   */
  want(format, battles) {
    this.format = format;
    this.wanted = battles;
    if (this.isPlaying) return null;
    this.isPlaying = true;
    return this.#play();
  }

  *#play() {
    try {
      for (let n = 1; this.done < this.wanted; n++) yield* this.#battle(n);
    } catch (error) {
      // It becomes no warmer by itself: nobody shall wait for that.
      this.wanted = this.done;
      throw error;
    } finally {
      this.isPlaying = false;
    }
  }

  /** @param {number} n which one it is: no two are alike */
  *#battle(n) {
    const room = new Room(this.simulator, 'warm-up');
    const players = { p1: { name: 'p1', seed: `${n},1,1,1` }, p2: { name: 'p2', seed: `${n},2,2,2` } };
    yield* room.starting({ format: this.format, seed: `${n},3,3,3`, players });
    room.take();
    yield;
    for (const _ of decide(room, { p1: new RandomPolicy(n), p2: new RandomPolicy(n + 1) })) {
      // What is said is encoded, as it would be for a command.
      room.take();
      yield;
      if (this.done >= this.wanted) break;
    }
    const { ended } = room;
    room.destroy();
    if (ended) this.count();
  }
}

module.exports = { WarmUp, playOut };
