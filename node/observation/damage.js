'use strict';
/** How strong a move is against somebody, as simply as it can be said: base power × STAB × effectiveness. */

const { NONE, names, spec } = require('./numbers');

/** @typedef {import('./spec').Tables} Tables */

const { basePower: BASE_POWER, category: CATEGORY, moveType: TYPE, type1: FIRST_TYPE, type2: SECOND_TYPE } = names.columns;
const STATUS = spec.classes.categories.indexOf('Status');

/** Four points of power are one of the estimate, so that 255 is 1,020: nothing usual is stronger. */
const UNIT = 4;

/**
 * @param {Tables} tables
 * @param {number} move
 * @param {number} stab 1, or what the user's types make of it
 * @param {readonly number[]} types of whom it hits
 */
function estimate(tables, move, stab, types) {
  const row = tables.moves[move];
  if (!row || row[CATEGORY] === STATUS) return 0;
  const chances = tables.chart[row[TYPE]];
  let power = row[BASE_POWER] * stab;
  for (let i = 0; i < types.length; i++) if (types[i] > NONE) power *= chances[types[i]] / 2;
  return Math.min(255, Math.round(power / UNIT));
}

/**
 * @param {Tables} tables
 * @param {number} move
 * @param {readonly number[]} types of the user now; one alone after it has terastallized
 * @param {readonly number[] | null} born the types of its species if it has terastallized, when they still count
 */
function stabOf(tables, move, types, born) {
  const type = tables.moves[move]?.[TYPE];
  if (type === undefined || type <= NONE) return 1;
  const isOwn = types[0] === type || types[1] === type || types[2] === type;
  const isBorn = born !== null && (born[0] === type || born[1] === type);
  return isOwn && isBorn ? 2 : isOwn || isBorn ? 1.5 : 1;
}

/** By generation, the types of every species. @type {WeakMap<Tables, number[][]>} */
const BORN = new WeakMap();

/**
 * @param {Tables} tables
 * @param {number} species
 * @returns {readonly number[]}
 */
function typesOf(tables, species) {
  let born = BORN.get(tables);
  if (!born) {
    born = tables.species.map((row) => (row ? [row[FIRST_TYPE], row[SECOND_TYPE]] : [0, 0]));
    BORN.set(tables, born);
  }
  return born[species] ?? born[0];
}

module.exports = { CATEGORY, STATUS, estimate, stabOf, typesOf };
