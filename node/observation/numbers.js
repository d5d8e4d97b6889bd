'use strict';
/** From the names in requests to the numbers of spec.json: 0 for unknown and 1 for none. */

const { Details } = require('./lines');
const { namesOf } = require('./names');
const { readSpec } = require('./spec');
const { NONE, UNKNOWN } = require('./tracked-pokemon');

const spec = readSpec();
const names = namesOf(spec);
/** Moves whose names in requests end with their power. */
const POWERED = /^(hiddenpower[a-z]*|return|frustration)\d+$/;

/** @param {string} id of an item, or nothing for none */
function itemNumber(id) {
  return id ? names.find('items', id) : NONE;
}

/** @param {string} id of an ability, or nothing for none */
function abilityNumber(id) {
  return id && id !== 'noability' ? names.find('abilities', id) : NONE;
}

/** @param {string} id of a move, `return102` and `hiddenpowerfire60` among them */
function moveNumber(id) {
  return names.find('moves', id) || names.find('moves', POWERED.exec(id)?.[1] ?? '');
}

const HIDDEN_POWER = names.find('moves', 'hiddenpower');
const HIDDEN_POWERS = new Set(spec.tables.moves.names.flatMap((name, move) => (name.startsWith('hiddenpower') ? move : [])));

/**
 * @param {number} move
 * @returns {number} the move that the log says is used then: it keeps the type of a Hidden Power to itself
 */
function asLogged(move) {
  return HIDDEN_POWERS.has(move) ? HIDDEN_POWER : move;
}

/**
 * @param {string} text such as `Charizard-Mega-X, L84, M, shiny`
 * @returns {{species: number, level: number, gender: number}}
 */
function readDetails(text) {
  const { species, level, gender } = new Details(text);
  return { species: names.look('species', species), level, gender: names.genders.get(gender) ?? UNKNOWN };
}

module.exports = { NONE, UNKNOWN, abilityNumber, asLogged, itemNumber, moveNumber, names, readDetails, spec };
