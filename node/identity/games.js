'use strict';
/** The ways to hold a battle: as the simulator's own `Battle`, or as a room of ours. Either writes down what it says. */

const { Refusal } = require('../lib/refusal');
const { SIDES } = require('../lib/room');
const { Rooms } = require('../lib/rooms');
const { REQUEST } = require('../turbo/receiver');
const { masked } = require('./record');

/**
 * @typedef {import('./record').BattleRecord} BattleRecord
 * @typedef {import('./record').Aspect} Aspect
 * @typedef {import('../lib/room').Receiver} Receiver
 * @typedef {{extractChannelMessages: (text: string, channels: number[]) => any}} Channels
 * @typedef {import('../lib/simulator').Simulator & Channels} Simulator
 * @typedef {{name: string, seed: string, team?: string}} Player
 * @typedef {{format: string, seed: string, players: Record<string, Player>, debug: boolean, luck: boolean | null,
 *   rated: boolean}} Opening `luck` decides all that is left to chance, where that is not nothing
 */

const CHANNELS = [-1, 0, 1, 2, 3, 4];
const TAG = 'battle-identity-1';

/**
 * Writes down what a battle sends, and what of it each channel may see.
 * @param {Simulator} simulator
 * @param {BattleRecord} record
 * @param {string} type
 * @param {string | string[]} data
 */
function witness(simulator, record, type, data) {
  if (!Array.isArray(data)) {
    record.add('sent', `${type}|${data}`);
    if (data.startsWith('|request|', 3)) record.add('requests', data);
    return;
  }
  const lines = data.map(masked);
  record.add('sent', type, ...lines);
  const seen = simulator.extractChannelMessages(lines.join('\n'), CHANNELS);
  for (const channel of CHANNELS) {
    record.add(/** @type {Aspect} */ (`channel ${channel}`), ...seen[channel]);
  }
}

/**
 * Writes down a battle as it stands: what the simulator would serialise, and what it has asked.
 * @param {any} battle
 * @param {BattleRecord} record
 * @returns {any} what the simulator serialises
 */
function checkpoint(battle, record) {
  let state;
  try {
    state = battle.toJSON();
  } catch (error) {
    record.add('states', `cannot be serialised: ${error}`);
    return null;
  }
  const requests = battle.sides.map((/** @type {any} */ side) => side.activeRequest);
  const sides = state.sides.map((/** @type {any} */ side) => ({ ...side, pokemon: side.pokemon.map(sorted) }));
  // The log is compared by itself; by its length the place of a state is found.
  record.add('states', JSON.stringify({ ...state, sides, log: state.log.length, requests }, withSortedMembers));
  return state;
}

/**
 * @param {string} _
 * @param {any} value part of a battle that was serialised
 */
function withSortedMembers(_, value) {
  const isActiveMove = typeof value?.move === 'string' && value.move.startsWith('[Move:');
  return isActiveMove ? sorted(value) : value;
}

/**
 * @param {any} holder a Pokémon or an active move that was serialised
 * @returns {any} the same with its own members sorted: their order says only when each was first set. What is inside them
 *   stays as it is, since the order of volatiles is that of their turns.
 */
function sorted(holder) {
  return Object.fromEntries(Object.entries(holder).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * Writes down how a battle ended, or how it stands when nobody plays on.
 * @param {any} battle
 * @param {BattleRecord} record
 */
function conclude(battle, record) {
  checkpoint(battle, record);
  record.add('log', ...battle.log.map(masked));
  record.add('input log', ...battle.inputLog);
  record.add('seed', String(battle.prng.getSeed()));
  record.add('turn', String(battle.turn));
  record.add('winner', `${battle.winner} ${battle.ended}`);
}

class DirectGame {
  /**
   * @param {Simulator} simulator
   * @param {Opening} opening
   * @param {BattleRecord} record
   * @param {any} battle
   */
  constructor(simulator, opening, record, battle) {
    this.simulator = simulator;
    this.opening = opening;
    this.record = record;
    this.battle = battle;
    /** Requests that were answered. A refused choice can leave the simulator with half of it, as if that was all. */
    this.answered = new WeakSet();
  }

  /**
   * @param {Simulator} simulator
   * @param {Opening} opening
   * @param {BattleRecord} record
   */
  static start(simulator, opening, record) {
    const { format, seed, players, debug, luck, rated } = opening;
    /** @type {any} */
    const options = {
      formatid: format,
      seed,
      send: (/** @type {string} */ type, /** @type {any} */ data) => witness(simulator, record, type, data),
      ...structuredClone(players),
    };
    if (debug) options.debug = true;
    if (luck !== null) options.forceRandomChance = luck;
    if (rated) options.rated = 'Rated battle';
    const game = new DirectGame(simulator, opening, record, new simulator.Battle(options));
    game.battle.sendUpdates();
    return game;
  }

  /** @returns {string[]} the sides that owe an answer */
  owing() {
    const owes = (/** @type {any} */ { activeRequest: request }) =>
      request && !request.wait && !this.answered.has(request);
    return this.battle.sides.filter(owes).map((/** @type {any} */ side) => side.id);
  }

  /** @param {string} id */
  request(id) {
    return JSON.parse(JSON.stringify(this.battle.getSide(id).activeRequest));
  }

  /**
   * @param {string} id
   * @param {string} choice
   * @returns {string} why not, or nothing
   */
  choose(id, choice) {
    const side = this.battle.getSide(id);
    const { activeRequest } = side;
    const taken = this.battle.choose(id, choice);
    this.battle.sendUpdates();
    const refusal = taken ? '' : side.choice.error || 'refused';
    if (taken) this.answered.add(activeRequest);
    // A choice that is refused takes the place of an earlier one, unless that can no longer be undone.
    else if (activeRequest && !refusal.startsWith("Can't undo")) this.answered.delete(activeRequest);
    return refusal;
  }

  /**
   * Does what only who runs a battle can do.
   * @param {string} id
   * @param {string} prank
   */
  prank(id, prank) {
    const { battle } = this;
    switch (prank) {
      case 'undo':
        for (const side of battle.sides) this.#undo(side);
        break;
      case 'rename':
        battle.setPlayer(id, { name: `${battle.getSide(id).name}|?`.slice(0, 18), avatar: '12' });
        break;
      case 'reseed':
        battle.resetRNG('7,7,7,7');
        break;
      case 'sheets':
        battle.showOpenTeamSheets();
        break;
      case 'forfeit':
        battle.lose(id);
        break;
      case 'tiebreak':
        battle.tiebreak();
        break;
      default:
        for (const side of battle.sides) this.choose(side.id, prank);
    }
    battle.sendUpdates();
  }

  /** @param {any} side */
  #undo(side) {
    const { cantUndo } = side.choice;
    this.battle.undoChoice(side.id);
    if (side.requestState && !cantUndo) this.answered.delete(side.activeRequest);
  }

  /** @returns {DirectGame | null} another in the same state, from what the simulator serialises */
  copy() {
    const state = checkpoint(this.battle, this.record);
    if (!state) return null;
    // The serialiser forgets custom rules.
    state.formatid = this.opening.format;
    let battle;
    try {
      battle = this.simulator.Battle.fromJSON(JSON.stringify(state));
    } catch (error) {
      this.record.add('states', `cannot be taken up again: ${error}`);
      return null;
    }
    battle.restart((/** @type {string} */ type, /** @type {any} */ data) =>
      witness(this.simulator, this.record, type, data),
    );
    const copy = new DirectGame(this.simulator, this.opening, this.record, battle);
    for (const [index, side] of battle.sides.entries()) {
      const { activeRequest } = this.battle.sides[index];
      if (activeRequest && this.answered.has(activeRequest)) copy.answered.add(/** @type {any} */ (side.activeRequest));
    }
    return copy;
  }

  destroy() {
    this.battle.destroy();
  }
}

class RoomGame {
  /**
   * @param {Simulator} simulator
   * @param {Opening} opening
   * @param {BattleRecord} record
   * @param {import('../lib/room').Room} room
   */
  constructor(simulator, opening, record, room) {
    this.simulator = simulator;
    this.opening = opening;
    this.record = record;
    this.room = room;
    /** What it takes to play the same again. @type {[string, string, string][]} */
    this.journal = [];
    this.battle.send = this.#overheard(this.battle.send);
    this.#tell();
  }

  /**
   * @param {Receiver} send
   * @returns {Receiver} the same, with what it hears written down: a request that comes as such, as turbo sends it, as the
   *   message that vanilla sends
   */
  #overheard(send) {
    const { simulator, record } = this;
    /** @param {string} type @param {any} data */
    const overhear = (type, data) => {
      witness(simulator, record, type, data);
      send(type, data);
    };
    /** @type {Receiver[typeof REQUEST]} */
    const overhearRequest = (side, request, writer) => {
      witness(simulator, record, 'sideupdate', `${side}\n|request|${writer.of(request)}`);
      send[REQUEST](side, request, writer);
    };
    return Object.assign(overhear, { [REQUEST]: overhearRequest });
  }

  /**
   * @param {Simulator} simulator
   * @param {Opening} opening
   * @param {BattleRecord} record
   */
  static start(simulator, opening, record) {
    return new RoomGame(simulator, opening, record, RoomGame.#replayed(simulator, opening, [], 0));
  }

  /**
   * @param {Simulator} simulator
   * @param {Opening} opening
   * @param {[string, string, string][]} journal
   * @param {number} rqid where it must lead to
   */
  static #replayed(simulator, { format, seed, players }, journal, rqid) {
    const rooms = new Rooms(simulator);
    const command = { id: 1, op: 'open', room: TAG, format, seed, ...players, replay: journal, rqid, ask: true };
    rooms.run(command);
    const room = /** @type {import('../lib/room').Room} */ (rooms.rooms.get(TAG));
    return room;
  }

  /** @returns {any} */
  get battle() {
    return this.room.battle;
  }

  /** @returns {string[]} the sides that owe an answer */
  owing() {
    return SIDES.filter((id) => {
      const { question } = this.room.seats[id];
      return !question.answered && !JSON.parse(question.request).wait;
    });
  }

  /** @param {string} id */
  request(id) {
    return JSON.parse(this.#seat(id).question.request);
  }

  /** @param {string} id */
  #seat(id) {
    return this.room.seats[/** @type {import('../lib/room').SideId} */ (id)];
  }

  #tell() {
    this.record.add('frames', this.room.take().replace(/\|t:\|\d+/g, '|t:|'));
  }

  /**
   * @param {string} id
   * @param {string} choice
   * @returns {string} why not, or nothing
   */
  choose(id, choice) {
    const { question } = this.#seat(id);
    let refusal = '';
    try {
      this.room.choose(/** @type {any} */ (id), choice, question.rqid);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusal = `${error.code} ${error.message}`;
    }
    if (!refusal || this.#seat(id).question !== question) this.journal.push(['choose', id, choice]);
    this.#tell();
    return refusal;
  }

  /**
   * @param {string} id
   * @param {string} prank
   */
  prank(id, prank) {
    if (prank !== 'forfeit') return;
    this.room.apply({ op: 'forfeit', side: /** @type {any} */ (id) });
    this.journal.push(['forfeit', id, '']);
    this.#tell();
  }

  /** @returns {RoomGame | null} another in the same state, by a fork */
  copy() {
    checkpoint(this.battle, this.record);
    let room;
    try {
      room = this.room.fork('battle-identity-2');
    } catch (error) {
      this.record.add('states', `cannot be forked: ${error}`);
      return null;
    }
    return new RoomGame(this.simulator, this.opening, this.record, room);
  }

  /** @returns {RoomGame} another that came to where this one is, move by move */
  replay() {
    checkpoint(this.battle, this.record);
    const room = RoomGame.#replayed(this.simulator, this.opening, this.journal, this.room.rqid);
    checkpoint(room.battle, this.record);
    const game = new RoomGame(this.simulator, this.opening, this.record, room);
    game.journal = [...this.journal];
    return game;
  }

  destroy() {
    this.room.destroy();
  }
}

module.exports = { DirectGame, RoomGame, checkpoint, conclude };
