'use strict';
/**
 * Writes what one side may know as the bytes that spec.json describes: what the log has told everybody (a Tracker), and
 * what the side's own requests have told it (a Roster). It is given nothing else, and cannot reach anything else.
 */

const { Decision, PHASES } = require('./actions');
const { writeCalc } = require('./calc');
const { estimate, stabOf, typesOf } = require('./damage');
const { NONE, UNKNOWN, asLogged, names, spec } = require('./numbers');
const { publicOf } = require('./roster');
const { blockOf } = require('./spec');

/**
 * @typedef {import('./spec').Layout} Layout
 * @typedef {import('./spec').Tables} Tables
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracker').TrackedSide} TrackedSide
 * @typedef {import('./tracker').TrackedPokemon} TrackedPokemon
 * @typedef {import('./tracker').Slot} Slot
 * @typedef {import('./roster').Roster} Roster
 * @typedef {import('./roster').Member} Member
 * @typedef {{tracker: Tracker, own: TrackedSide, foe: TrackedSide, roster: Roster, tables: Tables}} Scene
 */

const TEAM = spec.team;
const MOVES = spec.moves;
const { pp: PP } = names.columns;
const { transform: TRANSFORM, typechange: TYPE_CHANGE } = names.volatiles;

class Encoder {
  /**
   * @param {'singles' | 'doubles'} game
   * @param {readonly string[]} groups what to write; the rest stays zero
   */
  constructor(game, groups) {
    const layout = spec.layouts[game];
    const optional = spec.groups.optional.some((group) => groups.includes(group));
    this.slots = layout.slots;
    this.buffer = Buffer.alloc(optional ? layout.bytes_with_all : layout.bytes);
    /** All wide numbers come before all bytes. */
    this.wide = new Uint16Array(this.buffer.buffer, this.buffer.byteOffset, this.buffer.length >> 1);
    const at = (/** @type {string} */ group, /** @type {string} */ name) => blockOf(layout, group, name).offset;
    const wideAt = (/** @type {string} */ group, /** @type {string} */ name) => at(group, name) / 2;
    this.at = {
      ownWho: wideAt('own_team', 'who'),
      ownStats: wideAt('own_team', 'stats'),
      ownCondition: at('own_team', 'condition'),
      ownMoves: wideAt('own_moves', 'which'),
      ownMoveState: at('own_moves', 'state'),
      foeWho: wideAt('opponent_team', 'who'),
      foeCondition: at('opponent_team', 'condition'),
      foeMoves: wideAt('opponent_moves', 'which'),
      foeMoveState: at('opponent_moves', 'state'),
      activeWho: wideAt('actives', 'who'),
      activeState: at('actives', 'state'),
      activeVolatiles: at('actives', 'volatiles'),
      lastMoves: wideAt('last_moves', 'which'),
      lastStates: at('last_moves', 'state'),
      asked: at('decision', 'asked'),
      conditions: at('sides', 'conditions'),
      sides: at('sides', 'state'),
      field: at('field', 'state'),
      ownDamage: at('damage', 'own'),
      foeDamage: at('damage', 'opponent'),
      ownCalc: at('calc', 'own'),
      foeCalc: at('calc', 'opponent'),
    };
    this.width = {
      condition: blockOf(layout, 'own_team', 'condition').fields.length,
      active: blockOf(layout, 'actives', 'state').fields.length,
      volatiles: blockOf(layout, 'actives', 'volatiles').fields.length,
      conditions: blockOf(layout, 'sides', 'conditions').fields.length,
      sides: blockOf(layout, 'sides', 'state').fields.length,
    };
    const mask = blockOf(layout, 'decision', 'mask');
    this.decision = new Decision(this.buffer, {
      slots: layout.slots,
      asked: this.at.asked,
      states: at('decision', 'slots'),
      stateFields: blockOf(layout, 'decision', 'slots').fields.length,
      switches: at('decision', 'switches'),
      moves: at('decision', 'moves'),
      mask: mask.offset,
      maskBytes: mask.count / layout.slots,
    });
    this.writers = WRITERS.filter(([group]) => groups.includes(group)).map(([, write]) => write);
  }

  /**
   * @param {Scene} scene
   * @returns {string} the observation as base64
   */
  encode(scene) {
    const { buffer, writers } = this;
    const { tracker, foe, roster } = scene;
    buffer.fill(0);
    this.decision.write(roster, tracker.turn, Math.min(this.slots, foe.size || this.slots), tracker.ended);
    for (let i = 0; i < writers.length; i++) writers[i](this, scene);
    return buffer.toString('base64');
  }
}

/** What writes each group. @type {[string, (encoder: Encoder, scene: Scene) => void][]} */
const WRITERS = [
  ['own_team', writeOwnTeam],
  ['own_moves', writeOwnMoves],
  ['opponent_team', writeFoeTeam],
  ['opponent_moves', writeFoeMoves],
  ['actives', writeActives],
  ['last_moves', writeLastMoves],
  ['sides', writeSides],
  ['field', writeField],
  ['damage', writeDamage],
  ['calc', writeCalc],
];

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeOwnTeam({ buffer, wide, at, width }, { tracker, own, roster }) {
  for (let i = 0; i < TEAM; i++) {
    const member = roster.members[i];
    const who = at.ownWho + 3 * i;
    if (!member) {
      wide[who] = wide[who + 1] = wide[who + 2] = NONE;
      continue;
    }
    wide[who] = member.species;
    wide[who + 1] = member.ability;
    wide[who + 2] = member.item;
    const stats = at.ownStats + 6 * i;
    for (let stat = 0; stat < 6; stat++) wide[stats + stat] = member.stats[stat];
    const seen = publicOf(own, member);
    const now = tracker.ended ? roster.lastOf(member, own) : member;
    const condition = at.ownCondition + width.condition * i;
    buffer[condition] = now.hp;
    buffer[condition + 1] = now.status;
    buffer[condition + 2] = seen ? Math.min(seen.statusTurns, 255) : 0;
    buffer[condition + 3] = Math.min(member.level, 255);
    buffer[condition + 4] = member.gender;
    buffer[condition + 5] = member.isActive && member.hp ? member.position : 0;
    buffer[condition + 6] = member.teraType;
    buffer[condition + 7] = member.terastallized;
    buffer[condition + 8] = seen?.revealed ? 1 : 0;
  }
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeOwnMoves({ buffer, wide, at, slots }, { own, roster }) {
  const { active } = roster.request;
  for (let i = 0; i < TEAM; i++) {
    const member = roster.members[i];
    const first = at.ownMoves + MOVES * i;
    if (!member) {
      for (let j = 0; j < MOVES; j++) wide[first + j] = NONE;
      continue;
    }
    const seen = publicOf(own, member);
    const slot = member.isActive && member.position <= slots ? member.position - 1 : -1;
    const asked = slot >= 0 && active?.[slot]?.moves;
    for (let j = 0; j < MOVES; j++) {
      const move = member.moves[j] ?? NONE;
      wide[first + j] = move;
      if (move === NONE) continue;
      const state = at.ownMoveState + 3 * (MOVES * i + j);
      const listed = asked && asked.length === member.moves.length ? asked[j] : undefined;
      buffer[state] = listed?.pp === undefined ? rememberedPp(member, move) : portion(listed.pp, listed.maxpp);
      buffer[state + 1] = listed?.disabled ? 1 : 0;
      buffer[state + 2] = seen?.moves.includes(asLogged(move)) ? 1 : 0;
    }
  }
}

/**
 * @param {Member} member
 * @param {number} move
 */
function rememberedPp(member, move) {
  const known = member.find(move);
  return known ? portion(known.pp, known.most) : 255;
}

/**
 * @param {number} part
 * @param {number} whole
 */
function portion(part, whole) {
  return whole > 0 ? Math.min(255, Math.round((255 * part) / whole)) : 0;
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeFoeTeam({ buffer, wide, at, width }, { foe }) {
  for (let i = 0; i < TEAM; i++) {
    const who = at.foeWho + 3 * i;
    const pokemon = foe.pokemon[i];
    if (!pokemon) {
      const absent = foe.size && i >= foe.size ? NONE : UNKNOWN;
      wide[who] = wide[who + 1] = wide[who + 2] = absent;
      continue;
    }
    wide[who] = pokemon.species;
    wide[who + 1] = pokemon.ability;
    wide[who + 2] = pokemon.item;
    const condition = at.foeCondition + width.condition * i;
    buffer[condition] = pokemon.hp;
    buffer[condition + 1] = pokemon.status;
    buffer[condition + 2] = Math.min(pokemon.statusTurns, 255);
    buffer[condition + 3] = Math.min(pokemon.level, 255);
    buffer[condition + 4] = pokemon.gender;
    buffer[condition + 5] = pokemon.fainted ? 0 : pokemon.slot;
    buffer[condition + 6] = pokemon.teraType;
    buffer[condition + 7] = pokemon.terastallized;
    buffer[condition + 8] = pokemon.revealed ? 1 : 0;
  }
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeFoeMoves({ buffer, wide, at }, { foe, tables }) {
  for (let i = 0; i < TEAM; i++) {
    const pokemon = foe.pokemon[i];
    const first = MOVES * i;
    if (!pokemon) {
      if (foe.size && i >= foe.size) for (let j = 0; j < MOVES; j++) wide[at.foeMoves + first + j] = NONE;
      continue;
    }
    const { moves, used } = pokemon;
    for (let j = 0; j < MOVES && j < moves.length; j++) {
      wide[at.foeMoves + first + j] = moves[j];
      const most = tables.moves[moves[j]]?.[PP] ?? 0;
      buffer[at.foeMoveState + first + j] = portion(Math.max(0, most - used[j]), most);
    }
  }
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeActives(encoder, scene) {
  const { slots } = encoder;
  const { own, foe, roster, tables } = scene;
  for (let slot = 0; slot < slots; slot++) {
    const member = roster.order[slot];
    const place = own.slots[slot];
    const isThere = Boolean(member?.isActive && member.hp > 0 && place.pokemon && !place.pokemon.fainted);
    const isDisguised = isThere && place.pokemon?.name !== member.name;
    writeActive(encoder, slot, place, isThere);
    if (isThere) {
      const who = encoder.at.activeWho + 2 * slot;
      if (member.isAbilityCurrent || !place.abilityChanged) encoder.wide[who + 1] = member.ability;
      if (isDisguised) writeUndisguised(encoder, slot, member, place, tables);
    }
    const theirs = foe.slots[slot];
    writeActive(encoder, slots + slot, theirs, Boolean(theirs.pokemon && !theirs.pokemon.fainted));
  }
}

/**
 * @param {Encoder} encoder
 * @param {number} index
 * @param {Slot} place
 * @param {boolean} isThere
 */
function writeActive({ buffer, wide, at, width }, index, place, isThere) {
  const who = at.activeWho + 2 * index;
  const state = at.activeState + width.active * index;
  if (!isThere) {
    wide[who] = NONE;
    for (let i = 0; i < 7; i++) buffer[state + i] = 6;
    return;
  }
  wide[who] = place.species;
  wide[who + 1] = place.ability;
  for (let i = 0; i < 7; i++) buffer[state + i] = place.boosts[i] + 6;
  for (let i = 0; i < 3; i++) buffer[state + 7 + i] = place.types[i];
  buffer[state + 10] = Math.min(place.turns, 255);
  buffer[state + 11] = Math.min(place.protects, 255);
  buffer[state + 12] = place.stockpiles;
  buffer.set(place.volatiles, at.activeVolatiles + width.volatiles * index);
}

/**
 * @param {Slot} place
 * @returns {boolean} whether its types were changed, and not just shown to be those of the one it looks like
 */
function hasOtherTypes(place) {
  return place.volatiles[TYPE_CHANGE] === 1 && !place.typesShown;
}

/**
 * A Pokémon that everybody takes for another one is itself to its own side.
 * @param {Encoder} encoder
 * @param {number} slot
 * @param {Member} member
 * @param {Slot} place
 * @param {Tables} tables
 */
function writeUndisguised({ buffer, wide, at, width }, slot, member, place, tables) {
  if (place.volatiles[TRANSFORM]) return;
  wide[at.activeWho + 2 * slot] = member.species;
  if (hasOtherTypes(place)) return;
  const [first, second] = member.terastallized ? [member.teraType, NONE] : typesOf(tables, member.species);
  const state = at.activeState + width.active * slot + 7;
  buffer[state] = first;
  buffer[state + 1] = second;
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeLastMoves({ buffer, wide, at, slots }, { tracker, own, foe }) {
  // Who is asked for a move is so at the beginning of a turn, when nobody has moved in it.
  const turn = buffer[at.asked] === PHASES.move ? tracker.turn - 1 : tracker.turn;
  for (let slot = 0; slot < slots; slot++) {
    const ours = own.slots[slot];
    const theirs = foe.slots[slot];
    wide[at.lastMoves + slot] = ours.lastMove;
    wide[at.lastMoves + slots + slot] = theirs.lastMove;
    buffer[at.lastStates + slot] = ours.failedIn === turn ? 1 : 0;
    buffer[at.lastStates + slots + slot] = theirs.failedIn === turn ? 1 : 0;
  }
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeSides({ buffer, at, width }, { tracker, own, foe }) {
  for (let i = 0; i < 2; i++) {
    const side = i ? foe : own;
    const { hazards, screens } = side.conditions;
    let next = at.conditions + width.conditions * i;
    for (let j = 0; j < hazards.length; j++) buffer[next++] = hazards[j];
    for (let j = 0; j < screens.length; j++) buffer[next++] = stood(tracker.turn, screens[j]);
    const state = at.sides + width.sides * i;
    buffer[state] = side.size;
    buffer[state + 1] = side.left;
    buffer[state + 2] = side.usedMega;
    buffer[state + 3] = side.usedZ;
    buffer[state + 4] = side.usedDynamax;
    buffer[state + 5] = side.usedTera;
  }
}

/**
 * @param {number} turn
 * @param {number} since the turn in which something began, or less than 0
 * @returns {number} for how many turns it has stood, the current one included
 */
function stood(turn, since) {
  return since < 0 ? 0 : Math.min(255, Math.max(1, turn - since));
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeField({ buffer, at }, { tracker }) {
  const { turn, weather, weatherSince, terrain, terrainSince, fields } = tracker;
  buffer[at.field] = weather;
  buffer[at.field + 1] = weather ? stood(turn, weatherSince) : 0;
  buffer[at.field + 2] = terrain;
  buffer[at.field + 3] = terrain ? stood(turn, terrainSince) : 0;
  for (let i = 0; i < fields.length; i++) buffer[at.field + 4 + i] = stood(turn, fields[i]);
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 */
function writeDamage(encoder, scene) {
  const { slots, at } = encoder;
  const { own, foe, roster, tables } = scene;
  const { members } = roster;
  for (let target = 0; target < slots; target++) {
    const theirs = foe.slots[target];
    if (!theirs.pokemon || theirs.pokemon.fainted) continue;
    for (let i = 0; i < members.length && i < TEAM; i++) {
      const member = members[i];
      if (!member.hp) continue;
      const born = typesOf(tables, member.species);
      const types = typesNow(encoder, own, member, born);
      for (let j = 0; j < member.moves.length; j++) {
        const move = member.moves[j];
        encoder.buffer[at.ownDamage + (MOVES * i + j) * slots + target] = estimate(
          tables, move, stabOf(tables, move, types, member.terastallized ? born : null), theirs.types,
        );
      }
    }
    writeTheirDamage(encoder, scene, target);
  }
}

/**
 * @param {Encoder} encoder
 * @param {TrackedSide} own
 * @param {Member} member
 * @param {readonly number[]} born
 * @returns {readonly number[]}
 */
function typesNow({ slots }, own, member, born) {
  if (member.isActive && member.position <= slots) {
    const place = own.slots[member.position - 1];
    if (place.pokemon?.name === member.name || hasOtherTypes(place)) return place.types;
  }
  return member.terastallized ? [member.teraType, NONE] : born;
}

/**
 * @param {Encoder} encoder
 * @param {Scene} scene
 * @param {number} slot of theirs
 */
function writeTheirDamage(encoder, { own, foe, roster, tables }, slot) {
  const { buffer, at } = encoder;
  const theirs = foe.slots[slot];
  const pokemon = /** @type {TrackedPokemon} */ (theirs.pokemon);
  const born = pokemon.terastallized ? typesOf(tables, pokemon.species) : null;
  for (let j = 0; j < MOVES && j < pokemon.moves.length; j++) {
    const move = pokemon.moves[j];
    const stab = stabOf(tables, move, theirs.types, born);
    const first = at.foeDamage + (MOVES * slot + j) * TEAM;
    for (let i = 0; i < roster.members.length && i < TEAM; i++) {
      const member = roster.members[i];
      if (!member.hp) continue;
      const types = typesNow(encoder, own, member, typesOf(tables, member.species));
      buffer[first + i] = estimate(tables, move, stab, types);
    }
  }
}

module.exports = { Encoder, TRANSFORM };
