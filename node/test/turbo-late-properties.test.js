'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { install } = require('../turbo');

install();
const { Battle, PRNG } = require('pokemon-showdown');

/** @returns {any} */
function anyPokemon() {
  const seed = PRNG.convertSeed(/** @type {any} */ ([1, 2, 3, 4]));
  const player = { name: 'A', seed };
  const battle = new Battle(/** @type {any} */ ({ formatid: 'gen9randombattle', seed, p1: player, p2: player }));
  return battle.sides[0].pokemon[0];
}

test('a Pokémon is serialised with its late properties in the order in which they came', () => {
  const first = Object.keys(anyPokemon().toJSON());
  for (const late of [
    ['terastallized', 'staleness', 'lastMoveTargetLoc'],
    ['lastMoveTargetLoc', 'terastallized', 'pendingStaleness'],
    ['pendingStaleness', 'lastMoveTargetLoc', 'staleness', 'terastallized'],
  ]) {
    const pokemon = anyPokemon();
    for (const [value, key] of late.entries()) pokemon[key] = value;
    const state = pokemon.toJSON();
    assert.deepStrictEqual(Object.keys(state).filter((key) => !first.includes(key)), late);
    for (const [value, key] of late.entries()) assert.strictEqual(state[key], value);
  }
});

test('what came after a property that is gone comes last, and what is undefined is left out', () => {
  const pokemon = anyPokemon();
  pokemon.terastallized = 'Fire';
  pokemon.lastMoveTargetLoc = 1;
  pokemon.staleness = undefined;
  delete pokemon.terastallized;
  const keys = Object.keys(pokemon.toJSON());
  assert.strictEqual(keys.filter((key) => key !== 'set').at(-1), 'lastMoveTargetLoc');
  assert.ok(!keys.includes('staleness'));
});
