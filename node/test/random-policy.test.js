'use strict';
/** The random policy. Its twin in Python is compared with it in tests/bridge/test_random_policy.py. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { RandomPolicy } = require('../lib/random-policy');
const { playOut } = require('../lib/warm-up');
const { DOUBLES, RANDOM, TRAPS, play, policies, started } = require('./battles');

const BENCH = [
  { condition: '100/100', active: true },
  { condition: '0 fnt', active: false },
  { condition: '50/100 par', active: false },
  { condition: '100/100', active: false },
];

/**
 * @param {any} request
 * @returns {string[]} all that the policy ever chooses
 */
function possible(request, tries = 500) {
  const policy = new RandomPolicy(99);
  return [...new Set(Array.from({ length: tries }, () => policy.choose(request)))].sort();
}

test('the same seed makes the same choices', () => {
  const request = { active: [{ moves: [{}, {}, {}, {}] }], side: { pokemon: BENCH } };
  const [first, second] = [new RandomPolicy(7), new RandomPolicy(7)];
  for (let n = 0; n < 100; n++) assert.equal(first.choose(request), second.choose(request));
});

test('its numbers are those of a 32-bit xorshift', () => {
  const policy = new RandomPolicy(1);
  const request = { forceSwitch: [true], side: { pokemon: new Array(10_000).fill({ condition: '1/1', active: false }) } };
  const chosen = [1, 2, 3].map(() => Number(policy.choose(request).slice('switch '.length)) - 1);
  assert.deepEqual(chosen, [270_369, 67_634_689, 2_647_435_461].map((x) => x % 10_000));
});

test('it chooses among what is legal', () => {
  const moves = [{}, { disabled: true }, {}];
  assert.deepEqual(possible({ active: [{ moves }], side: { pokemon: BENCH } }), ['move 1', 'move 3', 'switch 3', 'switch 4']);
  assert.deepEqual(possible({ active: [{ moves, trapped: true }], side: { pokemon: BENCH } }), ['move 1', 'move 3']);
  assert.deepEqual(possible({ forceSwitch: [true], side: { pokemon: BENCH } }), ['switch 3', 'switch 4']);
  const reviving = [{ ...BENCH[0], reviving: true }, ...BENCH.slice(1)];
  assert.deepEqual(possible({ forceSwitch: [true], side: { pokemon: reviving } }), ['switch 2']);
});

test('two sides of a field do not choose the same bench', () => {
  const pokemon = [BENCH[0], BENCH[0], BENCH[2], BENCH[3]];
  assert.deepEqual(possible({ forceSwitch: [true, true], side: { pokemon } }), ['switch 3, switch 4', 'switch 4, switch 3']);
  assert.deepEqual(possible({ forceSwitch: [true, false], side: { pokemon } }), ['switch 3, pass', 'switch 4, pass']);
});

for (const battle of [RANDOM, DOUBLES, TRAPS]) {
  test(`whole battles of ${battle.format} are played, and what is refused is asked again`, () => {
    const room = started(battle);
    for (const { refused, choice, p1, p2 } of play(room, policies())) {
      const again = choice.startsWith('p1') ? p1 : p2;
      if (refused) assert.ok(again?.request, `${choice} was refused: ${refused}`);
    }
    assert.ok(room.ended);
  });
}

test('a warm-up plays the same battles', () => {
  const [first, second] = [started(TRAPS), started(TRAPS)];
  const decisions = playOut(first, policies());
  play(second, policies());
  assert.ok(decisions > 10);
  assert.deepEqual(first.battle.inputLog, second.battle.inputLog);
});
