'use strict';
/** One battle: owns a simulator `Battle`, numbers its requests, and says what each side may see. */

const { REQUEST } = require('../turbo/receiver');
const { requireChoice } = require('./fields');
const { Refusal } = require('./refusal');

/**
 * @typedef {'p1' | 'p2'} SideId
 * @typedef {{name: string, team?: string, seed: string, avatar?: string, rating?: number}} Player
 * @typedef {{format: string, seed: string, players: Record<SideId, Player>, rated?: string}} Opening
 * @typedef {{op: 'choose', side: SideId, choice: string} | {op: 'undo', side: SideId}
 *   | {op: 'forfeit', side: SideId, reason?: string} | {op: 'tie', reason: string} | {op: 'sheets'}} Move
 * @typedef {{rqid: number, choice: string}} Answer
 * @typedef {{lines: boolean, observe: string[] | null}} View what a side is shown: the lines and requests of the protocol,
 *   groups of observations, or both
 * @typedef {{rqid: number, request: string, waits: boolean, answered: boolean}} Question a request: its JSON for a side
 *   that reads lines; for one that observes, whether it only says to wait
 * @typedef {import('../turbo/receiver').Receiver<SideId>} Receiver
 * @typedef {import('../turbo/request-json').RequestJson} RequestJson
 */

/** @type {readonly SideId[]} */
const SIDES = ['p1', 'p2'];
const NO_QUESTION = Object.freeze({ rqid: 0, request: '', waits: true, answered: true });
/** @type {Record<SideId, View>} */
const LINES = { p1: { lines: true, observe: null }, p2: { lines: true, observe: null } };

/** What one side has not been told yet. */
class Seat {
  /** @param {View} view */
  constructor({ lines, observe }) {
    this.lines = lines;
    this.observes = observe !== null;
    this.text = '';
    /** Whether anything has happened since it was told something. */
    this.stirred = false;
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
   * @param {Record<SideId, View>} [view]
   */
  constructor(simulator, tag, view = LINES) {
    this.simulator = simulator;
    this.tag = tag;
    this.view = view;
    this.format = '';
    this.rqid = 0;
    this.forfeited = false;
    /** @type {Record<SideId, Seat>} */
    this.seats = { p1: new Seat(view.p1), p2: new Seat(view.p2) };
    /** What is known to the public and to each side, for those that observe. */
    this.observer = observerFor(simulator, view.p1.observe, view.p2.observe);
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
    if (this.observer) this.#requireTeamsOf(this.observer.team);
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

  /** @param {number} most Pokémon that there is a place for in an observation */
  #requireTeamsOf(most) {
    for (const { id, pokemon } of this.battle.sides) {
      if (pokemon.length <= most) continue;
      const message = `the team of ${id} has ${pokemon.length} Pokémon; there are observations of at most ${most}`;
      throw new Refusal('rejected', message);
    }
  }

  /** @returns {boolean} */
  get ended() {
    return this.battle.ended;
  }

  /** @returns {number} the number of the newest request that a side has been told of */
  get newestTold() {
    const told = SIDES.map((id) => this.seats[id]).filter(({ lines, question }) => lines || !question.waits);
    return Math.max(0, ...told.map(({ question }) => question.rqid));
  }

  /**
   * Answers the side's current request. Refuses, and changes nothing, if `rqid` is not that request's; only then is it
   * asked whether the text can be a choice.
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
    this.apply({ op: 'choose', side, choice: requireChoice({ choice }) });
  }

  /**
   * Answers the current requests of both sides, each on its own: a refusal of one does not touch the other.
   * @param {Record<SideId, Answer>} answers
   * @returns {Partial<Record<SideId, Refusal>>} why answers were refused, if any was
   */
  play(answers) {
    /** @type {Partial<Record<SideId, Refusal>>} */
    const refusals = {};
    for (const id of SIDES) {
      const { rqid, choice } = answers[id];
      try {
        this.choose(id, choice, rqid);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refusals[id] = error;
      }
    }
    return refusals;
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
    // It has kept the part that it could do, and would go on with that as soon as the other side has chosen.
    this.battle.getSide(side).clearChoice();
    const reason = seat.error || '[Unavailable choice] The request has changed';
    if (seat.asked) seat.refusal = reason;
    throw new Refusal('invalid', reason);
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
    const copy = new Room(this.simulator, tag, this.view);
    copy.format = this.format;
    copy.rqid = this.rqid;
    const state = this.battle.toJSON();
    // The serialiser forgets custom rules, and takes a name like `[Side:p2]` for one of its references.
    state.formatid = this.format;
    for (const [index, id] of SIDES.entries()) state.sides[index].name = id;
    copy.battle = this.simulator.Battle.fromJSON(JSON.stringify(state));
    copy.battle.restart(copy.#send);
    if (!isSameTeam(this.battle, copy.battle)) throw new Error('a team changes in the serialiser');
    const { log, sentLogPos } = this.battle;
    copy.observer = this.observer && this.observer.copy(seenBy('nobody', log.slice(0, sentLogPos)));
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
    const { ended } = this.battle;
    for (const id of SIDES) {
      const seat = this.seats[id];
      const { asked, question } = seat;
      if (seat.lines ? seat.text || asked : asked ? !question.waits : ended && seat.stirred) {
        let part = '';
        if (seat.lines) part = `,"text":${JSON.stringify(seat.text)}`;
        if (asked) part += seat.lines ? `,"rqid":${question.rqid},"request":${question.request}` : `,"rqid":${question.rqid}`;
        // Base64 needs no escapes.
        if (seat.observes) part += `,"obs":"${this.observer?.encode(id)}"`;
        if (seat.refusal) part += `,"refusal":${JSON.stringify(seat.refusal)}`;
        members += `,"${id}":{${part.slice(1)}}`;
      }
      seat.text = '';
      seat.stirred = false;
      seat.asked = false;
      seat.refusal = '';
    }
    if (ended) members += `,"end":${JSON.stringify(this.#result())}`;
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
    {
      [REQUEST]: (/** @type {SideId} */ side, /** @type {object} */ request, /** @type {RequestJson} */ writer) => {
        this.#ask(side, request, this.seats[side].lines ? String(writer.of(request)) : '');
      },
    },
  );

  /** @param {string[]} lines new ones of the log */
  #hear(lines) {
    this.observer?.hear(seenBy('nobody', lines));
    for (const id of SIDES) {
      const seat = this.seats[id];
      seat.stirred = true;
      if (!seat.lines) continue;
      const text = seenBy(id, lines).join('\n');
      seat.text = seat.text && text ? `${seat.text}\n${text}` : seat.text || text;
    }
  }

  /** @param {string} message the side, a newline, and `|request|JSON` or `|error|TEXT` */
  #hearAlone(message) {
    const side = /** @type {SideId} */ (message.slice(0, 2));
    if (message.startsWith('|request|', 3)) {
      const json = message.slice(12);
      const { lines, observes } = this.seats[side];
      this.#ask(side, observes ? JSON.parse(json) : null, lines ? json : '');
    } else if (message.startsWith('|error|', 3)) this.seats[side].error = message.slice(10);
  }

  /**
   * @param {SideId} side
   * @param {any} request
   * @param {string} json
   */
  #ask(side, request, json) {
    const seat = this.seats[side];
    if (seat.observes && request) this.observer?.ask(side, request);
    seat.question = { rqid: ++this.rqid, request: json, waits: Boolean(request?.wait), answered: false };
    seat.asked = true;
  }
}

/** Brings tables with it, which a process that shows nothing but lines has no use for. @type {typeof import('../observation/observer').Observer | null} */
let observing = null;

/**
 * @param {import('./simulator').Simulator} simulator
 * @param {string[] | null} p1
 * @param {string[] | null} p2
 */
function observerFor(simulator, p1, p2) {
  if (!p1 && !p2) return null;
  if (!observing) {
    observing = require('../observation/observer').Observer;
    require('../observation/calc').calculateWith(simulator.calculator);
  }
  return new observing({ p1, p2 });
}

/**
 * After `|split|SIDE` come a line for that side and one for all others, either of which may be empty.
 * @param {SideId | 'nobody'} viewer
 * @param {string[]} lines of the log
 * @returns {string[]} those that the viewer may see
 */
function seenBy(viewer, lines) {
  const seen = [];
  for (let i = 0; i < lines.length; i++) {
    let line = lines[i];
    if (line.startsWith('|split|')) {
      line = lines[line.slice(7) === viewer ? i + 1 : i + 2];
      i += 2;
    }
    if (line) seen.push(line);
  }
  return seen;
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

module.exports = { Room, SIDES, seenBy };
