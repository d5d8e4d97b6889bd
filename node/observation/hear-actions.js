'use strict';
/** Lines that tell what Pokémon do: moves, what they cost, and what keeps them from moving. */

const { creditSource, showAbility } = require('./hear-possessions');
const { sideOf } = require('./lines');
const { NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./lines').Line} Line
 * @typedef {import('./names').Effect} Effect
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-side').Slot} Slot
 */

const PRESSURE_SINCE = 3;
/** Moves of which every foe is a target. */
const WIDE = ['all', 'allAdjacent', 'allAdjacentFoes'];
/** Moves of which one Pokémon is the target, often a foe. */
const AIMED = ['normal', 'any', 'adjacentFoe', 'randomNormal', 'scripted'];
const PLEDGES = ['firepledge', 'grasspledge', 'waterpledge'];

/** @type {Hear} */
function hearMove(tracker, line) {
  const ident = line.part(1);
  const slot = tracker.slot(ident);
  if (!slot?.pokemon) return;
  const { names } = tracker;
  const { volatiles } = names;
  const shown = line.part(2);
  const isStatusZ = slot.zPowered && shown.startsWith('Z-');
  const move = names.look('moves', isStatusZ ? shown.slice(2) : shown);
  const from = line.fromPart ? tracker.effect(line.from) : null;
  const wasPreparing = slot.volatiles[volatiles.preparing] === 1;
  tracker.actions++;
  tracker.mover = slot;
  tracker.target = tracker.aim(line.plain(3));
  const isChosen = isOwn(names.spec.tables.moves.names[move], from);
  // Who had called the move has chosen it; who dances along, or is told to, has not.
  if (isChosen) tracker.chooser = slot;
  else if (tracker.chooser !== slot) tracker.chooser = null;
  slot.latest = move;
  slot.volatiles[volatiles.preparing] = 0;
  if (tracker.gen > 1) for (const volatile of volatiles.singleMove) slot.volatiles[volatile] = 0;
  if (from?.kind === 'ability') showAbility(tracker, ident, from.ability);
  if (move === UNKNOWN) return;
  if (isChosen) {
    slot.lastMove = move;
    if (!slot.stalled) {
      slot.streak = slot.protects;
      slot.protects = 0;
    }
  }
  if (tracker.gen === 1) hearOldMove(tracker, ident, slot, move, line);
  if (move === names.marking.minimize) slot.volatiles[volatiles.minimize] = 1;
  if (move === names.marking.defensecurl) slot.volatiles[volatiles.defensecurl] = 1;
  if (isBorrowed(tracker, slot, move, shown, isStatusZ)) return;
  const extra = tracker.gen < PRESSURE_SINCE ? 0 : pressureOn(tracker, ident, move, line);
  spend(tracker, slot, move, from, extra, wasPreparing);
  if (line.has('[miss]')) falter(tracker);
}

/**
 * Generation 1 does not say whom Rage and the moves that trap take hold of. A move that Mimic has given is paid for by it.
 * @param {Tracker} tracker
 * @param {string} ident
 * @param {Slot} slot
 * @param {number} move
 * @param {Line} line
 */
function hearOldMove(tracker, ident, slot, move, line) {
  const { marking, volatiles } = tracker.names;
  const foe = tracker.foes(ident)?.slots[0];
  const isHit = !line.has('[miss]');
  slot.volatiles[volatiles.partiallytrapped] = 0;
  slot.goingFor = move === marking.rage && line.fromPart ? 2 : 1;
  if (move !== marking.rage) slot.volatiles[volatiles.rage] = 0;
  else if (isHit) slot.volatiles[volatiles.rage] = 1;
  if (foe?.pokemon) {
    const { isPartialTrap } = tracker.effect(line.part(2));
    foe.volatiles[volatiles.partiallytrapped] = isPartialTrap && isHit ? 1 : 0;
    if (isPartialTrap) foe.volatiles[volatiles.mustrecharge] = 0;
  }
  if (move === slot.mimicked && move !== marking.struggle && !line.fromPart) slot.pokemon?.use(marking.mimic, 1);
}

/**
 * @param {string} move
 * @param {Effect | null} from
 * @returns {boolean} whether it chose the move itself, now or a turn ago
 */
function isOwn(move, from) {
  if (!from) return true;
  if (from.kind === 'ability') return false;
  if (from.kind === 'item') return true;
  return from.id === 'lockedmove' || from.id === move || (PLEDGES.includes(from.id) && PLEDGES.includes(move));
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number} move
 * @param {string} shown
 * @param {boolean} isStatusZ
 * @returns {boolean} whether the move is none of those that it brought, or not under its own name
 */
function isBorrowed({ names }, slot, move, shown, isStatusZ) {
  const { volatiles } = slot;
  if (volatiles[names.volatiles.transform] || volatiles[names.volatiles.dynamax]) return true;
  if (move === names.marking.struggle || move === slot.mimicked) return true;
  return (slot.zPowered && !isStatusZ) || shown.startsWith('Max ') || shown.startsWith('G-Max ');
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number} move
 * @param {Effect | null} from
 * @param {number} extra for Pressure
 * @param {boolean} wasPreparing
 */
function spend(tracker, slot, move, from, extra, wasPreparing) {
  const { gen, names } = tracker;
  const { pokemon } = slot;
  if (!pokemon) return;
  const isFree = gen === 2 && goesOn(slot, names.lasting.get(move) ?? 0, move, wasPreparing);
  if (!from) {
    if (!isFree) pokemon.use(move, 1 + extra);
    return;
  }
  if (from.kind === 'ability') return;
  if (from.id === 'lockedmove') {
    if (wasPreparing && tracker.game !== 'singles') payForAim(tracker, slot, move);
    return;
  }
  if (isOwn(names.spec.tables.moves.names[move], from)) {
    // In generation 1 a move that goes on names itself, and one that takes two turns is paid for in the second.
    if (gen > 1) pokemon.use(move, from.kind === 'move' ? 1 + extra : 1);
    else if (wasPreparing && slot.payer !== UNKNOWN) pokemon.use(slot.payer, 1);
    return;
  }
  if (from.id === 'sleeptalk') pokemon.use(move, 0);
  if (extra && from.kind === 'move' && pokemon.knows(from.move)) pokemon.use(from.move, extra);
}

/**
 * Where there are several targets, only the second turn of a move says which of them it was aimed at in the first.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number} move
 */
function payForAim({ sides, target }, slot, move) {
  const foes = sides.p1.slots.includes(slot) ? sides.p2.slots : sides.p1.slots;
  const place = target ? foes.indexOf(target) : -1;
  if (place >= 0 && slot.pressed[place] && slot.pokemon?.knows(move)) slot.pokemon.use(move, 1);
}

/**
 * Generation 2 does not say so.
 * @param {Slot} slot
 * @param {number} most turns for which the move can go on
 * @param {number} move
 * @param {boolean} wasPreparing
 * @returns {boolean} whether the move goes on by itself
 */
function goesOn(slot, most, move, wasPreparing) {
  const isGoing = slot.going === move && slot.goingFor > 0;
  slot.going = move;
  slot.goingFor = isGoing ? slot.goingFor + 1 : 1;
  if (slot.goingFor >= most) slot.goingFor = 0;
  return isGoing || wasPreparing;
}

/**
 * @param {Tracker} tracker
 * @param {string} ident of whoever moves
 * @param {number} move
 * @param {Line} line
 * @returns {number} how many of the Pokémon that the move is aimed at are known to exert Pressure
 */
function pressureOn(tracker, ident, move, line) {
  const foes = tracker.foes(ident);
  if (!foes || !foes.slots.some((slot) => exertsPressure(tracker, slot))) return 0;
  const { columns, targets } = tracker.names;
  const row = tracker.tables.moves[move];
  if (!row || isGassed(tracker)) return 0;
  const target = targets[row[columns.target]];
  if (row[columns.mustPressure] || WIDE.includes(target)) {
    return foes.slots.filter((slot) => exertsPressure(tracker, slot)).length;
  }
  if (!AIMED.includes(target) || line.has('[notarget]')) return 0;
  const aim = line.plain(3);
  const hit = aim ? tracker.slot(aim) : tracker.game === 'singles' ? foes.slots[0] : null;
  if (!hit || (aim && sideOf(aim) === sideOf(ident))) return 0;
  return exertsPressure(tracker, hit) ? 1 : 0;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function exertsPressure({ names }, slot) {
  return slot.abilityShown === names.marking.pressure && slot.pokemon !== null && !slot.volatiles[names.volatiles.gastroacid];
}

/** @param {Tracker} tracker */
function isGassed({ names, sides }) {
  const gas = (/** @type {Slot} */ slot) => slot.pokemon !== null && slot.ability === names.marking.neutralizinggas;
  return sides.p1.slots.some(gas) || sides.p2.slots.some(gas);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot that cannot move
 * @param {string} reason
 */
function stop({ gen, names }, slot, reason) {
  const { bide, mustrecharge, preparing, singleMove } = names.volatiles;
  slot.lastMove = NONE;
  slot.goingFor = 0;
  slot.protects = 0;
  // In generation 1 they wait for as long as it takes.
  if (gen > 1 && reason !== 'nopp') for (const volatile of singleMove) slot.volatiles[volatile] = 0;
  if (gen > 1 || reason === 'par' || reason === 'confusion') slot.volatiles[preparing] = 0;
  if (gen === 1 && (reason === 'par' || reason === 'confusion')) slot.volatiles[bide] = 0;
  if (gen > 1 || reason === 'recharge' || reason === 'flinch') slot.volatiles[mustrecharge] = 0;
}

/** @type {Hear} */
function hearCant(tracker, line) {
  const ident = line.part(1);
  const slot = tracker.slot(ident);
  if (!slot?.pokemon) return;
  const { names } = tracker;
  const reason = tracker.effect(line.part(2));
  if (reason.kind === 'ability') {
    showAbility(tracker, ident, reason.ability);
    // Damp and the like name their owner first, and then whom they stop, which has paid for its move.
    if (line.ofPart) return;
  }
  stop(tracker, slot, reason.id);
  if (reason.id === 'slp' && slot.pokemon.status === names.statuses.get('slp')) slot.pokemon.statusTurns++;
  const shown = line.plain(3);
  const move = shown ? names.look('moves', shown) : UNKNOWN;
  if (move !== UNKNOWN && !isBorrowed(tracker, slot, move, shown, false)) slot.pokemon.use(move, 0);
}

/** @type {Hear} */
function hearPrepare(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot?.pokemon || line.has('[premajor]')) return;
  const { preparing } = tracker.names.volatiles;
  const move = tracker.names.look('moves', line.part(2));
  slot.volatiles[preparing] = 1;
  slot.prepared = move;
  slot.preparedSince = tracker.turn;
  slot.pressed = tracker.foes(line.part(1))?.slots.map((foe) => exertsPressure(tracker, foe)) ?? [];
  if (tracker.gen > 1) return;
  // The move that was chosen is paid for when the one that it has led to is done.
  slot.payer = slot.pokemon.knows(slot.lastMove) ? slot.lastMove : UNKNOWN;
  if (slot.payer !== UNKNOWN) slot.pokemon.use(slot.payer, -1);
}

/** What takes two turns is done in one. @type {Hear} */
function hearAnimation(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (slot) slot.volatiles[tracker.names.volatiles.preparing] = 0;
}

/** @type {Hear} */
function hearRecharge(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (slot) slot.volatiles[tracker.names.volatiles.mustrecharge] = 1;
}

/** @type {Hear} */
function hearZPower(tracker, line) {
  const side = tracker.side(line.part(1));
  const slot = tracker.slot(line.part(1));
  if (side) side.usedZ = 1;
  if (slot) slot.zPowered = true;
}

/** @type {Hear} */
function hearSingleTurn(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot) return;
  const { types } = tracker.names;
  const effect = tracker.effect(line.part(2));
  if (effect.volatile >= 0) slot.volatiles[effect.volatile] = 1;
  if (effect.isStall && !slot.stalled) {
    slot.protects = slot.streak + 1;
    slot.stalled = true;
  }
  if (effect.id !== 'roost') return;
  const instead = types.get(tracker.gen >= 5 ? 'Normal' : '???') ?? UNKNOWN;
  slot.roost(types.get('Flying') ?? UNKNOWN, instead);
}

/** @type {Hear} */
function hearSingleMove(tracker, line) {
  const slot = tracker.slot(line.part(1));
  const { volatile } = tracker.effect(line.part(2));
  if (slot && volatile >= 0) slot.volatiles[volatile] = 1;
}

/**
 * A rage goes on whatever it hits; Rollout does not.
 * @param {Tracker} tracker
 */
function falter({ gen, mover, names }) {
  if (!mover) return;
  if (mover.going === names.marking.rollout) mover.goingFor = 0;
  if (gen === 1 && mover.latest === names.marking.rage && mover.goingFor === 1) mover.volatiles[names.volatiles.rage] = 0;
}

/** @type {Hear} */
function hearFailure(tracker, line) {
  creditSource(tracker, line, line.part(1));
  falter(tracker);
}

/** @type {Hear} */
function hearFail(tracker, line) {
  const { chooser, turn } = tracker;
  // What an ability or an item keeps from falling is seldom a move's doing: more often it is Intimidate's.
  if (chooser && line.part(2) !== 'unboost') chooser.failedIn = turn;
  hearFailure(tracker, line);
}

/** @type {Hear} */
function hearBlock(tracker, line) {
  const effect = tracker.effect(line.part(2));
  const owner = line.of || line.part(1);
  if (effect.kind === 'ability') showAbility(tracker, owner, effect.ability);
  else if (effect.kind === 'item') tracker.pokemon(owner)?.holds(effect.item);
}

/** @type {[string, Hear][]} */
const actionLines = [
  ['move', hearMove],
  ['cant', hearCant],
  ['-prepare', hearPrepare],
  ['-anim', hearAnimation],
  ['-mustrecharge', hearRecharge],
  ['-zpower', hearZPower],
  ['-singleturn', hearSingleTurn],
  ['-singlemove', hearSingleMove],
  ['-immune', hearFailure],
  ['-fail', hearFail],
  ['-block', hearBlock],
];

module.exports = { actionLines, falter, stop };
