'use strict';
/**
 * Damage as @smogon/calc has it, for who asks for the group `calc`: least and most, in percent of the target's HP. What
 * a side does not know of its opponent is taken as usual: neutral nature, 31 IVs, 84 EVs, the species' first ability.
 */

const { CATEGORY, STATUS } = require('./damage');
const { NONE, UNKNOWN, names, spec } = require('./numbers');

/**
 * @typedef {typeof import('@smogon/calc')} Library
 * @typedef {InstanceType<Library['Pokemon']>} Fighter
 * @typedef {import('./encoder').Scene} Scene
 * @typedef {import('./roster').Member} Member
 * @typedef {import('./tracker').TrackedPokemon} TrackedPokemon
 * @typedef {import('./tracker').TrackedSide} TrackedSide
 * @typedef {import('./tracker').Slot} Slot
 */

const STATS = /** @type {const} */ (['hp', 'atk', 'def', 'spa', 'spd', 'spe']);
/** @type {any} */
const STATUSES = { brn: 'brn', par: 'par', slp: 'slp', frz: 'frz', psn: 'psn', tox: 'tox' };
/** By our names. @type {any} */
const WEATHERS = {
  raindance: 'Rain',
  primordialsea: 'Heavy Rain',
  sunnyday: 'Sun',
  desolateland: 'Harsh Sunshine',
  sandstorm: 'Sand',
  hail: 'Hail',
  snowscape: 'Snow',
  deltastream: 'Strong Winds',
};
/** @type {any} */
const TERRAINS = {
  electricterrain: 'Electric',
  grassyterrain: 'Grassy',
  mistyterrain: 'Misty',
  psychicterrain: 'Psychic',
};

let load = () => /** @type {Library} */ (require('@smogon/calc'));
/** @type {Library | null} */
let library = null;

/**
 * Says where the calculator is installed, which is loaded when somebody first asks for it.
 * @param {() => Library} how
 */
function calculateWith(how) {
  load = how;
  library = null;
}

const { fields: FIELDS, screens: SCREENS } = names.lists;
const HELPING_HAND = names.lists.volatiles.indexOf('helpinghand');
const { dynamax: DYNAMAX, transform: TRANSFORM } = names.volatiles;

/**
 * @param {import('./encoder').Encoder} encoder
 * @param {Scene} scene
 */
function writeCalc(encoder, scene) {
  const { Generations, Pokemon, Move, Field, calculate } = (library ??= load());
  const { tracker, own, foe, roster, tables } = scene;
  const gen = Generations.get(/** @type {any} */ (tracker.gen));
  const ours = own.slots.map((place, slot) => ownFighter(gen, Pokemon, place, roster.order[slot]));
  const theirs = foe.slots.map((place) => foeFighter(gen, Pokemon, place));
  const { slots, buffer } = encoder;

  /**
   * @param {number} at
   * @param {Fighter | null} attacker
   * @param {Fighter | null} defender
   * @param {number | undefined} move
   * @param {InstanceType<Library['Field']>} field
   */
  const write = (at, attacker, defender, move, field) => {
    if (!attacker || !defender || !move || move === NONE || tables.moves[move]?.[CATEGORY] === STATUS) return;
    const used = new Move(gen, /** @type {any} */ (spec.tables.moves.names[move]), { useMax: attacker.isDynamaxed });
    if (!used.name || used.category === 'Status') return;
    const [least, most] = calculate(gen, attacker, defender, used, field).range();
    const whole = defender.maxHP();
    buffer[at] = Math.min(255, Math.floor((100 * least) / whole));
    buffer[at + 1] = Math.min(255, Math.floor((100 * most) / whole));
  };

  for (let slot = 0; slot < slots; slot++) {
    const forward = new Field(/** @type {any} */ (fieldOf(scene, own, foe, slot)));
    const backward = new Field(/** @type {any} */ (fieldOf(scene, foe, own, slot)));
    for (let move = 0; move < spec.moves; move++) {
      for (let target = 0; target < slots; target++) {
        const entry = 2 * ((slot * spec.moves + move) * slots + target);
        write(encoder.at.ownCalc + entry, ours[slot], theirs[target], roster.order[slot]?.moves[move], forward);
        write(encoder.at.foeCalc + entry, theirs[slot], ours[target], foe.slots[slot].pokemon?.moves[move], backward);
      }
    }
  }
}

/**
 * @param {Scene} scene
 * @param {TrackedSide} attacker
 * @param {TrackedSide} defender
 * @param {number} slot of the attacker
 */
function fieldOf({ tracker }, attacker, defender, slot) {
  const stands = (/** @type {string} */ name) => tracker.fields[FIELDS.indexOf(name)] >= 0;
  const screen = (/** @type {string} */ name) => defender.conditions.screens[SCREENS.indexOf(name)] >= 0;
  return {
    gameType: tracker.game === 'doubles' ? 'Doubles' : 'Singles',
    weather: WEATHERS[spec.classes.weathers[tracker.weather]],
    terrain: TERRAINS[spec.classes.terrains[tracker.terrain]],
    isGravity: stands('gravity'),
    isMagicRoom: stands('magicroom'),
    isWonderRoom: stands('wonderroom'),
    attackerSide: { isHelpingHand: attacker.slots[slot].volatiles[HELPING_HAND] === 1 },
    defenderSide: {
      isReflect: screen('reflect'),
      isLightScreen: screen('lightscreen'),
      isAuroraVeil: screen('auroraveil'),
    },
  };
}

/**
 * @param {any} gen
 * @param {Library['Pokemon']} Pokemon
 * @param {Slot} place
 * @param {Member | undefined} member
 * @returns {Fighter | null}
 */
function ownFighter(gen, Pokemon, place, member) {
  if (!member?.isActive || !member.hp || !place.pokemon) return null;
  const isDisguised = place.pokemon.name !== member.name && !place.volatiles[TRANSFORM];
  const species = isDisguised ? member.species : place.species;
  const options = {
    ...common(gen, place, member.level, member.ability, member.item, member.status),
    teraType: member.terastallized ? spec.classes.types[member.teraType] : undefined,
  };
  const overrides = overridesOf(gen.num, member, place, isDisguised);
  const evs = place.volatiles[TRANSFORM] ? usual(gen) : undefined;
  const fighter = make(gen, Pokemon, species, { ...options, evs: evs && { ...evs, hp: 0 }, overrides });
  if (fighter) fighter.originalCurHP = Math.max(1, Math.round((member.hp / 255) * fighter.rawStats.hp));
  return fighter;
}

/**
 * The calculator works stats out by itself: it is given base stats from which those of the request follow. Those of one
 * that has transformed are the other's, of whom no more is known than of any opponent; requests name its own.
 * @param {number} gen
 * @param {Member} member
 * @param {Slot} place where it stands
 * @param {boolean} isDisguised as one of other types
 */
function overridesOf(gen, { stats, level }, place, isDisguised) {
  // It doubles the HP of one that is dynamaxed, as the request has done already.
  const hp = place.volatiles[DYNAMAX] && stats[0] > 1 ? stats[0] / 2 : stats[0];
  /** @type {Record<string, number>} */
  const baseStats = { hp: baseOf(gen, hp, level, level + 10) };
  if (!place.volatiles[TRANSFORM]) {
    for (let i = 1; i < STATS.length; i++) baseStats[STATS[i]] = baseOf(gen, stats[i], level, 5);
  }
  return isDisguised ? { baseStats } : { baseStats, types: typeNames(place) };
}

/**
 * @param {number} gen
 * @param {number} stat
 * @param {number} level
 * @param {number} fixed what the stat has whatever its base is
 */
function baseOf(gen, stat, level, fixed) {
  const doubled = ((stat - fixed + 0.5) * 100) / level;
  return gen < 3 ? (doubled - 63) / 2 - 15 : (doubled - 31) / 2;
}

/**
 * @param {any} gen
 * @returns {Record<string, number> | undefined} the EVs of one of whom nobody knows them; the calculator's before generation 3
 */
function usual(gen) {
  return gen.num < 3 ? undefined : { hp: 84, atk: 84, def: 84, spa: 84, spd: 84, spe: 84 };
}

/** @param {Slot} place */
function typeNames(place) {
  const names = place.types.filter((type) => type > NONE).map((type) => spec.classes.types[type]);
  return names.length ? names : ['???'];
}

/**
 * @param {any} gen
 * @param {Library['Pokemon']} Pokemon
 * @param {Slot} place
 * @returns {Fighter | null}
 */
function foeFighter(gen, Pokemon, place) {
  const { pokemon } = place;
  if (!pokemon || pokemon.fainted) return null;
  const evs = usual(gen);
  const teraType = pokemon.terastallized ? spec.classes.types[pokemon.teraType] : undefined;
  const ability = place.ability === UNKNOWN ? pokemon.ability : place.ability;
  const options = { ...common(gen, place, pokemon.level, ability, pokemon.item, pokemon.status), teraType, evs };
  // While it has a Tera type, its own types are those that it was born with.
  const overrides = teraType ? undefined : { types: typeNames(place) };
  const fighter = make(gen, Pokemon, place.species, { ...options, overrides });
  if (fighter) fighter.originalCurHP = Math.max(1, Math.round((pokemon.hp / 255) * fighter.rawStats.hp));
  return fighter;
}

/**
 * @param {any} gen
 * @param {Slot} place
 * @param {number} level
 * @param {number} ability
 * @param {number} item
 * @param {number} status
 */
function common(gen, place, level, ability, item, status) {
  const [atk, def, spa, spd, spe] = place.boosts;
  return {
    level,
    ability: ability > NONE ? gen.abilities.get(spec.tables.abilities.names[ability])?.name : undefined,
    item: item > NONE ? gen.items.get(spec.tables.items.names[item])?.name : undefined,
    status: STATUSES[spec.classes.statuses[status]],
    isDynamaxed: place.volatiles[DYNAMAX] === 1,
    boosts: { atk, def, spa, spd, spe },
  };
}

/**
 * @param {any} gen
 * @param {Library['Pokemon']} Pokemon
 * @param {number} species
 * @param {any} options
 * @returns {Fighter | null} nothing for a species that the calculator does not know in this generation
 */
function make(gen, Pokemon, species, options) {
  const known = speciesOf(gen, spec.tables.species.names[species]);
  return known ? new Pokemon(gen, known.name, options) : null;
}

/**
 * The calculator has a name of its own for one forme. Formes that it has no name for only look different, and begin with
 * the name of what they are.
 * @param {any} gen
 * @param {string} id
 * @returns {{name: any} | undefined}
 */
function speciesOf(gen, id) {
  const known = gen.species.get(id === 'aegislash' ? 'aegislashshield' : id);
  return known || id.length < 3 ? known : speciesOf(gen, id.slice(0, -1));
}

module.exports = { calculateWith, speciesOf, writeCalc };
