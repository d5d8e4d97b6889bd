'use strict';
/** Lines that tell who stands on the field, and what it looks like. */

const { showAbility } = require('./hear-possessions');
const { Details, hpOf, nameOf, placeOf, statusOf } = require('./lines');
const { NONE, Snapshot, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-pokemon').TrackedPokemon} TrackedPokemon
 * @typedef {import('./tracked-side').Slot} Slot
 * @typedef {import('./tracked-side').TrackedSide} TrackedSide
 */

const ILLUSION_SINCE = 5;
/** Before that whoever keeps another from leaving passes it on. */
const TRAPS_STAY_SINCE = 5;
/** Their formes have abilities of their own. */
const ABILITY_FORMES = ['Ogerpon', 'Terapagos'];

/**
 * @param {Tracker} tracker
 * @param {TrackedSide} side
 * @param {TrackedPokemon} pokemon
 * @param {string} condition
 */
function setCondition(tracker, side, pokemon, condition) {
  const hp = hpOf(condition);
  const status = statusOf(condition);
  if (hp === 0) {
    if (status === 'fnt') side.faint(pokemon);
    return;
  }
  if (pokemon.fainted) side.revive(pokemon);
  pokemon.hp = hp;
  pokemon.setStatus(status ? (tracker.names.statuses.get(status) ?? pokemon.status) : NONE);
}

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
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {readonly number[]} kept
 * @param {boolean} [keepBoosts]
 */
function leave(tracker, slot, kept, keepBoosts) {
  const { pokemon } = slot;
  if (pokemon) {
    pokemon.slot = 0;
    pokemon.species = pokemon.baseSpecies;
    release(tracker, pokemon);
    if (slot.volatiles[tracker.names.volatiles.commanded]) dismiss(tracker, slot);
  }
  slot.reset(kept, keepBoosts);
}

/**
 * Who commands one that leaves is on its own again.
 * @param {Tracker} tracker
 * @param {Slot} slot
 */
function dismiss({ names, sides }, slot) {
  const allies = sides.p1.slots.includes(slot) ? sides.p1.slots : sides.p2.slots;
  for (const ally of allies) ally.volatiles[names.volatiles.commanding] = 0;
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @param {TrackedPokemon} successor
 */
function passOn(tracker, slot, successor) {
  const { trapper, pokemon } = slot;
  if (tracker.gen < TRAPS_STAY_SINCE) {
    tracker.eachActive((other) => {
      if (other.trapper === pokemon) other.trapper = successor;
    });
  }
  leave(tracker, slot, tracker.names.volatiles.passed[tracker.gen], true);
  slot.trapper = trapper;
}

/**
 * Those whom it kept from leaving are free when it leaves, and nobody says so.
 * @param {Tracker} tracker
 * @param {TrackedPokemon} trapper
 */
function release(tracker, trapper) {
  tracker.eachActive((slot) => {
    if (slot.trapper !== trapper) return;
    slot.trapper = null;
    slot.volatiles[tracker.names.volatiles.trapped] = 0;
  });
}

/** @type {Hear} */
function hearSwitch(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const place = placeOf(ident);
  const slot = side?.slots[place];
  if (!side || !slot) return;
  const details = new Details(line.part(2));
  const condition = line.part(3);
  const { volatiles } = tracker.names;
  const passing = line.fromPart ? tracker.effect(line.from).id : '';
  const name = nameOf(ident);
  const pokemon = side.find(name, details, hpOf(condition), slot.pokemon) ?? side.add(details, tracker.gen);
  if (passing === 'batonpass') passOn(tracker, slot, pokemon);
  else leave(tracker, slot, passing === 'shedtail' ? volatiles.shed : volatiles.placed);
  const before = tracker.gen < ILLUSION_SINCE ? null : new Snapshot(pokemon);
  settle(tracker, side, slot, pokemon);
  slot.before = before;
  pokemon.slot = place + 1;
  present(tracker, pokemon, name, details);
  if (pokemon.fainted && !condition.endsWith('fnt')) side.wasAnother(pokemon);
  setCondition(tracker, side, pokemon, condition);
  startAnew(tracker, pokemon);
  slot.species = pokemon.species;
  slot.ability = pokemon.ability;
  takeTypesOf(tracker, slot, pokemon.species);
}

/**
 * @param {Tracker} tracker
 * @param {TrackedSide} side
 * @param {Slot} slot
 * @param {TrackedPokemon} pokemon
 */
function settle(tracker, side, slot, pokemon) {
  for (const other of side.slots) if (other !== slot && other.pokemon === pokemon) leave(tracker, other, []);
  slot.pokemon = pokemon;
}

/**
 * @param {Tracker} tracker
 * @param {TrackedPokemon} pokemon
 * @param {string} name
 * @param {Details} details
 */
function present({ names }, pokemon, name, details) {
  pokemon.name = name;
  pokemon.revealed = 1;
  pokemon.details = details;
  pokemon.level = details.level;
  pokemon.species = pokemon.baseSpecies = names.look('species', details.species);
  pokemon.terastallized = details.tera ? 1 : 0;
  if (details.tera) pokemon.teraType = names.types.get(details.tera) ?? pokemon.teraType;
}

/**
 * Counters of some statuses begin again.
 * @param {Tracker} tracker
 * @param {TrackedPokemon} pokemon
 */
function startAnew({ gen, names }, pokemon) {
  if (pokemon.status === names.statuses.get('tox')) pokemon.statusTurns = 0;
  if (gen === 5 && pokemon.status === names.statuses.get('slp')) pokemon.statusTurns = 0;
}

/**
 * It was another one, that looked like it.
 * @type {Hear}
 */
function hearReplace(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const slot = tracker.slot(ident);
  const looks = slot?.pokemon;
  if (!side || !slot || !looks) return;
  const details = new Details(line.part(2));
  const name = nameOf(ident);
  const actual = side.find(name, details, looks.hp) ?? side.add(details, tracker.gen);
  const { slot: place, terastallized, teraType } = looks;
  slot.before?.handOver(looks, actual);
  looks.slot = 0;
  slot.pokemon = actual;
  slot.before = null;
  actual.slot = place;
  present(tracker, actual, name, details);
  if (terastallized) Object.assign(actual, { terastallized, teraType });
  const illusion = tracker.names.find('abilities', 'illusion');
  slot.abilityChanged = false;
  showAbility(tracker, ident, illusion);
  const { transform, typechange } = tracker.names.volatiles;
  if (slot.volatiles[transform]) return;
  slot.species = actual.species;
  // What was only seemingly its types goes with the looks.
  if (!slot.volatiles[typechange] || slot.typesShown) takeTypesOf(tracker, slot, actual.species);
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

/** @type {Hear} */
function hearSwap(tracker, line) {
  const ident = line.part(1);
  const slots = tracker.side(ident)?.slots;
  const [from, to] = [placeOf(ident), Number(line.part(2))];
  if (!slots?.[from] || !slots[to] || from === to) return;
  [slots[from], slots[to]] = [slots[to], slots[from]];
  for (const volatile of tracker.names.volatiles.placed) {
    const [here, there] = [slots[from].volatiles, slots[to].volatiles];
    [here[volatile], there[volatile]] = [there[volatile], here[volatile]];
  }
  [slots[from].futureSince, slots[to].futureSince] = [slots[to].futureSince, slots[from].futureSince];
  for (const place of [from, to]) {
    const { pokemon } = slots[place];
    if (pokemon) pokemon.slot = place + 1;
  }
}

/** @type {Hear} */
function hearFaint(tracker, line) {
  const ident = line.part(1);
  const side = tracker.side(ident);
  const pokemon = tracker.pokemon(ident);
  if (!side || !pokemon) return;
  side.faint(pokemon);
  pokemon.terastallized = 0;
  const slot = tracker.slot(ident);
  if (!slot) return;
  leave(tracker, slot, tracker.names.volatiles.placed);
  slot.gone = pokemon;
}

/** @type {[string, Hear][]} */
const appearanceLines = [
  ['switch', hearSwitch],
  ['drag', hearSwitch],
  ['replace', hearReplace],
  ['detailschange', hearDetails],
  ['-formechange', hearForme],
  ['-mega', hearMega],
  ['-burst', (tracker, line) => hearStone(tracker, line, 3)],
  ['-primal', (tracker, line) => hearStone(tracker, line, 2)],
  ['-terastallize', hearTera],
  ['-transform', hearTransform],
  ['swap', hearSwap],
  ['faint', hearFaint],
];

module.exports = { appearanceLines, copyFocus, setCondition, takeTypesOf };
