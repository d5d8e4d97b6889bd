'use strict';
/** What turbo loads later is, for who asks, what vanilla has loaded before: in every mod, for every generator of teams. */

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { test } = require('node:test');
const { FOLDER } = require('./battles');

const REGISTER = path.join(__dirname, '..', 'turbo', 'register.js');
/** Prints fingerprints of all that is made later, and which files were loaded before anybody asked for it. */
const SURVEY = `
  const { createHash } = require('node:crypto');
  const others = require(process.argv[1]);
  const { Dex, Teams } = others;
  const print = (value) => createHash('sha1').update(JSON.stringify(value) ?? 'nothing').digest('hex');
  const SETS = ['randomSets', 'randomDoublesSets', 'randomFactorySets', 'randomBSSFactorySets', 'random1v1FactorySets',
    'randomOldGenFactorySets', 'randomDraftFactoryMatchups', 'cachedStatusMoves'];
  const LATER = /dist.(data.learnsets|data.pokemongo|data.random-battles.*factory|lib.repl|lib.sql)/;
  Dex.species.get('pikachu');
  Teams.generate('gen9randombattle', { seed: [1, 2, 3, 4] });
  const loaded = Object.keys(require.cache).filter((file) => LATER.test(file)).length;
  const seen = { dex: Object.keys(Dex), others: Object.keys(others), manager: Object.keys(others.ProcessManager) };
  for (const [mod, dex] of Object.entries(Dex.includeMods().dexes)) {
    seen[mod] = [Object.keys(dex.data), print(dex.data.Learnsets), print(dex.data.PokemonGoData), print(dex.data.Scripts)];
  }
  for (const format of Dex.formats.all().filter(({ team }) => team)) {
    let generator;
    try {
      generator = Teams.getGenerator(format, [1, 2, 3, 4]);
    } catch (error) {
      generator = { randomSets: String(error) };
    }
    seen[format.id] = SETS.map((name) => print(generator[name]));
  }
  seen.aliases = print([...Dex.loadAliases()]);
  seen.fuzzy = print([...Dex.fuzzyAliases]);
  seen.found = ['lando t', 'zard x', 'pikachoo', 'choice scraf'].map((text) => Dex.dataSearch(text));
  seen.kinds = [others.Repl, others.Net, others.SQL, others.FS].map((thing) => typeof thing);
  console.log(JSON.stringify({ loaded, seen }));
`;

/** @param {string[]} options of Node @returns {Promise<{loaded: number, seen: Record<string, any>}>} */
async function survey(options) {
  const { stdout } = await promisify(execFile)(process.execPath, [...options, '-e', SURVEY, FOLDER]);
  return JSON.parse(stdout);
}

test('what turbo loads later is what vanilla has', { timeout: 120_000 }, async () => {
  const [vanilla, turbo] = await Promise.all([survey([]), survey(['--require', REGISTER])]);
  assert.deepEqual(turbo.seen, vanilla.seen);
  assert.ok(Object.keys(vanilla.seen).length > 100);
  assert.ok(vanilla.loaded > 5);
  assert.equal(turbo.loaded, 0);
});
