'use strict';
/**
 * Draws teams for the tests of observations: reads orders as JSON from its input, and writes a packed team for each.
 *
 * No two Pokémon of a team have the same base species, by which poke-env tells them apart.
 */

const fs = require('node:fs');
const path = require('node:path');
const { given } = require('../identity/given');
const { loadSimulator } = require('../lib/simulator');

/** @typedef {{format: string, from: string, number: number}} Order `from` is a theme, or a format with random teams */

const SIZE = 6;
const { Dex, PRNG, Teams } = loadSimulator(path.join(__dirname, '..', 'node_modules', 'pokemon-showdown'));

/** @param {Order} order */
function draw({ format, from, number }) {
  const dex = Dex.forFormat(Dex.formats.get(format));
  const drawn = Dex.formats.get(from).team ? generated(from, number) : given(from, dex, number);
  const seen = new Set();
  const team = [];
  for (const set of drawn) {
    const { baseSpecies } = dex.species.get(set.species);
    if (!seen.has(baseSpecies)) team.push({ ...set, name: '' });
    seen.add(baseSpecies);
  }
  return Teams.pack(/** @type {any} */ (team.slice(0, SIZE)));
}

/**
 * @param {string} from
 * @param {number} number
 * @returns {any[]}
 */
function generated(from, number) {
  const random = new PRNG(/** @type {any} */ ([number, number, number, number]));
  return Teams.generate(from, { seed: /** @type {any} */ (random.getSeed()) });
}

/** @type {Order[]} */
const orders = JSON.parse(fs.readFileSync(0, 'utf8'));
fs.writeSync(1, JSON.stringify(orders.map(draw)));
