'use strict';
/** The lines before the first turn: how large the teams are, and what everybody is shown of them. */

const { Details } = require('./lines');
const { NONE, UNKNOWN } = require('./tracked-pokemon');

/**
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 * @typedef {import('./tracked-pokemon').TrackedPokemon} TrackedPokemon
 */

/** Where the parts of a packed set are. */
const SPECIES = 0;
const ITEM = 2;
const ABILITY = 3;
const MOVES = 4;
const GENDER = 7;
const LEVEL = 10;
const MORE = 11;
/** Where the Tera type is among the last of them. */
const TERA_TYPE = 5;

/** @type {Hear} */
function hearSize(tracker, line) {
  tracker.side(line.part(1))?.resize(Number(line.part(2)) || 0);
}

/** @type {Hear} */
function clearPreview({ sides }) {
  for (const side of [sides.p1, sides.p2]) {
    side.pokemon.length = 0;
    side.resize(0);
  }
}

/** @type {Hear} */
function hearPreview(tracker, line) {
  const side = tracker.side(line.part(1));
  if (!side) return;
  side.add(new Details(line.part(2)), tracker.gen);
  side.resize(side.pokemon.length);
}

/** Open team sheets: `showteam|SIDE|PACKED`, in the order of the preview. @type {Hear} */
function hearSheet(tracker, line) {
  const side = tracker.side(line.part(1));
  if (!side || line.count < 3) return;
  const sets = line.text.slice(line.bars[2] + 1).split(']');
  sets.forEach((packed, index) => {
    const set = packed.split('|');
    if (!set[SPECIES]) return;
    const pokemon = side.pokemon[index] ?? side.add(detailsOf(set), tracker.gen);
    fillIn(tracker, pokemon, set);
  });
}

/** @param {string[]} set */
function detailsOf(set) {
  const level = set[LEVEL] ? `, L${set[LEVEL]}` : '';
  const gender = set[GENDER] === 'M' || set[GENDER] === 'F' ? `, ${set[GENDER]}` : '';
  return new Details(`${set[SPECIES]}${level}${gender}`);
}

/**
 * @param {Tracker} tracker
 * @param {TrackedPokemon} pokemon
 * @param {string[]} set
 */
function fillIn({ gen, names }, pokemon, set) {
  if (gen > 1) pokemon.item = set[ITEM] ? names.look('items', set[ITEM]) : NONE;
  if (gen > 2 && set[ABILITY]) pokemon.ability = names.look('abilities', set[ABILITY]);
  for (const name of (set[MOVES] ?? '').split(',')) {
    const move = name ? names.look('moves', name) : UNKNOWN;
    if (move !== UNKNOWN) pokemon.use(move, 0);
  }
  const teraType = names.types.get((set[MORE] ?? '').split(',')[TERA_TYPE] ?? '');
  if (gen === 9 && teraType !== undefined) pokemon.teraType = teraType;
}

/** @type {[string, Hear][]} */
const sheetLines = [
  ['teamsize', hearSize],
  ['clearpoke', clearPreview],
  ['poke', hearPreview],
  ['showteam', hearSheet],
];

module.exports = { sheetLines };
