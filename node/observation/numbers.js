'use strict';
/** From the simulator's names to the numbers of spec.json. Numbers are 0 for unknown and 1 for none. */

const { readSpec } = require('./spec');

/** @typedef {import('./spec').TableName} TableName */

const UNKNOWN = 0;
const NONE = 1;
const spec = readSpec();

/** @type {Record<TableName, Map<string, number>>} */
const NUMBERS = {
  species: numbersOf('species'),
  moves: numbersOf('moves'),
  items: numbersOf('items'),
  abilities: numbersOf('abilities'),
};
/** Moves whose names carry a number or a type that is not part of the move. */
const POWERED = /^(hiddenpower[a-z]*|return|frustration)\d+$/;

/** @param {TableName} table */
function numbersOf(table) {
  const { names, aliases } = spec.tables[table];
  const numbers = new Map(names.map((name, number) => [name, number]));
  for (const [alias, name] of Object.entries(aliases)) numbers.set(alias, /** @type {number} */ (numbers.get(name)));
  return numbers;
}

/**
 * Members of a list of classes by name.
 * @param {string} classes
 * @returns {Map<string, number>}
 */
function classNumbers(classes) {
  return new Map(spec.classes[classes].map((name, number) => [name, number]));
}

/** @param {string} id of an item, or nothing for none */
function itemNumber(id) {
  return id ? (NUMBERS.items.get(id) ?? UNKNOWN) : NONE;
}

/** @param {string} id of an ability, or nothing for none */
function abilityNumber(id) {
  return id && id !== 'noability' ? (NUMBERS.abilities.get(id) ?? UNKNOWN) : NONE;
}

/** @param {string} id of a move as requests have it, `return102` and `hiddenpowerfire60` among them */
function moveNumber(id) {
  const number = NUMBERS.moves.get(id);
  if (number !== undefined) return number;
  const powered = POWERED.exec(id);
  const plain = powered ? (NUMBERS.moves.get(powered[1]) ?? UNKNOWN) : UNKNOWN;
  // Remembered with what it is called: there are few of these.
  if (powered) NUMBERS.moves.set(id, plain);
  return plain;
}

const HIDDEN_POWER = /** @type {number} */ (NUMBERS.moves.get('hiddenpower'));
const HIDDEN_POWERS = new Set(spec.tables.moves.names.flatMap((name, number) => (name.startsWith('hiddenpower') ? number : [])));

/**
 * @param {number} move
 * @returns {number} the move that the log says is used then: it keeps the type of a Hidden Power to itself
 */
function asLogged(move) {
  return HIDDEN_POWERS.has(move) ? HIDDEN_POWER : move;
}

/** @param {string} name as it is shown */
function toId(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

/** @typedef {{species: number, level: number, gender: number}} Details */

const GENDERS = classNumbers('genders');
/** There are as many as species, levels and genders that are met. @type {Map<string, Details>} */
const DETAILS = new Map();

/**
 * @param {string} details such as `Charizard-Mega-X, L84, M, shiny`
 * @returns {Details}
 */
function readDetails(details) {
  let read = DETAILS.get(details);
  if (!read) {
    read = parseDetails(details);
    DETAILS.set(details, read);
  }
  return read;
}

/** @param {string} details */
function parseDetails(details) {
  const [name, ...rest] = details.split(', ');
  const level = rest.find((part) => /^L\d+$/.test(part));
  const gender = rest.find((part) => part === 'M' || part === 'F') ?? 'none';
  return {
    species: NUMBERS.species.get(toId(name)) ?? UNKNOWN,
    level: level ? Number(level.slice(1)) : 100,
    gender: /** @type {number} */ (GENDERS.get(gender)),
  };
}

module.exports = {
  NONE,
  NUMBERS,
  UNKNOWN,
  abilityNumber,
  asLogged,
  classNumbers,
  itemNumber,
  moveNumber,
  readDetails,
  spec,
  toId,
};
