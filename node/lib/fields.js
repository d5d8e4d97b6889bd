'use strict';
/** The fields of a command, each checked before it is used. Names, teams and choices are data, never syntax. */

const { toUSVString } = require('node:util');
const { Refusal } = require('./refusal');

/** @typedef {import('./rooms').Command} Command */

const LONGEST_NAME = 64;
const LONGEST_TEAM = 25_000;
const LONGEST_CHOICE = 1_000;
const LONGEST_AVATAR = 64;
const LONGEST_REASON = 300;
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
 * @param {Record<string, unknown>} holder
 * @param {string} field
 * @param {number} longest
 * @returns {string | undefined} a part of a line of the protocol, if there is one
 */
function requirePart(holder, field, longest) {
  const value = holder[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new Refusal('bad_field', `${field} is not a text`);
  if (value.length > longest) {
    throw new Refusal('bad_field', `${field} has ${value.length} characters; at most ${longest} are allowed`);
  }
  if (!isPart(value)) {
    throw new Refusal('bad_field', `${field} has a | or a control character, which the protocol cannot carry`);
  }
  return value;
}

/**
 * @param {string} text
 * @returns {boolean} whether a line of the protocol can carry the text
 */
function isPart(text) {
  return !text.includes('|') && !CONTROL.test(text) && isWellFormed(text);
}

/**
 * @param {string} text
 * @returns {boolean} whether the text has a form in UTF-8
 */
function isWellFormed(text) {
  return toUSVString(text) === text;
}

/**
 * @param {Record<string, unknown>} command
 * @param {string} field
 * @returns {number}
 */
function requireWhole(command, field) {
  const value = command[field];
  if (!Number.isSafeInteger(value)) throw new Refusal('bad_field', `${field} is not a whole number`);
  return /** @type {number} */ (value);
}

/**
 * @param {Record<string, unknown>} command
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
 * @param {Record<string, unknown>} command
 * @returns {import('./room').SideId}
 */
function requireSide(command) {
  const { side } = command;
  if (side !== 'p1' && side !== 'p2') throw new Refusal('bad_field', 'side is not p1 or p2');
  return side;
}

/**
 * @param {Record<string, unknown>} command
 * @returns {string}
 */
function requireChoice(command) {
  const choice = requireWords(command);
  if (choice.length > LONGEST_CHOICE) {
    throw new Refusal('invalid', `a choice has at most ${LONGEST_CHOICE} characters, not ${choice.length}`);
  }
  if (CONTROL.test(choice)) throw new Refusal('invalid', 'a choice has no control characters');
  return choice;
}

/**
 * @param {Record<string, unknown>} command
 * @returns {string} a choice of which nobody has looked yet whether it can be one: that is for whoever is asked
 */
function requireWords({ choice }) {
  if (typeof choice !== 'string') throw new Refusal('bad_field', 'choice is not a text');
  return choice;
}

/**
 * @param {Command} command
 * @param {import('./room').SideId} side
 * @returns {import('./room').Answer} to be looked at as a choice: a refusal of one side's is no refusal of the other's
 */
function requireAnswer(command, side) {
  const answer = command[side];
  if (!Array.isArray(answer) || answer.length !== 2) {
    throw new Refusal('bad_field', `${side} is not a list of the number of a request and a choice`);
  }
  const [rqid, choice] = answer;
  if (!Number.isSafeInteger(rqid)) throw new Refusal('bad_field', `the rqid of ${side} is not a whole number`);
  if (typeof choice !== 'string') throw new Refusal('bad_field', `the choice of ${side} is not a text`);
  return { rqid, choice };
}

/**
 * @param {Command} command
 * @param {import('../observation/spec').Spec['groups']} groups of observations that there are
 * @returns {Record<import('./room').SideId, import('./room').View>}
 */
function requireViews({ view }, groups) {
  if (view === undefined || view === null) return { p1: requireView({}, groups), p2: requireView({}, groups) };
  if (typeof view !== 'object' || Array.isArray(view)) throw new Refusal('bad_field', 'view is not an object');
  const { p1 = {}, p2 = {}, ...others } = /** @type {Record<string, unknown>} */ (view);
  for (const side of Object.keys(others)) throw new Refusal('bad_field', `view has ${quoted(side)}, which is no side`);
  return { p1: requireView(p1, groups), p2: requireView(p2, groups) };
}

/**
 * @param {unknown} view
 * @param {import('../observation/spec').Spec['groups']} groups
 * @returns {import('./room').View}
 */
function requireView(view, groups) {
  if (typeof view !== 'object' || view === null || Array.isArray(view)) {
    throw new Refusal('bad_field', 'the view of a side is not an object');
  }
  const { lines = true, observe = null, ...others } = /** @type {Record<string, unknown>} */ (view);
  for (const field of Object.keys(others)) {
    throw new Refusal('bad_field', `a view has lines and observe, and no ${quoted(field)}`);
  }
  const wanted = { lines: requireFlag({ lines }, 'lines'), observe: observe === null ? null : requireGroups(observe, groups) };
  if (!wanted.lines && !wanted.observe) throw new Refusal('bad_field', 'a view without lines must observe something');
  return wanted;
}

/**
 * @param {unknown} observe
 * @param {import('../observation/spec').Spec['groups']} groups
 * @returns {string[]} names of groups, those that are always there among them, in the order of the specification
 */
function requireGroups(observe, { all, always }) {
  if (!Array.isArray(observe)) throw new Refusal('bad_field', 'observe is not a list of groups');
  for (const group of observe) {
    if (!all.includes(group)) {
      throw new Refusal('bad_field', `there is no group ${quoted(group)} of observations; there are ${all.join(', ')}`);
    }
  }
  return all.filter((group) => observe.includes(group) || always.includes(group));
}

/**
 * @param {unknown} value
 * @returns {string | undefined} enough of it to be known again
 */
function quoted(value) {
  return JSON.stringify(value)?.slice(0, 100);
}

/**
 * @param {Command} command
 * @param {import('./room').SideId} side
 * @returns {import('./room').Player}
 */
function requirePlayer(command, side) {
  const player = /** @type {Record<string, unknown>} */ (command[side]);
  if (typeof player !== 'object' || player === null) throw new Refusal('bad_field', `${side} is not an object`);
  const { name } = player;
  if (typeof name !== 'string' || !name.trim()) throw new Refusal('rejected', `${side} has no name`);
  if (name.length > LONGEST_NAME) {
    throw new Refusal('rejected', `the name of ${side} has ${name.length} characters; at most ${LONGEST_NAME} are allowed`);
  }
  if (!isPart(name)) {
    throw new Refusal('rejected', `the name of ${side} has a | or a control character, which the protocol cannot carry`);
  }
  /** @type {import('./room').Player} */
  const seated = { name, seed: requireSeed(player) };
  const team = requireTeam(player, `the team of ${side}`);
  const avatar = requirePart(player, 'avatar', LONGEST_AVATAR);
  // The simulator writes down all that it is passed.
  if (team !== undefined) seated.team = team;
  if (avatar !== undefined) seated.avatar = avatar;
  if (player.rating !== undefined && player.rating !== null) seated.rating = requireWhole(player, 'rating');
  return seated;
}

/**
 * @param {Record<string, unknown>} holder
 * @param {string} whose what a refusal calls the team
 * @returns {string | undefined}
 */
function requireTeam({ team }, whose) {
  if (team === undefined || team === null) return undefined;
  if (typeof team !== 'string') throw new Refusal('rejected', `${whose} is not a text`);
  if (team.length > LONGEST_TEAM) {
    const message = `${whose} has ${team.length} characters; at most ${LONGEST_TEAM} are allowed`;
    throw new Refusal('rejected', message, ['Your team is over 25KB. Please use a smaller team.']);
  }
  return team;
}

/**
 * @param {Record<string, unknown>} command
 * @returns {string} why a battle ends, or nothing
 */
function requireReason(command) {
  return requirePart(command, 'reason', LONGEST_REASON) ?? '';
}

/**
 * @param {Record<string, unknown>} command
 * @returns {string | undefined} what a battle is rated as, if it is
 */
function requireRated(command) {
  return requirePart(command, 'rated', LONGEST_REASON);
}

/**
 * @param {unknown} journal
 * @returns {import('./room').Move[]}
 */
function requireMoves(journal) {
  if (!Array.isArray(journal)) throw new Refusal('bad_field', 'replay is not a list');
  return journal.map((move) => {
    if (!Array.isArray(move)) throw new Refusal('bad_field', 'replay has a move that is not a list');
    const [op, side, words] = move;
    switch (op) {
      case 'choose':
        return { op, side: requireSide({ side }), choice: requireChoice({ choice: words }) };
      case 'undo':
        return { op, side: requireSide({ side }) };
      case 'forfeit':
        return { op, side: requireSide({ side }), reason: requireReason({ reason: words }) };
      case 'tie':
        return { op, reason: requireReason({ reason: words }) };
      case 'sheets':
        return { op };
      default:
        throw new Refusal('bad_field', 'replay has an unknown move');
    }
  });
}

module.exports = {
  requireAnswer,
  requireChoice,
  requireFlag,
  requireGroups,
  requireMoves,
  requirePlayer,
  requireRated,
  requireReason,
  requireSeed,
  requireSide,
  requireTeam,
  requireText,
  requireViews,
  requireWhole,
  requireWords,
};
