'use strict';
/** One battle: owns a simulator `Battle`, numbers its requests, and says what each side may see. */

const { REQUEST } = require('../turbo/receiver');
const { Refusal } = require('./refusal');

/**
 * @typedef {'p1' | 'p2'} SideId
 * @typedef {{name: string, team?: string, seed: string, avatar?: string, rating?: number}} Player
 * @typedef {{format: string, seed: string, players: Record<SideId, Player>, rated?: string}} Opening
 * @typedef {{op: 'choose', side: SideId, choice: string} | {op: 'undo', side: SideId}
 *   | {op: 'forfeit', side: SideId, reason?: string} | {op: 'tie', reason: string} | {op: 'sheets'}} Move
 * @typedef {{rqid: number, request: string, answered: boolean}} Question a request as it was sent
 * @typedef {import('../turbo/receiver').Receiver<SideId>} Receiver
 */

/** @type {readonly SideId[]} */
const SIDES = ['p1', 'p2'];
const NO_QUESTION = Object.freeze({ rqid: 0, request: '', answered: true });

/** What one side has not been told yet. */
class Seat {
  constructor() {
    this.text = '';
    /** @type {Question} */
    this.question = NO_QUESTION;
    this.asked = false;
    this.error = '';
    /** With what words the simulator refused a choice before it asked again. */
    this.refusal = '';
  }
}

class Room {
  /**
   * @param {import('./simulator').Simulator} simulator
   * @param {string} tag
   */
  constructor(simulator, tag) {
    this.simulator = simulator;
    this.tag = tag;
    this.format = '';
    this.rqid = 0;
    this.forfeited = false;
    /** @type {Record<SideId, Seat>} */
    this.seats = { p1: new Seat(), p2: new Seat() };
    /** @type {import('pokemon-showdown').Battle} */
    this.battle = /** @type {any} */ (null);
  }

  /**
   * Starts the battle. What is passed has been validated; the simulator takes it as data.
   * @param {Opening} opening
   */
  start(opening) {
    for (const _ of this.starting(opening));
  }

  /**
   * Starts the battle step by step: each team is a step of its own.
   * @param {Opening} opening
   * @returns {Generator<void, void>}
   */
  *starting({ format, seed, players, rated }) {
    this.format = format;
    const { Battle, PRNG } = this.simulator;
    // Where a format draws seeds of its own as it starts, these too follow from the battle's.
    const spare = new PRNG(/** @type {any} */ (seed));
    const options = /** @type {any} */ ({ formatid: format, seed, rated, send: this.#send });
    this.#withSeedsOf(spare, () => (this.battle = new Battle(options)));
    for (const id of SIDES) {
      yield;
      this.#withSeedsOf(spare, () => this.battle.setPlayer(id, /** @type {any} */ (players[id])));
    }
    this.battle.sendUpdates();
  }

  /**
   * @param {InstanceType<import('./simulator').Simulator['PRNG']>} spare
   * @param {() => void} act
   */
  #withSeedsOf(spare, act) {
    const { PRNG } = this.simulator;
    const { generateSeed } = PRNG;
    PRNG.generateSeed = /** @type {any} */ (() => Array.from({ length: 4 }, () => spare.random(2 ** 16)));
    try {
      act();
    } finally {
      PRNG.generateSeed = generateSeed;
    }
  }

  /** @returns {boolean} */
  get ended() {
    return this.battle.ended;
  }

  /**
   * Answers the side's current request. Refuses, and changes nothing, if `rqid` is not that request's.
   * @param {SideId} side
   * @param {string} choice
   * @param {number} rqid
   */
  choose(side, choice, rqid) {
    const { question } = this.seats[side];
    if (rqid !== question.rqid) {
      throw new Refusal('stale', `${side} answered request ${rqid}, but the current one is ${question.rqid}`);
    }
    if (question.answered) {
      throw new Refusal('stale', `${side} has already answered request ${rqid}`);
    }
    this.apply({ op: 'choose', side, choice });
  }

  /**
   * Takes back the side's answer to its current request, which is then open again. Refuses, and changes nothing, if
   * there is none, or if the simulator keeps it.
   * @param {SideId} side
   * @param {number} rqid
   */
  undo(side, rqid) {
    const { question } = this.seats[side];
    if (rqid !== question.rqid) {
      throw new Refusal('stale', `${side} takes back request ${rqid}, but the current one is ${question.rqid}`);
    }
    if (!question.answered) throw new Refusal('stale', `${side} has not answered request ${rqid}`);
    this.apply({ op: 'undo', side });
  }

  /**
   * Does one thing that a journal can record. Throws `Refusal` where the simulator refuses a choice; it
   * may then have asked the side again, with what it learned by asking.
   * @param {Move} move
   */
  apply(move) {
    if (move.op === 'choose') this.#choose(move.side, move.choice);
    else if (this.battle.ended) throw new Refusal('invalid', 'the battle is over');
    else if (move.op === 'undo') this.#undo(move.side);
    else if (move.op === 'forfeit') this.#forfeit(move.side, move.reason);
    else if (move.op === 'tie') this.#tie(move.reason);
    else this.#showTeamSheets();
  }

  /**
   * @param {SideId} side
   * @param {string} choice
   */
  #choose(side, choice) {
    const seat = this.seats[side];
    const { question } = seat;
    seat.error = '';
    // Marked before the simulator runs: what it asks next is a new, unanswered question.
    question.answered = true;
    if (this.battle.choose(side, choice)) {
      this.battle.sendUpdates();
      return;
    }
    question.answered = false;
    if (seat.asked) seat.refusal = seat.error;
    throw new Refusal('invalid', seat.error || '[Unavailable choice] The request has changed');
  }

  /** @param {SideId} side */
  #undo(side) {
    const seat = this.seats[side];
    seat.error = '';
    this.battle.undoChoice(side);
    if (seat.error) throw new Refusal('invalid', seat.error);
    // The same question, or the one that the simulator asks instead with what the choice has revealed.
    seat.question.answered = false;
  }

  /**
   * @param {SideId} side
   * @param {string} [reason] what follows the name of who gives up
   */
  #forfeit(side, reason) {
    this.forfeited = true;
    this.battle.add('-message', `${this.battle.getSide(side).name}${reason || ' forfeited.'}`);
    this.battle.lose(side);
    this.battle.inputLog.push(`>forcelose ${side}`);
    this.battle.sendUpdates();
  }

  /** @param {string} reason */
  #tie(reason) {
    if (reason) this.battle.add('-message', reason);
    this.battle.tie();
    this.battle.inputLog.push('>forcetie');
    this.battle.sendUpdates();
  }

  #showTeamSheets() {
    if (this.battle.turn !== 0) throw new Refusal('invalid', 'team sheets are shown before the first turn, or not at all');
    this.battle.showOpenTeamSheets();
    this.battle.sendUpdates();
  }

  /**
   * A second room in the same state, that shares nothing with this one.
   * @param {string} tag
   * @returns {Room}
   */
  fork(tag) {
    const copy = new Room(this.simulator, tag);
    copy.format = this.format;
    copy.rqid = this.rqid;
    const state = this.battle.toJSON();
    // The serialiser forgets custom rules, and takes a name like `[Side:p2]` for one of its references.
    state.formatid = this.format;
    for (const [index, id] of SIDES.entries()) state.sides[index].name = id;
    copy.battle = this.simulator.Battle.fromJSON(JSON.stringify(state));
    copy.battle.restart(copy.#send);
    if (!isSameTeam(this.battle, copy.battle)) throw new Error('a team changes in the serialiser');
    for (const [index, id] of SIDES.entries()) {
      copy.seats[id].question = { ...this.seats[id].question };
      const [original, side] = [this.battle.sides[index], copy.battle.sides[index]];
      side.name = original.name;
      // The serialiser asks anew and so forgets what a refused choice has revealed.
      side.activeRequest = JSON.parse(JSON.stringify(original.activeRequest));
    }
    return copy;
  }

  /** Puts the open requests, once more, before the sides that owe an answer. */
  askAgain() {
    for (const id of SIDES) {
      const seat = this.seats[id];
      seat.asked = !seat.question.answered;
    }
  }

  /**
   * Takes what the sides have not been told yet, as JSON members of a frame.
   * @returns {string}
   */
  take() {
    let members = '';
    for (const id of SIDES) {
      const seat = this.seats[id];
      if (!seat.text && !seat.asked) continue;
      members += `,"${id}":{"text":${JSON.stringify(seat.text)}`;
      if (seat.asked) members += `,"rqid":${seat.question.rqid},"request":${seat.question.request}`;
      if (seat.refusal) members += `,"refusal":${JSON.stringify(seat.refusal)}`;
      members += '}';
      seat.text = '';
      seat.asked = false;
      seat.refusal = '';
    }
    if (this.battle.ended) members += `,"end":${JSON.stringify(this.#result())}`;
    return members;
  }

  #result() {
    const { winner, turn, sides } = this.battle;
    const won = sides.find((side) => side.name === winner);
    return {
      winner: won ? won.id : null,
      turns: turn,
      reason: this.forfeited ? 'forfeit' : won ? 'win' : 'tie',
    };
  }

  destroy() {
    this.battle?.destroy();
  }

  /** Hears what the simulator has to say. @type {Receiver} */
  #send = Object.assign(
    (/** @type {string} */ type, /** @type {string | string[]} */ data) => {
      if (type === 'update') this.#hear(/** @type {string[]} */ (data));
      else if (type === 'sideupdate') this.#hearAlone(/** @type {string} */ (data));
    },
    { [REQUEST]: (/** @type {SideId} */ side, /** @type {string} */ request) => this.#ask(side, request) },
  );

  /**
   * Sorts new lines of the log to the sides that may see them: after `|split|SIDE` come a line for that side
   * and one for all others, either of which may be empty.
   * @param {string[]} lines
   */
  #hear(lines) {
    const { p1, p2 } = this.seats;
    let first = p1.text;
    let second = p2.text;
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i];
      if (line.startsWith('|split|')) {
        const [secret, shared] = [lines[i + 1], lines[i + 2]];
        const side = line.slice(7);
        const seen = side === 'p1' ? secret : shared;
        const seenToo = side === 'p2' ? secret : shared;
        if (seen) first += (first && '\n') + seen;
        if (seenToo) second += (second && '\n') + seenToo;
        i += 2;
      } else if (line) {
        first += (first && '\n') + line;
        second += (second && '\n') + line;
      }
    }
    p1.text = first;
    p2.text = second;
  }

  /** @param {string} message the side, a newline, and `|request|JSON` or `|error|TEXT` */
  #hearAlone(message) {
    const side = /** @type {SideId} */ (message.slice(0, 2));
    if (message.startsWith('|request|', 3)) this.#ask(side, message.slice(12));
    else if (message.startsWith('|error|', 3)) this.seats[side].error = message.slice(10);
  }

  /**
   * @param {SideId} side
   * @param {string} request as JSON
   */
  #ask(side, request) {
    const seat = this.seats[side];
    seat.question = { rqid: ++this.rqid, request, answered: false };
    seat.asked = true;
  }
}

/**
 * Formats that rename Pokémon in the middle of a battle do so where the serialiser does not look.
 * @param {import('pokemon-showdown').Battle} battle
 * @param {import('pokemon-showdown').Battle} copy
 */
function isSameTeam(battle, copy) {
  return battle.sides.every((side, index) =>
    side.pokemon.every((pokemon, slot) => pokemon.fullname === copy.sides[index].pokemon[slot].fullname),
  );
}

module.exports = { Room, SIDES };
