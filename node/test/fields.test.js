'use strict';
/** Every field of a command that is not what it should be is refused, and says so. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const fields = require('../lib/fields');
const { Refusal } = require('../lib/refusal');

/**
 * @param {() => unknown} attempt
 * @param {string} code
 * @param {RegExp} [message]
 */
function refused(attempt, code, message = /./) {
  assert.throws(attempt, (error) => {
    assert.ok(error instanceof Refusal, `threw ${error}`);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.ok(error.message.length < 500);
    return true;
  });
}

/**
 * @param {Record<string, unknown>} given
 * @returns {import('../lib/rooms').Command}
 */
const command = (given) => ({ id: 1, op: 'test', ...given });

const CONTROL_CHARACTERS = ['\n', '\r', '\0', '\x1b', '\x7f', '\x85', '\u2028', '\u2029'];
const HALVES = ['\ud83d', '\udc09', 'a\ud83d b', '\udc09\ud83d'];

test('a text is a text, with something in it and not too much', () => {
  assert.equal(fields.requireText({ room: 'é🐉' }, 'room', 3), 'é🐉');
  for (const value of [undefined, null, 5, true, '', [], {}, ['a']]) {
    refused(() => fields.requireText({ room: value }, 'room', 9), 'bad_field', /^room is not a text$/);
  }
  refused(() => fields.requireText({ room: 'abcd' }, 'room', 3), 'bad_field', /4 characters; at most 3/);
  for (const half of HALVES) {
    refused(() => fields.requireText({ room: half }, 'room', 9), 'bad_field', /half a character/);
  }
});

test('a whole number is whole and a number', () => {
  for (const value of [0, -1, 7, Number.MAX_SAFE_INTEGER]) {
    assert.equal(fields.requireWhole(command({ rqid: value }), 'rqid'), value);
  }
  for (const value of [undefined, null, '7', 1.5, NaN, Infinity, 2 ** 53, true, [7], {}]) {
    refused(() => fields.requireWhole(command({ rqid: value }), 'rqid'), 'bad_field', /^rqid is not a whole number$/);
  }
});

test('a seed is one in a notation of the simulator', () => {
  for (const seed of ['1,2,3,4', '0,0,0,0', '65535,65535,65535,65535', 'gen5,0123456789abcdef', 'sodium,0f']) {
    assert.equal(fields.requireSeed({ seed }), seed);
  }
  const wrong = [
    undefined,
    null,
    7,
    [1, 2, 3, 4],
    '',
    '7',
    '1,2,3',
    '1,2,3,4,5',
    '1,2,3,4\n',
    '1,2,3,-4',
    '1,2,3,123456',
    'gen5,0123',
    'gen5,0123456789ABCDEF',
    'sodium,',
    `sodium,${'0'.repeat(65)}`,
    'x'.repeat(100_000),
    {},
  ];
  for (const seed of wrong) refused(() => fields.requireSeed({ seed }), 'rejected', /is not a seed/);
});

test('a side is one of two', () => {
  assert.equal(fields.requireSide(command({ side: 'p1' })), 'p1');
  assert.equal(fields.requireSide(command({ side: 'p2' })), 'p2');
  for (const side of [undefined, null, 1, 'p3', 'P1', 'p1 ', '__proto__', ['p1'], {}]) {
    refused(() => fields.requireSide(command({ side })), 'bad_field', /not p1 or p2/);
  }
});

test('a choice is a text of one line', () => {
  for (const choice of ['move 1', '', 'move 1 +2 terastallize, switch 3', 'move Flabébé 🐉', 'x'.repeat(1000)]) {
    assert.equal(fields.requireChoice(command({ choice })), choice);
  }
  for (const choice of [undefined, null, 1, true, ['move 1'], {}]) {
    refused(() => fields.requireChoice(command({ choice })), 'bad_field', /choice is not a text/);
  }
  refused(() => fields.requireChoice(command({ choice: 'x'.repeat(1001) })), 'invalid', /at most 1000 .* not 1001/);
  for (const character of CONTROL_CHARACTERS) {
    const choice = `move 1${character}>p2 move 2`;
    refused(() => fields.requireChoice(command({ choice })), 'invalid', /control characters/);
  }
});

test('a player has a name that the protocol can carry', () => {
  const seed = '1,2,3,4';
  for (const name of ['Ash', ' Ash ', '"', '>p1', '[Side:p2]', 'Flabébé 🐉', 'x'.repeat(64), '__proto__']) {
    assert.deepEqual(fields.requirePlayer(command({ p1: { name, seed } }), 'p1'), { name, seed });
  }
  for (const player of [undefined, null, 'Ash', 5]) {
    refused(() => fields.requirePlayer(command({ p2: player }), 'p2'), 'bad_field', /^p2 is not an object$/);
  }
  for (const name of [undefined, null, 5, '', '   ', '\t', ['Ash'], {}]) {
    refused(() => fields.requirePlayer(command({ p1: { name, seed } }), 'p1'), 'rejected', /^p1 has no name$/);
  }
  refused(
    () => fields.requirePlayer(command({ p1: { name: 'x'.repeat(65), seed } }), 'p1'),
    'rejected',
    /name of p1 has 65 characters; at most 64/,
  );
  for (const part of ['|', ...CONTROL_CHARACTERS, ...HALVES]) {
    refused(() => fields.requirePlayer(command({ p1: { name: `a${part}b`, seed } }), 'p1'), 'rejected', /protocol cannot/);
  }
});

test('a player has a seed', () => {
  refused(() => fields.requirePlayer(command({ p1: { name: 'Ash' } }), 'p1'), 'rejected', /is not a seed/);
  refused(() => fields.requirePlayer(command({ p1: { name: 'Ash', seed: null } }), 'p1'), 'rejected', /is not a seed/);
});

test('a player may have a team', () => {
  const player = { name: 'Ash', seed: '1,2,3,4' };
  assert.deepEqual(fields.requirePlayer(command({ p1: { ...player, team: null } }), 'p1'), player);
  for (const team of ['', 'Mew||||', 'x'.repeat(25_000)]) {
    assert.deepEqual(fields.requirePlayer(command({ p1: { ...player, team } }), 'p1'), { ...player, team });
  }
  for (const team of [5, true, ['Mew'], {}]) {
    refused(() => fields.requirePlayer(command({ p1: { ...player, team } }), 'p1'), 'rejected', /team of p1 is not a text/);
  }
  refused(
    () => fields.requirePlayer(command({ p1: { ...player, team: 'x'.repeat(25_001) } }), 'p1'),
    'rejected',
    /team of p1 has 25001 characters/,
  );
});

test('nothing but what a battle needs of a player is passed on', () => {
  const player = { name: 'Ash', seed: '1,2,3,4', team: 'Mew||||', avatar: 'x', rating: 5 };
  assert.deepEqual(fields.requirePlayer(command({ p1: { ...player, toString: 'x', valid: true } }), 'p1'), player);
});

test('a player may have an avatar and a rating', () => {
  const player = { name: 'Ash', seed: '1,2,3,4' };
  const read = (/** @type {Record<string, unknown>} */ more) => fields.requirePlayer(command({ p1: { ...player, ...more } }), 'p1');
  assert.deepEqual(read({ avatar: null, rating: null }), player);
  assert.deepEqual(read({ avatar: '#red é', rating: 1500 }), { ...player, avatar: '#red é', rating: 1500 });
  for (const avatar of [5, true, {}, ['red'], 'a|b', 'x'.repeat(65), ...CONTROL_CHARACTERS, ...HALVES]) {
    refused(() => read({ avatar }), 'bad_field', /^avatar /);
  }
  for (const rating of ['1500', 1500.5, true, {}, 1e300]) refused(() => read({ rating }), 'bad_field', /^rating /);
});

test('a reason and what a battle is rated as are parts of a line', () => {
  assert.equal(fields.requireReason({}), '');
  assert.equal(fields.requireReason({ reason: ' lost due to inactivity.' }), ' lost due to inactivity.');
  assert.equal(fields.requireRated({}), undefined);
  assert.equal(fields.requireRated({ rated: 'Tournament battle' }), 'Tournament battle');
  for (const wrong of [5, true, {}, ['x'], 'a|b', 'x'.repeat(301), ...CONTROL_CHARACTERS, ...HALVES]) {
    refused(() => fields.requireReason({ reason: wrong }), 'bad_field', /^reason /);
    refused(() => fields.requireRated({ rated: wrong }), 'bad_field', /^rated /);
  }
});

test('a view is lines, groups of observations, or both', () => {
  const groups = { all: ['team', 'decision', 'field'], always: ['decision'], optional: ['field'] };
  const read = (/** @type {unknown} */ view) => fields.requireViews(command({ view }), groups);
  const lines = { lines: true, observe: null };
  for (const view of [undefined, null, {}, { p1: {} }, { p2: { lines: true } }, { p1: { observe: null } }]) {
    assert.deepEqual(read(view), { p1: lines, p2: lines });
  }
  const both = { lines: true, observe: ['team', 'decision'] };
  assert.deepEqual(read({ p1: { observe: ['team'] } }), { p1: both, p2: lines });
  assert.deepEqual(read({ p1: both, p2: { lines: false, observe: [] } }), { p1: both, p2: { lines: false, observe: ['decision'] } });
  assert.deepEqual(read({ p1: { observe: ['field', 'team', 'field'] } }).p1.observe, ['team', 'decision', 'field']);
  for (const wrong of [5, 'lines', true, []]) {
    refused(() => read(wrong), 'bad_field', /^view is not/);
    refused(() => read({ p1: wrong }), 'bad_field', /^the view of a side/);
    refused(() => read({ p2: { observe: wrong === true || Array.isArray(wrong) ? {} : wrong } }), 'bad_field', /^observe is not a list/);
  }
  refused(() => read({ p3: lines }), 'bad_field', /"p3", which is no side/);
  refused(() => read({ p1: { line: true } }), 'bad_field', /no "line"/);
  refused(() => read({ p1: { lines: 1 } }), 'bad_field', /^lines is not/);
  refused(() => read({ p1: { lines: false } }), 'bad_field', /must observe something/);
  for (const group of ['taem', 'constructor', 5, null, ['team']]) {
    refused(() => read({ p1: { observe: ['team', group] } }), 'bad_field', /^there is no group .*; there are team, decision, field$/);
  }
  refused(() => read({ p1: { observe: ['x'.repeat(1e6)] } }), 'bad_field', /^.{0,300}$/);
});

test('an answer is the number of a request and a choice', () => {
  const read = (/** @type {unknown} */ p1) => fields.requireAnswer(command({ p1 }), 'p1');
  assert.deepEqual(read([7, 'move 1']), { rqid: 7, choice: 'move 1' });
  for (const wrong of [undefined, null, 7, 'move 1', {}, [], [7], [7, 'move 1', 1]]) refused(() => read(wrong), 'bad_field', /^p1 is not a list/);
  for (const rqid of [null, '7', 7.5]) refused(() => read([rqid, 'move 1']), 'bad_field', /^the rqid of p1/);
  for (const choice of [null, 1, {}, ['move 1']]) refused(() => read([7, choice]), 'bad_field', /^the choice of p1/);
});

test('a journal is a list of moves', () => {
  const journal = [
    ['choose', 'p1', 'move 1'],
    ['undo', 'p1', ''],
    ['choose', 'p2', ''],
    ['sheets', null, ''],
    ['forfeit', 'p2', ' lost.'],
    ['tie', null, 'Enough.'],
  ];
  assert.deepEqual(fields.requireMoves(journal), [
    { op: 'choose', side: 'p1', choice: 'move 1' },
    { op: 'undo', side: 'p1' },
    { op: 'choose', side: 'p2', choice: '' },
    { op: 'sheets' },
    { op: 'forfeit', side: 'p2', reason: ' lost.' },
    { op: 'tie', reason: 'Enough.' },
  ]);
  assert.deepEqual(fields.requireMoves([]), []);
  for (const wrong of [null, 'choose', 5, {}]) refused(() => fields.requireMoves(wrong), 'bad_field', /not a list/);
  for (const move of [null, 'choose', 5, {}]) refused(() => fields.requireMoves([move]), 'bad_field', /not a list/);
  for (const op of [undefined, 'open', 'eval', 'constructor']) {
    refused(() => fields.requireMoves([[op, 'p1', 'move 1']]), 'bad_field', /unknown move/);
  }
  for (const op of ['choose', 'undo', 'forfeit']) {
    refused(() => fields.requireMoves([[op, 'p3', 'move 1']]), 'bad_field', /side/);
  }
  for (const op of ['forfeit', 'tie']) {
    refused(() => fields.requireMoves([[op, 'p1', 'a|b']]), 'bad_field', /reason/);
  }
  refused(() => fields.requireMoves([['choose', 'p1']]), 'bad_field', /choice/);
  refused(() => fields.requireMoves([['choose', 'p1', 'a\nb']]), 'invalid', /control/);
});
