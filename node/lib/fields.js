'use strict';
/** The fields of a command, each checked before it is used. Names, teams and choices are data, never syntax. */

const { toUSVString } = require('node:util');
const { Refusal } = require('./refusal');

/** @typedef {import('./rooms').Command} Command */

const LONGEST_NAME = 64;
const LONGEST_TEAM = 25_000;
const LONGEST_CHOICE = 1_000;
const SEED = /^(?:\d{1,5}(?:,\d{1,5}){3}|gen5,[\da-f]{16}|sodium,[\da-f]{1,64})$/;
const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]/;

/**
 * @param {Record<string, unknown>} command
 * @param {string} field
 * @param {number} longest
 * @returns {string}
 */
function requireText(command, field, longest) {
  const value = command[field];
  if (typeof value !== 'string' || !value) throw new Refusal('bad_field', `${field} is not a text`);
  if (value.length > longest) {
    throw new Refusal('bad_field', `${field} has ${value.length} characters; at most ${longest} are allowed`);
  }
  if (!isWellFormed(value)) throw new Refusal('bad_field', `${field} has half a character`);
  return value;
}

/**
 * @param {string} text
 * @returns {boolean} whether the text has a form in UTF-8
 */
function isWellFormed(text) {
  return toUSVString(text) === text;
}

/**
 * @param {Command} command
 * @param {string} field
 * @returns {number}
 */
function requireWhole(command, field) {
  const value = command[field];
  if (!Number.isSafeInteger(value)) throw new Refusal('bad_field', `${field} is not a whole number`);
  return /** @type {number} */ (value);
}

/**
 * @param {Command} command
 * @param {string} field
 * @returns {boolean}
 */
function requireFlag(command, field) {
  const value = command[field];
  if (typeof value !== 'boolean') throw new Refusal('bad_field', `${field} is not true or false`);
  return value;
}

/**
 * @param {Record<string, unknown>} holder
 * @returns {string} a seed that the simulator's generator takes
 */
function requireSeed(holder) {
  const { seed } = holder;
  if (typeof seed !== 'string' || !SEED.test(seed)) {
    throw new Refusal('rejected', `${JSON.stringify(seed)?.slice(0, 100)} is not a seed of the simulator`);
  }
  return seed;
}

/**
 * @param {Command} command
 * @returns {import('./room').SideId}
 */
function requireSide(command) {
  const { side } = command;
  if (side !== 'p1' && side !== 'p2') throw new Refusal('bad_field', 'side is not p1 or p2');
  return side;
}

/**
 * @param {Command} command
 * @returns {string}
 */
function requireChoice(command) {
  const { choice } = command;
  if (typeof choice !== 'string') throw new Refusal('bad_field', 'choice is not a text');
  if (choice.length > LONGEST_CHOICE) {
    throw new Refusal('invalid', `a choice has at most ${LONGEST_CHOICE} characters, not ${choice.length}`);
  }
  if (CONTROL.test(choice)) throw new Refusal('invalid', 'a choice has no control characters');
  return choice;
}

/**
 * @param {Command} command
 * @param {import('./room').SideId} side
 * @returns {import('./room').Player}
 */
function requirePlayer(command, side) {
  const player = /** @type {Record<string, unknown>} */ (command[side]);
  if (typeof player !== 'object' || player === null) throw new Refusal('bad_field', `${side} is not an object`);
  const { name, team } = player;
  if (typeof name !== 'string' || !name.trim()) throw new Refusal('rejected', `${side} has no name`);
  if (name.length > LONGEST_NAME) {
    throw new Refusal('rejected', `the name of ${side} has ${name.length} characters; at most ${LONGEST_NAME} are allowed`);
  }
  if (name.includes('|') || CONTROL.test(name) || !isWellFormed(name)) {
    throw new Refusal('rejected', `the name of ${side} has a | or a control character, which the protocol cannot carry`);
  }
  const seed = requireSeed(player);
  if (team === undefined || team === null) return { name, seed };
  if (typeof team !== 'string') throw new Refusal('rejected', `the team of ${side} is not a text`);
  if (team.length > LONGEST_TEAM) {
    throw new Refusal('rejected', `the team of ${side} has ${team.length} characters; at most ${LONGEST_TEAM} are allowed`);
  }
  return { name, seed, team };
}

/**
 * @param {unknown} journal
 * @returns {import('./room').Move[]}
 */
function requireMoves(journal) {
  if (!Array.isArray(journal)) throw new Refusal('bad_field', 'replay is not a list');
  return journal.map((move) => {
    if (!Array.isArray(move)) throw new Refusal('bad_field', 'replay has a move that is not a list');
    const [op, side, choice] = move;
    if (op !== 'choose' && op !== 'forfeit') throw new Refusal('bad_field', 'replay has an unknown move');
    const fields = { id: 0, op, side, choice };
    requireSide(fields);
    requireChoice(fields);
    return fields;
  });
}

module.exports = {
  requireChoice,
  requireFlag,
  requireMoves,
  requirePlayer,
  requireSeed,
  requireSide,
  requireText,
  requireWhole,
};
