'use strict';
/** Lines that tell what those on the field look like: formes, types, and whom they have transformed into. */

const { showAbility } = require('./hear-possessions');
const { Details } = require('./lines');
const { NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-side').Slot} Slot
 */

/** Their formes have abilities of their own. */
const ABILITY_FORMES = ['Ogerpon', 'Terapagos'];

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number} species whose types it has from now on
 */
function takeTypesOf(tracker, slot, species) {
  const { columns, volatiles } = tracker.names;
  const row = tracker.tables.species[species];
  slot.setTypes(row?.[columns.type1] ?? UNKNOWN, row?.[columns.type2] ?? NONE, NONE);
  slot.typesShown = false;
  slot.volatiles[volatiles.typechange] = 0;
  slot.volatiles[volatiles.typeadd] = 0;
}

/**
 * A forme for good: `detailschange|POKEMON|DETAILS`.
 * @type {Hear}
 */
function hearDetails(tracker, line) {
  const ident = line.part(1);
  const pokemon = tracker.pokemon(ident, (one) => one.fainted === 1);
  if (!pokemon) return;
  const details = new Details(line.part(2));
  pokemon.details = details;
  pokemon.species = pokemon.baseSpecies = tracker.names.look('species', details.species);
  const slot = tracker.slot(ident);
  if (slot) changeForme(tracker, slot, pokemon.species);
  if (ABILITY_FORMES.some((word) => details.species.startsWith(word))) forgetAbility(tracker, ident);
}

/**
 * A forme for a while: `-formechange|POKEMON|SPECIES`.
 * @type {Hear}
 */
function hearForme(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot?.pokemon) return;
  const species = tracker.names.look('species', line.part(2));
  const { transform, zenmode } = tracker.names.volatiles;
  if (!slot.volatiles[transform]) slot.pokemon.species = species;
  changeForme(tracker, slot, species);
  slot.volatiles[zenmode] = line.part(2).endsWith('-Zen') ? 1 : 0;
  if (line.fromPart) showAbility(tracker, line.part(1), tracker.effect(line.from).ability);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {number} species
 */
function changeForme(tracker, slot, species) {
  slot.species = species;
  takeTypesOf(tracker, slot, species);
}

/**
 * @param {Tracker} tracker
 * @param {string} ident of one whose ability is that of its new forme
 */
function forgetAbility(tracker, ident) {
  const slot = tracker.slot(ident);
  const pokemon = tracker.pokemon(ident);
  if (pokemon) pokemon.ability = UNKNOWN;
  if (!slot) return;
  slot.ability = slot.abilityShown = UNKNOWN;
  slot.abilityChanged = false;
}

/** @type {Hear} */
function hearMega(tracker, line) {
  const side = tracker.side(line.part(1));
  if (side) side.usedMega = 1;
  hearStone(tracker, line, 3);
}

/**
 * @param {Tracker} tracker
 * @param {import('./lines').Line} line
 * @param {number} part that names what its new forme is due to
 */
function hearStone(tracker, line, part) {
  forgetAbility(tracker, line.part(1));
  tracker.pokemon(line.part(1))?.holds(tracker.names.look('items', line.part(part)));
}

/** @type {Hear} */
function hearTera(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const slot = tracker.slot(ident);
  if (!side || !slot?.pokemon) return;
  side.usedTera = 1;
  slot.pokemon.terastallized = 1;
  slot.pokemon.teraType = tracker.names.types.get(line.part(2)) ?? UNKNOWN;
  slot.plainTypes[2] = NONE;
  slot.volatiles[tracker.names.volatiles.typeadd] = 0;
  slot.showTypes();
}

/** @type {Hear} */
function hearTransform(tracker, line) {
  const slot = tracker.slot(line.part(1));
  const target = tracker.slot(line.part(2));
  if (!slot || !target) return;
  creditTransform(tracker, line);
  const { volatiles } = tracker.names;
  slot.species = target.species;
  slot.boosts.set(target.boosts);
  const [first, second, third] = target.roosting ?? target.plainTypes;
  slot.setTypes(first, second, third);
  slot.volatiles[volatiles.transform] = 1;
  slot.mimicked = UNKNOWN;
  if (tracker.gen >= 6) copyFocus(tracker, slot, target);
  if (tracker.gen < 3) return;
  slot.ability = slot.abilityShown = target.ability;
  slot.abilityChanged = true;
}

/** @type {Hear} */
function creditTransform(tracker, line) {
  if (line.fromPart) showAbility(tracker, line.part(1), tracker.effect(line.from).ability);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {Slot} target
 */
function copyFocus({ names }, slot, target) {
  const { focusenergy, laserfocus } = names.volatiles;
  slot.volatiles[focusenergy] = target.volatiles[focusenergy];
  slot.volatiles[laserfocus] = target.volatiles[laserfocus];
}

/** @type {[string, Hear][]} */
const formeLines = [
  ['detailschange', hearDetails],
  ['-formechange', hearForme],
  ['-mega', hearMega],
  ['-burst', (tracker, line) => hearStone(tracker, line, 3)],
  ['-primal', (tracker, line) => hearStone(tracker, line, 2)],
  ['-terastallize', hearTera],
  ['-transform', hearTransform],
];

module.exports = { copyFocus, formeLines, takeTypesOf };
