'use strict';
/** Battles that are played elsewhere, as one of their players is shown them, and the commands that tell of them. */

const { requireFlag, requireGroups, requireText } = require('./fields');
const { Refusal } = require('./refusal');
const { Observer } = require('../observation/observer');
const { readSpec } = require('../observation/spec');
const { Viewpoint } = require('../observation/viewpoint');

/**
 * @typedef {import('../observation/observer').SideId} SideId
 * @typedef {{op?: unknown, [field: string]: unknown}} Command
 */

const LONGEST_TAG = 200;

/** One battle. Whose player it is shown to is known from the first request on; until then lines are kept. */
class ObservedBattle {
  /** @param {string[]} groups */
  constructor(groups) {
    this.groups = groups;
    /** @type {SideId | null} */
    this.side = null;
    /** @type {string[]} */
    this.unheard = [];
    /** @type {Observer | null} */
    this.observer = null;
    /** @type {Viewpoint | null} */
    this.viewpoint = null;
  }

  /** @param {string} line as the player is shown it */
  hear(line) {
    const { observer, viewpoint } = this;
    if (!observer || !viewpoint) this.unheard.push(line);
    else viewpoint.show(line, (shared) => observer.tracker.hear(shared));
  }

  /** @param {any} request that the player was sent */
  ask(request) {
    const side = request?.side?.id;
    if (side !== 'p1' && side !== 'p2') throw new Refusal('bad_field', 'a request does not say whose it is');
    if (!this.observer) this.#begin(side);
    if (side !== this.side) throw new Refusal('bad_field', `a request is for ${side}, and others were for ${this.side}`);
    this.observer?.ask(side, request);
  }

  /** @param {SideId} side */
  #begin(side) {
    this.side = side;
    this.viewpoint = new Viewpoint(side);
    this.observer = new Observer({ p1: null, p2: null, [side]: this.groups });
    const { unheard } = this;
    this.unheard = [];
    for (const line of unheard) this.hear(line);
  }

  /** @returns {string} the observation as base64 */
  encode() {
    if (!this.observer || !this.side) throw new Refusal('bad_field', 'nothing was asked that could be observed');
    return this.observer.encode(this.side);
  }
}

class ObservedBattles {
  constructor() {
    this.spec = readSpec();
    /** @type {Map<string, ObservedBattle>} */
    this.battles = new Map();
  }

  /**
   * Does what a command says. What it throws is about one battle: a `Refusal` if the command does not fit, and anything
   * else if the battle cannot be followed. One that was told something then is gone, and can be opened anew.
   * @param {Command} command
   * @returns {string} what it led to, as JSON members of a frame
   */
  run(command) {
    switch (command.op) {
      case 'open':
        return this.#open(command);
      case 'tell':
        return this.#tell(command);
      case 'close':
        this.battles.delete(requireText(command, 'room', LONGEST_TAG));
        return '';
      default:
        throw new Refusal('unknown_op', `there is no operation ${JSON.stringify(command.op)?.slice(0, 100)}`);
    }
  }

  /** @param {Command} command */
  #open(command) {
    const room = requireText(command, 'room', LONGEST_TAG);
    if (this.battles.has(room)) throw new Refusal('room_exists', `there is a room ${room} already`);
    this.battles.set(room, new ObservedBattle(requireGroups(command.groups, this.spec.groups)));
    return '';
  }

  /**
   * Lines and requests, in the order in which the player was sent them, after which there may be something to decide.
   * @param {Command} command
   */
  #tell(command) {
    const room = requireText(command, 'room', LONGEST_TAG);
    const battle = this.battles.get(room);
    if (!battle) throw new Refusal('unknown_room', `there is no room ${room}`);
    const { events } = command;
    if (!Array.isArray(events)) throw new Refusal('bad_field', 'events is not a list of lines and requests');
    const observe = requireFlag(command, 'observe');
    try {
      for (const event of events) {
        if (typeof event === 'string') battle.hear(event);
        else battle.ask(event);
      }
      return observe ? `,"observation":"${battle.encode()}"` : '';
    } catch (error) {
      // It has heard a part of this, and nobody knows which.
      this.battles.delete(room);
      throw error;
    }
  }
}

module.exports = { ObservedBattles };
