'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { Dex } = require('pokemon-showdown');
const { copiers } = require('../turbo/copies');

test('every move of every mod is copied as the simulator copies it, down to the order of keys', () => {
  const copierOf = copiers();
  const mods = Object.keys(Dex.includeModData().dexes);
  assert.ok(mods.length > 20);
  for (const mod of mods) {
    for (const move of Dex.mod(mod).moves.all().filter(Object.isFrozen)) {
      const copy = copierOf(move);
      assert.ok(copy, `${mod} ${move.id} is left to vanilla`);
      const expected = { ...Dex.deepClone(move), hit: 0 };
      Object.setPrototypeOf(expected, Object.getPrototypeOf(move));
      assertSame(copy(), expected, `${mod} ${move.id}`);
    }
  }
});

test('two copies of a move share no object with each other or with the move', () => {
  const move = Dex.moves.get('icefang');
  const copy = copiers()(move);
  const [one, other] = [copy?.(), copy?.()];
  assert.ok(one.secondaries.length);
  for (const object of [other, move]) {
    assert.notStrictEqual(one.flags, object.flags);
    assert.notStrictEqual(one.secondaries, object.secondaries);
    assert.notStrictEqual(one.secondaries[0], object.secondaries[0]);
  }
});

test('what is not frozen, or not all through, is left to vanilla', () => {
  const copierOf = copiers();
  assert.strictEqual(copierOf(Dex.moves.get('nosuchmove')), null);
  assert.strictEqual(copierOf(Object.freeze({ id: 'x', flags: {} })), null);
  assert.strictEqual(copierOf(Object.freeze({ id: 'x', hit: 1 })), null);
  assert.strictEqual(copierOf(Object.freeze({ get id() { return 'x'; } })), null);
  assert.strictEqual(copierOf(Object.freeze({ list: Object.freeze([, 1]) })), null);
});

/**
 * @param {any} actual
 * @param {any} expected
 * @param {string} where
 */
function assertSame(actual, expected, where) {
  if (typeof expected !== 'object' || expected === null) {
    assert.ok(Object.is(actual, expected), where);
    return;
  }
  assert.strictEqual(Object.getPrototypeOf(actual), Object.getPrototypeOf(expected), where);
  assert.deepStrictEqual(Reflect.ownKeys(actual), Reflect.ownKeys(expected), where);
  for (const key of Object.keys(expected)) assertSame(actual[key], expected[key], `${where} ${key}`);
}
