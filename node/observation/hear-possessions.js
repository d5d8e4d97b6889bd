'use strict';
/** Lines that tell of items and abilities, and who an effect that a line names belongs to. */

const { NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./lines').Line} Line
 * @typedef {import('./names').Effect} Effect
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-pokemon').TrackedPokemon} TrackedPokemon
 * @typedef {import('./tracked-side').Slot} Slot
 */

/** By these an item changes hands: whom a line says it is from has it no more. */
const THEFTS = ['bestow', 'covet', 'magician', 'pickpocket', 'thief'];
/** An ability, and those that it is made of. */
const AS_ONE = ['As One', 'Chilling Neigh', 'Grim Neigh', 'Unnerve'];
/** By these items change hands, and may be used up before the log says whose they are. */
const SWAPS = ['switcheroo', 'trick'];
/** By these an ability is copied: whom a line says it is from has it too. */
const COPIES = ['doodle', 'entrainment', 'powerofalchemy', 'receiver', 'roleplay', 'trace'];

/**
 * An ability shows itself.
 * @param {Tracker} tracker
 * @param {string} ident
 * @param {number} ability
 */
function showAbility(tracker, ident, ability) {
  if (ability === UNKNOWN) return;
  const slot = tracker.slot(ident);
  const pokemon = slot?.pokemon ?? tracker.pokemon(ident);
  if (slot) slot.ability = slot.abilityShown = ability;
  if (pokemon && !slot?.abilityChanged) pokemon.ability = ability;
}

/**
 * An item shows itself. Berries do so after they were eaten, and not always by whom they belonged to.
 * @param {Tracker} tracker
 * @param {string} ident
 * @param {number} item
 */
function showItem(tracker, ident, item) {
  const isBerry = tracker.tables.items[item]?.[tracker.names.columns.berry];
  if (!isBerry) tracker.pokemon(ident)?.holds(item);
}

/**
 * An ability takes the place of another, for as long as the Pokémon stays on the field.
 * @param {Slot} slot
 * @param {number} ability
 * @param {number} before the one that it had, if the line says so
 */
function changeAbility(slot, ability, before) {
  if (!slot.abilityChanged && before !== UNKNOWN && slot.pokemon) slot.pokemon.ability = before;
  slot.ability = slot.abilityShown = ability;
  slot.abilityChanged = true;
}

/**
 * Puts the effect that a line is from down to its owner: to whom the line names for it, or else to whom it is about.
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {string} subject
 */
function creditSource(tracker, line, subject) {
  if (!line.fromPart) return;
  const effect = tracker.effect(line.from);
  if (effect.kind === 'ability') showAbility(tracker, line.of || subject, effect.ability);
  else if (effect.kind === 'item') showItem(tracker, line.of || subject, effect.item);
}

/** Heals name the attacker that set the effect off, not its owner. @type {(tracker: Tracker, line: Line) => void} */
function creditHeal(tracker, line) {
  if (!line.fromPart) return;
  const effect = tracker.effect(line.from);
  const owner = effect.id === 'hospitality' ? line.of : line.part(1);
  if (effect.kind === 'ability') showAbility(tracker, owner, effect.ability);
  else if (effect.kind === 'item') showItem(tracker, owner, effect.item);
}

/** @type {Hear} */
function hearItem(tracker, line) {
  const item = tracker.names.look('items', line.part(2));
  const from = line.fromPart ? tracker.effect(line.from) : null;
  const of = line.of;
  const isFrisk = from?.id === 'frisk';
  const pokemon = tracker.pokemon(line.part(1)) ?? (isFrisk ? onlyFoe(tracker, of) : null);
  pokemon?.gets(item, from && SWAPS.includes(from.id) ? tracker.actions : -1);
  if (!from) return;
  if (from.kind === 'ability') showAbility(tracker, isFrisk ? of : line.part(1), from.ability);
  if (of && THEFTS.includes(from.id)) tracker.pokemon(of)?.loses(item, tracker.actions);
}

/**
 * Old generations do not say whose item it is that somebody sees.
 * @param {Tracker} tracker
 * @param {string} ident
 */
function onlyFoe(tracker, ident) {
  if (tracker.game !== 'singles') return null;
  return tracker.foes(ident)?.slots[0].pokemon ?? null;
}

/** @type {Hear} */
function hearItemEnd(tracker, line) {
  const pokemon = tracker.pokemon(line.part(1));
  if (!pokemon) return;
  const item = tracker.names.look('items', line.part(2));
  // A berry can be eaten again, or work later, when something else is held.
  const isAgain = pokemon.item > NONE && pokemon.item !== item && pokemon.eaten === item;
  if (!isAgain) pokemon.loses(item, tracker.actions);
  pokemon.eaten = item;
}

/** @type {Hear} */
function hearAbility(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (!slot) return;
  const ability = abilityOf(tracker, slot, line.part(2));
  const before = line.plain(3);
  if (!line.fromPart || !before || before === 'boost') {
    showAbility(tracker, line.part(1), ability);
    return;
  }
  changeAbility(slot, ability, tracker.names.look('abilities', before));
  if (line.ofPart && COPIES.includes(tracker.effect(line.from).id)) showAbility(tracker, line.of, ability);
}

/**
 * As One is two abilities by one name, and shows what it is made of.
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {string} name
 */
function abilityOf({ names }, slot, name) {
  if (!AS_ONE.includes(name)) return names.look('abilities', name);
  const [ice, shadow] = [names.find('abilities', 'asoneglastrier'), names.find('abilities', 'asonespectrier')];
  const own = slot.species === names.find('species', 'calyrexice') ? ice : shadow;
  const isCalyrex = own === ice || slot.species === names.find('species', 'calyrexshadow');
  if (name === 'As One') return isCalyrex ? own : UNKNOWN;
  return isCalyrex && slot.ability === own ? own : names.look('abilities', name);
}

/** @type {Hear} */
function hearAbilityEnd(tracker, line) {
  const slot = tracker.slot(line.part(1));
  if (slot) slot.volatiles[tracker.names.volatiles.gastroacid] = 1;
}

/**
 * Without names where the two are allies, and in old generations, where abilities stay secret.
 * @type {Hear}
 */
function hearSkillSwap(tracker, line) {
  const slot = tracker.slot(line.part(1));
  const other = tracker.slot(line.of);
  if (!slot || !other) return;
  const { names } = tracker;
  const [taken, given] = [line.plain(3), line.plain(4)];
  const theirs = taken ? names.look('abilities', taken) : other.ability;
  const own = given ? names.look('abilities', given) : slot.ability;
  changeAbility(slot, theirs, own);
  changeAbility(other, own, theirs);
}

/**
 * `-activate|holder|ability: Mummy|attacker|[ability] Before`
 * @type {Hear}
 */
function hearContagion(tracker, line) {
  const slot = tracker.slot(line.part(3));
  if (!slot) return;
  const tag = line.part(4);
  const before = tag.startsWith('[ability]') ? tracker.names.look('abilities', tag.slice(9).trim()) : UNKNOWN;
  changeAbility(slot, tracker.effect(line.part(2)).ability, before);
}

/** @type {Hear} */
function hearSymbiosis(tracker, line) {
  const item = tracker.names.look('items', line.part(3));
  tracker.pokemon(line.part(1))?.loses(item, tracker.actions);
  tracker.pokemon(line.of)?.gets(item, -1);
}

/** @type {[string, Hear][]} */
const possessionLines = [
  ['-item', hearItem],
  ['-enditem', hearItemEnd],
  ['-ability', hearAbility],
  ['-endability', hearAbilityEnd],
];

module.exports = {
  changeAbility,
  creditHeal,
  creditSource,
  hearContagion,
  hearSkillSwap,
  hearSymbiosis,
  possessionLines,
  showAbility,
};
