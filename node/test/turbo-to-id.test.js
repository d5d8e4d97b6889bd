'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { install, installed } = require('../turbo');

install();
const { toID } = require('pokemon-showdown');
const [{ runtime }] = installed();

/** @param {string} text */
const plainID = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '');

test('ids are those that the simulator makes, the first time and again', () => {
  for (const text of ['', 'Mr. Mime', 'Flabébé', 'İstanbul', '__proto__', 'constructor', '007', '42', ' x ', '💥', 'a'.repeat(500)]) {
    for (let time = 0; time < 3; time++) assert.strictEqual(toID(text), plainID(text));
  }
});

test('whatever has an id gives it, and what is no text gives none', () => {
  assert.strictEqual(toID({ id: 'Ho-Oh' }), 'hooh');
  assert.strictEqual(toID({ userid: 'a b' }), 'ab');
  assert.strictEqual(toID(7), '7');
  for (const nothing of [null, undefined, {}, true, 0n]) assert.strictEqual(toID(nothing), '');
});

test('names from players do not make the memory of ids grow for ever', () => {
  for (let n = 0; n < 50_000; n++) toID(`Player ${n}`);
  toID('x'.repeat(1000));
  assert.ok(runtime.ids.size <= 16384);
  assert.ok(![...runtime.ids.keys()].some((text) => text.length > 40));
  assert.strictEqual(toID('Player 1'), 'player1');
});
