'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { Dex } = require('pokemon-showdown');
const v8 = require('node:v8');
const { copiers } = require('../turbo/copies');

v8.setFlagsFromString('--allow-natives-syntax');
/** @type {(one: object, other: object) => boolean} */
const isOfSameClass = /** @type {any} */ (new Function('one', 'other', 'return %HaveSameMap(one, other)'));
v8.setFlagsFromString('--no-allow-natives-syntax');

test('every move of every mod is copied as the simulator copies it; what its copy has beside that is undefined', () => {
  const copierOf = copiers();
  const mods = Object.keys(Dex.includeModData().dexes);
  assert.ok(mods.length > 20);
  for (const mod of mods) {
    const dex = Dex.mod(mod);
    for (const move of dex.moves.all().filter(Object.isFrozen)) {
      const copier = copierOf(move, dex);
      assert.ok(copier, `${mod} ${move.id} is left to vanilla`);
      const copy = copier();
      assert.strictEqual(Object.getPrototypeOf(copy), Object.getPrototypeOf(move));
      assert.strictEqual(copy.hit, 0);
      for (const key of Object.keys(copy)) {
        if (key !== 'hit' && !Object.hasOwn(move, key)) assert.strictEqual(copy[key], undefined, `${mod} ${move.id} ${key}`);
      }
      const expected = Dex.deepClone(move);
      for (const key of Object.keys(expected)) assertSame(copy[key], expected[key], `${mod} ${move.id} ${key}`);
    }
  }
});

test('all copies of the moves of a dex share a hidden class, whichever dexes are used beside it', () => {
  const copierOf = copiers();
  for (const mod of ['gen9', 'gen1', 'gen4', 'gen9']) {
    const dex = Dex.mod(mod);
    const [first, ...others] = dex.moves.all().map((move) => copierOf(move, dex)?.());
    for (const other of others) assert.ok(isOfSameClass(first, other), `${mod} ${other.id}`);
  }
});

test('what a battle adds to active moves leaves them in their class', () => {
  const copy = copiers()(Dex.moves.get('tackle'), Dex);
  const [plain, changed] = [copy?.(), copy?.()];
  for (const key of ['auraBooster', 'hasBounced', 'isExternal', 'moveHitData', 'pranksterBoosted', 'totalDamage', 'multihit']) {
    changed[key] = {};
    assert.ok(isOfSameClass(plain, changed), key);
  }
  changed.unheardOf = 1;
  assert.ok(!isOfSameClass(plain, changed));
});

test('a move that has what no other of its dex has is copied all the same', () => {
  const move = Object.freeze({ id: 'x', ownIdea: 1 });
  const copy = copiers()(move, Dex)?.();
  assert.strictEqual(copy.ownIdea, 1);
  assert.strictEqual(copy.hit, 0);
  assert.ok(Object.hasOwn(copy, 'basePower'));
});

test('two copies of a move share no object with each other or with the move', () => {
  const move = Dex.moves.get('icefang');
  const copy = copiers()(move, Dex);
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
  assert.strictEqual(copierOf(Dex.moves.get('nosuchmove'), Dex), null);
  assert.strictEqual(copierOf(Object.freeze({ id: 'x', flags: {} }), Dex), null);
  assert.strictEqual(copierOf(Object.freeze({ id: 'x', hit: 1 }), Dex), null);
  assert.strictEqual(copierOf(Object.freeze({ get id() { return 'x'; } }), Dex), null);
  assert.strictEqual(copierOf(Object.freeze({ list: Object.freeze([, 1]) }), Dex), null);
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
