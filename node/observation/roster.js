'use strict';
/**
 * What a side knows of its own team, from its requests: who is in it, in the order in which actions name them, and the
 * PP of their moves. Requests only list the PP of Pokémon that choose a move; in between, the log is counted.
 */

const { hpOf, statusOf } = require('./lines');
const { NONE, abilityNumber, asLogged, itemNumber, moveNumber, names, readDetails } = require('./numbers');

/** @typedef {import('./tracker').Tracker} Tracker */

const { statuses: STATUSES, types: TYPES } = names;
const HEALTHY = /** @type {number} */ (STATUSES.get('none'));
const FAINTED = /** @type {number} */ (STATUSES.get('fnt'));
const STATS = /** @type {const} */ (['atk', 'def', 'spa', 'spd', 'spe']);
const MOVES = 4;

/** A move that a Pokémon has by itself, and what is left of it. */
class KnownMove {
  /** @param {number} move */
  constructor(move) {
    this.move = move;
    this.pp = 0;
    this.most = 0;
    /** How often the log had it when `pp` was right. */
    this.used = 0;
  }
}

/** One of the side's own Pokémon. */
class Member {
  /** @param {{ident: string}} entry of a request */
  constructor(entry) {
    this.ident = /** @type {string} */ (entry.ident);
    this.name = this.ident.slice(4);
    this.details = '';
    this.species = 0;
    this.level = 0;
    this.gender = 0;
    this.ability = 0;
    /** Whether it is the one that it has now: before generation 7, requests only name the one that it came with. */
    this.isAbilityCurrent = false;
    this.item = 0;
    this.teraType = NONE;
    this.terastallized = 0;
    this.hp = 0;
    this.status = HEALTHY;
    this.commanding = false;
    this.reviving = false;
    /** Maximal HP, and the other stats. */
    this.stats = [0, 0, 0, 0, 0, 0];
    /** Where it stands in the current request, counted from 1; 0 if it was not brought along. */
    this.position = 0;
    this.isActive = false;
    /** Moves as they are now, four at most, and their names in requests. @type {number[]} */
    this.moves = [];
    /** @type {string[]} */
    this.moveNames = [];
    /** @type {KnownMove[]} */
    this.known = [];
    /** As whom the log had it while it stood on the field. @type {import('./tracker').TrackedPokemon | null} */
    this.seenAs = null;
  }

  /**
   * @param {any} entry of a request
   * @param {number} position
   */
  read(entry, position) {
    this.position = position;
    this.isActive = entry.active;
    if (entry.details !== this.details) this.#readDetails(entry.details);
    this.#readCondition(entry.condition);
    this.ability = abilityNumber(entry.ability ?? entry.baseAbility);
    this.isAbilityCurrent = entry.ability !== undefined;
    this.item = itemNumber(entry.item);
    if (entry.teraType) this.teraType = TYPES.get(entry.teraType) ?? 0;
    this.terastallized = entry.terastallized ? 1 : 0;
    this.commanding = entry.commanding === true;
    this.reviving = entry.reviving === true;
    const { stats } = entry;
    for (let i = 0; i < STATS.length; i++) this.stats[i + 1] = stats[STATS[i]];
    this.#readMoves(entry.moves);
  }

  /** @param {string} details */
  #readDetails(details) {
    const { species, level, gender } = readDetails(details);
    this.details = details;
    this.species = species;
    this.level = level;
    this.gender = gender;
  }

  /** @param {string} condition such as `113/301 par` or `0 fnt` */
  #readCondition(condition) {
    const slash = condition.indexOf('/');
    if (slash < 0) {
      this.hp = 0;
      this.status = FAINTED;
      return;
    }
    const status = statusOf(condition);
    this.stats[0] = parseInt(condition.slice(slash + 1), 10);
    this.hp = hpOf(condition);
    this.status = status ? (STATUSES.get(status) ?? 0) : HEALTHY;
  }

  /** @param {string[]} names */
  #readMoves(names) {
    const count = Math.min(names.length, MOVES);
    let same = count === this.moveNames.length;
    for (let i = 0; same && i < count; i++) same = names[i] === this.moveNames[i];
    if (same) return;
    this.moveNames = names.slice(0, count);
    this.moves = this.moveNames.map(moveNumber);
  }

  /**
   * @param {number} move
   * @returns {KnownMove | undefined}
   */
  find(move) {
    const { known } = this;
    for (let i = 0; i < known.length; i++) if (known[i].move === move) return known[i];
    return undefined;
  }

  /** Takes off the PP that the log has seen it use since they were last known. */
  count() {
    if (!this.seenAs) return;
    for (const known of this.known) {
      const used = usedOf(this.seenAs, known.move);
      known.pp = Math.max(0, known.pp - Math.max(0, used - known.used));
      known.used = used;
    }
  }

  /**
   * Takes over the PP that a request shows.
   * @param {any[]} moves of its part of the request
   */
  learn(moves) {
    for (let i = 0; i < moves.length; i++) {
      const { id, pp, maxpp } = moves[i];
      if (pp === undefined) continue;
      const move = this.#ownMove(id, i);
      let known = this.find(move);
      if (!known) {
        known = new KnownMove(move);
        this.known.push(known);
      }
      known.pp = pp;
      known.most = maxpp;
      known.used = this.seenAs ? usedOf(this.seenAs, move) : 0;
    }
  }

  /**
   * The active part calls all kinds of Hidden Power the same.
   * @param {string} id
   * @param {number} index
   */
  #ownMove(id, index) {
    return index < this.moves.length && this.moveNames[index].startsWith(id) ? this.moves[index] : moveNumber(id);
  }

  /** @returns {Member} one that shares nothing with this */
  copy() {
    const copy = Object.assign(new Member(this), this);
    copy.stats = [...this.stats];
    copy.known = this.known.map((known) => Object.assign(new KnownMove(known.move), known));
    return copy;
  }
}

/**
 * @param {import('./tracker').TrackedPokemon} seen
 * @param {number} move
 */
function usedOf(seen, move) {
  const index = seen.moves.indexOf(asLogged(move));
  return index < 0 ? 0 : seen.used[index];
}

/**
 * @param {import('./tracker').TrackedSide} side
 * @param {Member} member
 * @returns {import('./tracker').TrackedPokemon | null} as whom everybody knows one of the side's Pokémon
 */
function publicOf({ pokemon }, member) {
  let found = null;
  for (let i = 0; i < pokemon.length; i++) {
    if (pokemon[i].name !== member.name) continue;
    if (pokemon[i].species === member.species) return pokemon[i];
    found ??= pokemon[i];
  }
  return found;
}

class Roster {
  constructor() {
    /** In the order of the first request. @type {Member[]} */
    this.members = [];
    /** As in the current request. @type {Member[]} */
    this.order = [];
    /** @type {any} */
    this.request = null;
    /** What everybody knew of the side's Pokémon when that came, in the order of the log. @type {number[]} */
    this.notedHp = [];
    /** @type {number[]} */
    this.notedStatus = [];
  }

  /**
   * @param {any} request
   * @param {import('./tracker').TrackedSide} seen what everybody knows of this side
   * @param {number} transform the number of the volatile
   */
  read(request, seen, transform) {
    const entries = request.side.pokemon;
    for (const member of this.members) {
      if (member.seenAs) member.count();
      member.position = 0;
      member.isActive = false;
    }
    this.request = request;
    this.order.length = 0;
    for (let i = 0; i < entries.length; i++) {
      const member = this.#memberOf(entries[i]);
      member.read(entries[i], i + 1);
      // Before the battle, requests call those active that stand first.
      if (request.teamPreview) member.isActive = false;
      this.order.push(member);
    }
    for (const member of this.members) if (!member.isActive) member.seenAs = null;
    this.#readActive(request.active, seen, transform);
    for (let i = 0; i < seen.pokemon.length; i++) {
      this.notedHp[i] = seen.pokemon[i].hp;
      this.notedStatus[i] = seen.pokemon[i].status;
    }
  }

  /**
   * How one of the side's Pokémon was in the end. The last request was before that: what everybody has seen change since
   * then is newer.
   * @param {Member} member
   * @param {import('./tracker').TrackedSide} seen
   * @returns {{hp: number, status: number}}
   */
  lastOf(member, seen) {
    const { seenAs } = member;
    const isStill = seenAs !== null && (seenAs.fainted || seen.slots.some(({ pokemon }) => pokemon === seenAs));
    const known = isStill ? seenAs : publicOf(seen, member);
    // What happens to one that is somebody else in disguise does not happen to it.
    if (!known || this.members.some((other) => other !== member && other.seenAs === known)) return member;
    const at = seen.pokemon.indexOf(known);
    return known.hp === this.notedHp[at] && known.status === this.notedStatus[at] ? member : known;
  }

  /**
   * @param {any[] | undefined} active
   * @param {import('./tracker').TrackedSide} seen
   * @param {number} transform
   */
  #readActive(active, seen, transform) {
    for (let slot = 0; slot < seen.slots.length; slot++) {
      const member = this.order[slot];
      if (!member?.isActive) continue;
      const { pokemon, volatiles } = seen.slots[slot];
      if (pokemon !== member.seenAs) {
        member.seenAs = pokemon;
        if (pokemon) for (const known of member.known) known.used = usedOf(pokemon, known.move);
      }
      // A copied move has PP of its own, which are forgotten with it.
      if (active?.[slot] && !volatiles[transform]) member.learn(active[slot].moves);
    }
  }

  /**
   * Who an entry is: by its name, then by its details where several have the same.
   * @param {any} entry
   * @returns {Member}
   */
  #memberOf(entry) {
    let found = null;
    for (const member of this.members) {
      if (member.ident !== entry.ident || member.position) continue;
      if (member.details === entry.details) return member;
      found ??= member;
    }
    if (found) return found;
    const member = new Member(entry);
    this.members.push(member);
    return member;
  }

  /**
   * @param {(pokemon: import('./tracker').TrackedPokemon) => import('./tracker').TrackedPokemon | null} seenAs who a
   *   Pokémon of the log is in a copy of it
   * @returns {Roster} one that shares nothing with this, not even the request, which the simulator may add to and send again
   */
  copy(seenAs) {
    const copy = new Roster();
    const twins = new Map(this.members.map((member) => [member, member.copy()]));
    copy.members = [...twins.values()];
    for (const member of copy.members) member.seenAs = member.seenAs && seenAs(member.seenAs);
    copy.order = this.order.map((member) => /** @type {Member} */ (twins.get(member)));
    copy.request = structuredClone(this.request);
    copy.notedHp = [...this.notedHp];
    copy.notedStatus = [...this.notedStatus];
    return copy;
  }
}

module.exports = { FAINTED, HEALTHY, Member, Roster, publicOf };
