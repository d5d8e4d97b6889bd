'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { install } = require('../turbo');

install();
const Dex = /** @type {any} */ (require('pokemon-showdown').Dex);

/** @returns {Map<string, object>} the types that turbo remembers */
function remembered() {
  const symbol = Object.getOwnPropertySymbols(Dex).find(({ description }) => description === 'chart');
  assert.ok(symbol);
  return Dex[symbol].taken;
}

test('a type is known however it is written, and remembered by its name alone', () => {
  for (const written of ['Flying', 'flying', 'FLYING', ...Array.from({ length: 100 }, (_, n) => `Fly${'-'.repeat(n)}ing`)]) {
    assert.strictEqual(Dex.getImmunity('Ground', written), false);
    assert.strictEqual(Dex.getImmunity('Ground', { getTypes: () => [written] }), false);
    assert.strictEqual(Dex.getEffectiveness('Electric', written), 1);
    assert.strictEqual(Dex.getEffectiveness('Electric', { types: Object.freeze([written, 'Water']) }), 2);
  }
  assert.deepStrictEqual([...remembered().keys()], ['Flying', 'Water']);
});

test('what is no type is immune to nothing', () => {
  for (const nothing of ['', '???', 'constructor', 'Nope']) {
    assert.strictEqual(Dex.getImmunity('Ground', nothing), true);
    assert.strictEqual(Dex.getEffectiveness('Ground', nothing), 0);
  }
});
