'use strict';
/** Lines that tell what Pokémon suffer and enjoy: hit points, statuses, and all that begins and ends on them. */

const { falter, stop } = require('./hear-actions');
const { setCondition } = require('./hear-appearances');
const { takeTypesOf } = require('./hear-formes');
const { creditHeal, creditSource, hearContagion, hearSkillSwap, hearSymbiosis, showAbility } = require('./hear-possessions');
const { NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./lines').Line} Line
 * @typedef {import('./names').Effect} Effect
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-side').Slot} Slot
 */

/** @type {Hear} */
function hearDamage(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const pokemon = tracker.pokemon(ident);
  if (!side || !pokemon) return;
  setCondition(tracker, side, pokemon, line.part(2));
  creditSource(tracker, line, ident);
  const slot = line.fromPart && line.from === 'confusion' ? tracker.slot(ident) : null;
  if (slot) stop(tracker, slot, 'confusion');
}

/** @type {Hear} */
function hearHeal(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const pokemon = tracker.pokemon(ident, (one) => one.fainted === 1);
  if (!side || !pokemon) return;
  setCondition(tracker, side, pokemon, line.part(2));
  creditHeal(tracker, line);
  if (line.fromPart && line.from === 'move: Lunar Dance') pokemon.restore();
}

/** @type {Hear} */
function hearStatus(tracker, line) {
  const pokemon = tracker.pokemon(line.part(1));
  const status = tracker.names.statuses.get(line.part(2));
  if (!pokemon || status === undefined) return;
  pokemon.status = status;
  // What comes at the end of a turn is not counted in it.
  pokemon.statusTurns = line.fromPart && tracker.effect(line.from).id === 'toxicorb' ? -1 : 0;
  creditSource(tracker, line, line.part(1));
  // In generation 1 whoever falls asleep need not recharge.
  const slot = tracker.gen === 1 && line.part(2) === 'slp' ? tracker.slot(line.part(1)) : null;
  if (slot) slot.volatiles[tracker.names.volatiles.mustrecharge] = 0;
}

/** @type {Hear} */
function hearCure(tracker, line) {
  const word = line.part(2);
  if (word === 'confusion') return void hearEnd(tracker, line);
  const status = tracker.names.statuses.get(word);
  const pokemon = tracker.pokemon(line.part(1), (one) => one.status === status);
  if (!pokemon || pokemon.fainted) return;
  pokemon.setStatus(NONE);
  creditSource(tracker, line, line.part(1));
}

/** @type {Hear} */
function hearTeamCure(tracker, line) {
  for (const pokemon of tracker.side(line.part(1))?.pokemon ?? []) if (!pokemon.fainted) pokemon.setStatus(NONE);
}

/** @type {Hear} */
function hearStart(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot?.pokemon) return;
  const effect = tracker.effect(line.part(2));
  const { names } = tracker;
  const { volatiles } = slot;
  switch (effect.id) {
    case 'typechange':
      changeTypes(tracker, slot, line);
      break;
    case 'typeadd':
      slot.setTypes(slot.plainTypes[0], slot.plainTypes[1], names.types.get(line.part(3)) ?? UNKNOWN);
      volatiles[effect.volatile] = 1;
      break;
    case 'mimic':
      slot.mimicked = names.look('moves', line.part(3));
      break;
    case 'futuresight':
    case 'doomdesire':
      startFuture(tracker, line, effect);
      break;
    case 'smackdown':
      ground(tracker, slot, tracker.names.flying);
      volatiles[effect.volatile] = 1;
      break;
    default:
      if (effect.id === 'confusion') slot.goingFor = 0;
      if (effect.isPerish) clearPerish(tracker, slot);
      if (effect.isStockpile) slot.stockpiles = effect.count;
      if (effect.volatile >= 0) volatiles[effect.volatile] = 1;
      if (effect.volatile === names.volatiles.dynamax) startDynamax(tracker, line);
  }
  if (effect.kind === 'ability') showAbility(tracker, line.part(1), effect.ability);
  creditSource(tracker, line, line.part(1));
}

/**
 * @param {Tracker} tracker
 * @param {Line} line
 */
function startDynamax(tracker, line) {
  const side = tracker.side(line.part(1));
  if (side) side.usedDynamax = 1;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Line} line
 */
function changeTypes(tracker, slot, line) {
  const { types, volatiles } = tracker.names;
  const listed = line.plain(3);
  const other = listed ? null : tracker.slot(line.of);
  if (listed) {
    const [first, second] = listed.split('/').map((name) => types.get(name) ?? UNKNOWN);
    slot.setTypes(first, second ?? NONE, NONE);
  } else if (other) {
    slot.setTypes(other.types[0], other.types[1], other.types[2]);
  }
  slot.typesShown = line.has('[silent]');
  slot.volatiles[volatiles.typeadd] = 0;
  slot.volatiles[volatiles.typechange] = 1;
}

/**
 * The line names who has used it; whom it will strike is whom it was aimed at.
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {Effect} effect
 */
function startFuture(tracker, line, effect) {
  const foes = tracker.foes(line.part(1));
  const target = tracker.target ?? foes?.slots[0];
  if (!target) return;
  target.volatiles[effect.volatile] = 1;
  target.futureSince = tracker.turn;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function clearPerish({ names }, slot) {
  const { perish1, perish2, perish3 } = names.volatiles;
  slot.volatiles[perish1] = slot.volatiles[perish2] = slot.volatiles[perish3] = 0;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number[]} moves that are broken off
 */
function ground({ names }, slot, moves) {
  const { magnetrise, telekinesis, preparing } = names.volatiles;
  slot.volatiles[magnetrise] = slot.volatiles[telekinesis] = 0;
  if (moves.includes(slot.prepared)) slot.volatiles[preparing] = 0;
}

/** @type {Hear} */
function hearEnd(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot?.pokemon) return;
  const effect = tracker.effect(line.part(2));
  const { bide } = tracker.names.volatiles;
  // What it gives back is announced in no other way, unless it gives nothing.
  if (effect.volatile === bide) tracker.chooser = slot;
  if (effect.isStockpile) slot.stockpiles = 0;
  if (effect.volatile === tracker.names.volatiles.typechange) takeTypesOf(tracker, slot, slot.species);
  if (effect.volatile >= 0) slot.volatiles[effect.volatile] = 0;
  if (effect.kind === 'ability') showAbility(tracker, line.part(1), effect.ability);
}

/** @type {Hear} */
function hearActivate(tracker, line) {
  const ident = line.part(1);
  const effect = tracker.effect(line.part(2));
  if (effect.kind === 'ability') hearActivateAbility(tracker, line, effect);
  else if (effect.kind === 'item') hearActivateItem(tracker, line, effect);
  else hearActivateMove(tracker, line, effect, ident);
}

/**
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {Effect} effect
 */
function hearActivateAbility(tracker, line, effect) {
  const ident = line.part(1);
  showAbility(tracker, ident, effect.ability);
  switch (effect.id) {
    case 'mummy':
    case 'lingeringaroma':
      return hearContagion(tracker, line);
    case 'symbiosis':
      return hearSymbiosis(tracker, line);
    case 'synchronize':
      // The move has worked, whatever becomes of what comes back.
      tracker.chooser = null;
      return undefined;
    case 'commander':
      return startCommand(tracker, line);
    case 'forewarn': {
      const warned = line.of ? tracker.pokemon(line.of) : tracker.game === 'singles' ? tracker.foes(ident)?.slots[0].pokemon : null;
      const move = tracker.names.look('moves', line.plain(3));
      if (move !== UNKNOWN) warned?.use(move, 0);
      return undefined;
    }
    default:
      return undefined;
  }
}

/** @type {Hear} */
function startCommand(tracker, line) {
  const [commanding, commanded] = [tracker.slot(line.part(1)), tracker.slot(line.of)];
  const { volatiles } = tracker.names;
  if (commanding) commanding.volatiles[volatiles.commanding] = 1;
  if (commanded) commanded.volatiles[volatiles.commanded] = 1;
}

/**
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {Effect} effect
 */
function hearActivateItem(tracker, line, effect) {
  const pokemon = tracker.pokemon(line.part(1));
  if (!pokemon) return;
  const restored = effect.id === 'leppaberry' ? 10 : effect.id === 'mysteryberry' ? 5 : 0;
  if (restored) spendMore(tracker, line, -restored);
  else if (!line.has('[consumed]')) pokemon.holds(effect.item);
}

/**
 * @param {Tracker} tracker
 * @param {Line} line that names a move
 * @param {number} cost
 */
function spendMore(tracker, line, cost) {
  const slot = tracker.slot(line.part(1));
  const move = tracker.names.look('moves', line.plain(3));
  const isOwn = slot && !slot.volatiles[tracker.names.volatiles.transform] && move !== slot.mimicked;
  if (isOwn && move !== UNKNOWN) slot.pokemon?.use(move, cost);
}

/**
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {Effect} effect
 * @param {string} ident
 */
function hearActivateMove(tracker, line, effect, ident) {
  const slot = tracker.slot(ident);
  if (!slot?.pokemon) return;
  const { names } = tracker;
  const { volatiles } = names;
  if (effect.id === 'feint' || line.has('[broken]')) breakProtection(tracker, slot);
  if (effect.isPartialTrap && line.ofPart) slot.volatiles[volatiles.partiallytrapped] = 1;
  switch (effect.id) {
    case 'protect':
      falter(tracker);
      break;
    case 'trapped':
      slot.volatiles[volatiles.trapped] = 1;
      slot.trapper = (tracker.mover === slot ? tracker.target : tracker.mover)?.pokemon ?? null;
      break;
    case 'skillswap':
      hearSkillSwap(tracker, line);
      break;
    case 'lockon':
    case 'mindreader':
      slot.volatiles[volatiles.lockon] = 1;
      slot.lockedOnSince = tracker.turn;
      break;
    case 'mimic':
    case 'sketch':
      learn(tracker, slot, effect, names.look('moves', line.plain(3)));
      break;
    case 'eeriespell':
    case 'gmaxdepletion':
    case 'spite':
      spendMore(tracker, line, Number(line.part(4)) || 0);
      break;
    case 'grudge':
      spendMore(tracker, line, tracker.tables.moves[names.look('moves', line.plain(3))]?.[names.columns.pp] ?? 0);
      break;
    case 'poltergeist':
      slot.pokemon.holds(names.look('items', line.plain(3)));
      break;
    case 'gravity':
      ground(tracker, slot, tracker.names.airborne);
      break;
    default:
  }
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function breakProtection({ gen, names }, slot) {
  slot.volatiles[names.volatiles.protect] = 0;
  if (gen < 6) return;
  slot.protects = 0;
  slot.stalled = false;
}

/**
 * Old generations say Mimic where they mean Sketch.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Effect} effect
 * @param {number} move
 */
function learn({ names }, slot, effect, move) {
  const { pokemon } = slot;
  if (!pokemon || move === UNKNOWN) return;
  const { sketch } = names.marking;
  const index = pokemon.moves.indexOf(sketch);
  if (effect.id === 'mimic' && slot.latest !== sketch) {
    slot.mimicked = move;
  } else if (index >= 0 && !slot.volatiles[names.volatiles.transform]) {
    pokemon.moves[index] = move;
    pokemon.used[index] = 0;
  }
}

/** @type {[string, Hear][]} */
const conditionLines = [
  ['-damage', hearDamage],
  ['-heal', hearHeal],
  ['-sethp', hearDamage],
  ['-status', hearStatus],
  ['-curestatus', hearCure],
  ['-cureteam', hearTeamCure],
  ['-start', hearStart],
  ['-end', hearEnd],
  ['-activate', hearActivate],
];

module.exports = { conditionLines };
