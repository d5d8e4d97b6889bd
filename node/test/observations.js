'use strict';
/** Reads observations back, for tests: what spec.json says of the bytes, by name. */

const { spec } = require('../observation/numbers');

/**
 * @param {string} text an observation as base64
 * @param {'singles' | 'doubles'} [game]
 */
function read(text, game = 'singles') {
  const bytes = Buffer.from(text, 'base64');
  const { blocks, slots, actions } = spec.layouts[game];
  /** @type {Record<string, Record<string, number>[]>} */
  const read = {};
  for (const { group, name, dtype, offset, count, fields } of blocks) {
    if (offset >= bytes.length) continue;
    const width = dtype === 'u16' ? 2 : 1;
    read[`${group}.${name}`] = Array.from({ length: count }, (_, entry) =>
      Object.fromEntries(
        fields.map((field, index) => [field.name, bytes.readUIntLE(offset + width * (entry * fields.length + index), width)]),
      ),
    );
  }
  const bits = read['decision.mask'].map(({ bits: byte }) => byte);
  const legal = Array.from({ length: slots }, (_, slot) =>
    Array.from({ length: actions }, (__, action) => action).filter(
      (action) => bits[slot * (bits.length / slots) + (action >> 3)] & (1 << (action & 7)),
    ),
  );
  return { bytes, read, legal };
}

/**
 * @param {number} number
 * @param {'species' | 'moves' | 'items' | 'abilities'} table
 */
function nameOf(number, table) {
  return spec.tables[table].names[number];
}

module.exports = { nameOf, read };
