'use strict';
/**
 * What a side may do, from its request alone: a bit for each action that the simulator takes, and what it takes to say
 * an action in its words. Actions are numbered as in poke-env's SinglesEnv and DoublesEnv.
 */

const MOVES = 4;
/** Singles: six switches, then four moves in each way to use them. */
const FIRST_MOVE = 6;
/** Doubles: pass, six switches, then four moves with five targets each, in each way to use them. */
const PASS = 0;
const FIRST_SWITCH = 1;
const FIRST_AIMED = 7;
const TARGETS = 5;
/** A move that is not aimed stands in the middle of its targets, which go from -2 to 2. */
const NOWHERE = 2;
const MEGA = 1;
const Z_MOVE = 2;
const DYNAMAX = 3;
const TERA = 4;

const ALLY = 1;
const SELF = 2;
const FOES = 4;
/** At whom a move of each kind is aimed; all others are not aimed. @type {Record<string, number>} */
const AIMS = {
  adjacentAlly: ALLY,
  adjacentAllyOrSelf: ALLY | SELF,
  adjacentFoe: FOES,
  any: ALLY | FOES,
  normal: ALLY | FOES,
};

const PHASES = { wait: 0, move: 1, switch: 2, preview: 3 };

/**
 * @typedef {import('./roster').Roster} Roster
 * @typedef {import('./roster').Member} Member
 */

/** Writes the decision of one side: legal actions, and the positions that they stand for. */
class Decision {
  /**
   * @param {Uint8Array} bytes of an observation
   * @param {{slots: number, asked: number, states: number, stateFields: number, switches: number, moves: number,
   *   mask: number, maskBytes: number}} at where in it
   */
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
    this.isSingles = at.slots === 1;
  }

  /**
   * @param {Roster} roster
   * @param {number} turn
   * @param {number} foes how many Pokémon the other side can have on the field
   * @param {boolean} ended
   */
  write(roster, turn, foes, ended) {
    const { bytes, at } = this;
    const { request, members } = roster;
    const phase = phaseOf(request, ended);
    bytes[at.asked] = phase;
    bytes[at.asked + 1] = Math.min(turn, 255);
    if (phase === PHASES.wait) return;
    for (let i = 0; i < members.length && i < 6; i++) bytes[at.switches + i] = members[i].position;
    if (phase === PHASES.preview) this.#writePreview(roster);
    else if (phase === PHASES.switch) this.#writeForced(roster);
    else for (let slot = 0; slot < at.slots; slot++) this.#writeMoves(roster, slot, foes);
  }

  /**
   * @param {number} slot
   * @param {number} action
   */
  #allow(slot, action) {
    this.bytes[this.at.mask + slot * this.at.maskBytes + (action >> 3)] |= 1 << (action & 7);
  }

  /** @param {Roster} roster */
  #writePreview({ request, members }) {
    const { bytes, at } = this;
    const size = members.length;
    bytes[at.asked + 2] = Math.min(request.maxChosenTeamSize ?? size, size);
    for (let slot = 0; slot < at.slots; slot++) {
      for (let i = 0; i < size && i < 6; i++) this.#allow(slot, this.isSingles ? i : FIRST_SWITCH + i);
    }
  }

  /** @param {Roster} roster */
  #writeForced(roster) {
    const { bytes, at } = this;
    const forced = roster.request.forceSwitch;
    const bench = countBench(roster);
    const reviver = roster.order.findIndex((member, index) => index < at.slots && member.reviving && forced[index]);
    bytes[at.asked + 3] = reviver >= 0 ? 1 : 0;
    const both = forced.length > 1 && forced[0] && forced[1];
    for (let slot = 0; slot < at.slots; slot++) {
      bytes[at.states + slot * at.stateFields] = forced[slot] ? 1 : 0;
      if (!forced[slot]) {
        if (!this.isSingles) this.#allow(slot, PASS);
        continue;
      }
      // The simulator counts a revival among the switches: the last Pokémon cannot come in after it.
      const isSpent = reviver >= 0 && reviver < slot && bench === 1;
      const options = isSpent ? 0 : this.#allowSwitches(roster, slot, slot === reviver);
      if (!this.isSingles && (!options || (both && reviver < 0 && bench === 1))) this.#allow(slot, PASS);
    }
  }

  /**
   * @param {Roster} roster
   * @param {number} slot
   * @param {boolean} fainted whether those are meant that have fainted
   * @returns {number} how many there are
   */
  #allowSwitches({ members }, slot, fainted) {
    const first = this.isSingles ? 0 : FIRST_SWITCH;
    let count = 0;
    for (let i = 0; i < members.length && i < 6; i++) {
      const member = members[i];
      if (!member.position || (fainted ? member.hp > 0 : member.isActive || member.hp === 0)) continue;
      this.#allow(slot, first + i);
      count++;
    }
    return count;
  }

  /**
   * @param {Roster} roster
   * @param {number} slot
   * @param {number} foes
   */
  #writeMoves(roster, slot, foes) {
    const { bytes, at } = this;
    const active = roster.request.active[slot];
    const member = roster.order[slot];
    if (!active || !member || member.hp === 0 || member.commanding) {
      if (!this.isSingles) this.#allow(slot, PASS);
      return;
    }
    const state = at.states + slot * at.stateFields;
    bytes[state + 1] = active.trapped ? 1 : 0;
    bytes[state + 2] = active.maybeTrapped ? 1 : 0;
    bytes[state + 3] = active.maybeLocked || active.maybeDisabled ? 1 : 0;
    bytes[state + 4] = active.canMegaEvo ? 1 : 0;
    bytes[state + 5] = active.canZMove ? 1 : 0;
    bytes[state + 6] = active.canDynamax ? 1 : 0;
    bytes[state + 7] = active.canTerastallize ? 1 : 0;
    const { moves } = active;
    const isOnly = moves.length === 1;
    for (let i = 0; i < moves.length; i++) {
      let index = indexOf(member, moves[i].id, i);
      // A move that it does not have: Struggle, a recharge, one that another move called.
      if (index < 0 && isOnly) index = 0;
      if (index < 0 || index >= MOVES) continue;
      bytes[at.moves + slot * MOVES + index] = i + 1;
      if (moves[i].disabled) continue;
      if (this.isSingles) this.#allowMove(active, i, index);
      else this.#allowAimed(active, i, index, slot, foes, roster.order.length);
    }
    if (!active.trapped) this.#allowSwitches(roster, slot, false);
  }

  /**
   * @param {any} active
   * @param {number} i which move it is in the request
   * @param {number} index which one it is of the Pokémon
   */
  #allowMove(active, i, index) {
    const action = FIRST_MOVE + index;
    this.#allow(0, action);
    if (active.canMegaEvo) this.#allow(0, action + MOVES * MEGA);
    if (active.canZMove?.[i]) this.#allow(0, action + MOVES * Z_MOVE);
    if (active.canDynamax && isMaxMove(active, i)) this.#allow(0, action + MOVES * DYNAMAX);
    if (active.canTerastallize) this.#allow(0, action + MOVES * TERA);
  }

  /**
   * @param {any} active
   * @param {number} i
   * @param {number} index
   * @param {number} slot
   * @param {number} foes
   * @param {number} own
   */
  #allowAimed(active, i, index, slot, foes, own) {
    const max = active.maxMoves?.maxMoves?.[i];
    const target = max && !active.canDynamax ? max.target : active.moves[i].target;
    const ways = MOVES * TARGETS;
    const action = FIRST_AIMED + index * TARGETS;
    this.#allowTargets(slot, action, target, foes, own);
    if (active.canMegaEvo) this.#allowTargets(slot, action + ways * MEGA, target, foes, own);
    if (active.canTerastallize) this.#allowTargets(slot, action + ways * TERA, target, foes, own);
    const z = active.canZMove?.[i];
    if (z) this.#allowTargets(slot, action + ways * Z_MOVE, z.target, foes, own);
    if (active.canDynamax && isMaxMove(active, i)) {
      this.#allowTargets(slot, action + ways * DYNAMAX, max.target, foes, own);
    }
  }

  /**
   * @param {number} slot
   * @param {number} action with its first target
   * @param {string | undefined} target
   * @param {number} foes
   * @param {number} own
   */
  #allowTargets(slot, action, target, foes, own) {
    const aims = (target !== undefined && AIMS[target]) || 0;
    if (!aims) {
      this.#allow(slot, action + NOWHERE);
      return;
    }
    if (aims & ALLY && own > 1) this.#allow(slot, action + NOWHERE - (2 - slot));
    if (aims & SELF) this.#allow(slot, action + NOWHERE - (slot + 1));
    if (aims & FOES) for (let foe = 1; foe <= foes; foe++) this.#allow(slot, action + NOWHERE + foe);
  }
}

/**
 * @param {any} request
 * @param {boolean} ended
 */
function phaseOf(request, ended) {
  if (!request || request.wait || ended) return PHASES.wait;
  if (request.teamPreview) return PHASES.preview;
  return request.forceSwitch ? PHASES.switch : PHASES.move;
}

/** @param {Roster} roster */
function countBench({ order }) {
  let count = 0;
  for (let i = 0; i < order.length; i++) if (!order[i].isActive && order[i].hp > 0) count++;
  return count;
}

/**
 * @param {any} active
 * @param {number} i
 */
function isMaxMove(active, i) {
  const max = active.maxMoves?.maxMoves?.[i];
  return Boolean(max) && !max.disabled;
}

/**
 * @param {Member} member
 * @param {string} id of a move in the active part of a request, which calls all kinds of Hidden Power the same
 * @param {number} guess where it may be
 * @returns {number} which of the Pokémon's moves it is, or -1
 */
function indexOf({ moveNames }, id, guess) {
  if (moveNames[guess] === id) return guess;
  const exact = moveNames.indexOf(id);
  if (exact >= 0 || !isPowered(id)) return exact;
  return moveNames.findIndex((name) => name.startsWith(id));
}

/** @param {string} id */
function isPowered(id) {
  return id === 'hiddenpower' || id === 'return' || id === 'frustration';
}

module.exports = { Decision, PHASES, indexOf };
