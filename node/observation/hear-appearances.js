'use strict';
/** Lines that tell who stands on the field, and who leaves it. */

const { takeTypesOf } = require('./hear-formes');
const { showAbility } = require('./hear-possessions');
const { Details, hpOf, nameOf, placeOf, statusOf } = require('./lines');
const { NONE, Snapshot } = require('./tracked-pokemon');

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
  // Whoever looks like the one that leaves may take its place.
  if (slot.pokemon) slot.pokemon.slot = 0;
  const pokemon = side.find(name, details, hpOf(condition)) ?? side.recruit(name, details, tracker.gen);
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
  const actual = side.find(name, details, looks.hp) ?? side.recruit(name, details, tracker.gen);
  const { slot: place, terastallized, teraType } = looks;
  slot.before?.handOver(looks, actual);
  looks.slot = 0;
  slot.pokemon = actual;
  slot.before = null;
  actual.slot = place;
  present(tracker, actual, name, details);
  if (terastallized) Object.assign(actual, { terastallized, teraType });
  reunite(side, looks);
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
 * Of two who looked the same, one was another: so the other is the one that they looked like.
 * @param {TrackedSide} side
 * @param {TrackedPokemon} looks
 */
function reunite(side, looks) {
  if (!side.pokemon.includes(looks)) return;
  for (const slot of side.slots) {
    const { before, pokemon } = slot;
    if (!pokemon || !before || side.pokemon.includes(pokemon) || pokemon.name !== looks.name) continue;
    const { details, level, slot: place } = pokemon;
    before.handOver(pokemon, looks);
    Object.assign(looks, { details, level, slot: place, revealed: 1 });
    slot.pokemon = looks;
  }
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
  ['swap', hearSwap],
  ['faint', hearFaint],
];

module.exports = { appearanceLines, setCondition };
