'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Dex } = require('pokemon-showdown');
const { nameAll, specOf, tablesOf } = require('../observation/learn');
const { TABLES, fingerprint, readSpec, readTables } = require('../observation/spec');

const spec = readSpec();

test('spec.json is what learn.js makes of the layout and the installed simulator', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(specOf(nameAll(Dex, spec.tables), spec.data))), spec);
  for (const generation of [1, 4, 9]) {
    const text = fs.readFileSync(path.join(TABLES, `gen${generation}.json`), 'utf8');
    assert.equal(tablesOf(Dex, spec.tables, generation), text);
    assert.equal(fingerprint(text), spec.data[`gen${generation}`]);
  }
});

test('a newer simulator renumbers nothing: new names come last, forgotten ones keep their place', () => {
  const newer = {
    species: { all: () => [{ id: 'newmon' }, ...Dex.species.all().filter(({ id }) => id !== 'pikachu')], get: (/** @type {string} */ name) => Dex.species.get(name) },
    moves: { all: () => [{ id: 'newmove' }, ...Dex.moves.all()] },
    items: Dex.items,
    abilities: Dex.abilities,
  };
  const tables = nameAll(newer, spec.tables);
  const { names } = spec.tables.species;
  assert.deepEqual(tables.species.names, [...names, 'newmon']);
  assert.deepEqual(tables.moves.names, [...spec.tables.moves.names, 'newmove']);
});

test('unknown, none and every name have numbers of their own', () => {
  for (const { names } of Object.values(spec.tables)) {
    assert.deepEqual(names.slice(0, 2), ['unknown', 'none']);
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.length < 2 ** 16);
  }
  for (const classes of Object.values(spec.classes)) assert.ok(classes.length < 2 ** 8);
});

test('blocks lie one behind the other, wide numbers first and aligned', () => {
  for (const { blocks, bytes, bytes_with_all: all } of Object.values(spec.layouts)) {
    let end = 0;
    let isWide = true;
    for (const { dtype, offset, count, fields } of blocks) {
      assert.equal(offset, end);
      assert.ok(dtype === 'u8' || isWide, 'a wide block comes after a narrow one');
      isWide = dtype === 'u16';
      end += count * fields.length * (dtype === 'u16' ? 2 : 1);
    }
    assert.equal(end, all);
    const calc = blocks.find(({ group }) => group === 'calc');
    assert.equal(calc?.offset, bytes);
  }
});

test('a spec that was changed by hand is refused', (t) => {
  const original = fs.readFileSync;
  t.mock.method(fs, 'readFileSync', (/** @type {string} */ file, /** @type {any} */ options) => {
    const text = original(file, options);
    return file.endsWith('spec.json') ? String(text).replace(/"version":\d+/, '"version":0') : text;
  });
  assert.throws(() => readSpec(), /spec.json was changed by hand/);
});

test('tables other than those that the spec names are refused', () => {
  assert.throws(() => readTables({ ...spec, data: { ...spec.data, gen3: spec.data.gen4 } }, 3), /tables of gen3/);
});
