'use strict';
/** The identity suite: a short run of it, and that it finds what is wrong. `make identity` is the long one. */

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const { promisify } = require('node:util');
const { judge } = require('../identity/coverage');
const { explain } = require('../identity/compare');
const { names, pool } = require('../identity/given');
const { Plan } = require('../identity/plan');
const { Policy } = require('../identity/policy');
const { Random, deal } = require('../identity/random');
const { failureText, summary } = require('../identity/report');
const { NO_PATCH, Suite } = require('../identity/suite');
const { simulator } = require('./battles');

const RUN = path.join(__dirname, '..', 'identity', 'run.js');

/** @typedef {import('../identity/play').Spec} Spec */

/** @type {Spec[]} */
const SHORT = [
  { format: 'gen1randombattle', teams: 'generated', kind: 'plain', seed: 1 },
  { format: 'gen2randombattle', teams: 'generated', kind: 'serialise', seed: 1 },
  { format: 'gen3randombattle', teams: 'generated', kind: 'fork', seed: 1 },
  { format: 'gen4randombattle', teams: 'generated', kind: 'replay', seed: 1 },
  { format: 'gen5randombattle', teams: 'generated', kind: 'debug', seed: 1 },
  { format: 'gen6randombattle', teams: 'generated', kind: 'together', seed: 1 },
  { format: 'gen7randombattle', teams: 'generated', kind: 'serialise', seed: 1 },
  { format: 'gen8randombattle', teams: 'generated', kind: 'fork', seed: 1 },
  { format: 'gen9randombattle', teams: 'generated', kind: 'replay', seed: 1 },
  { format: 'gen9randombattle', teams: 'generated', kind: 'plain', seed: 2 },
  { format: 'gen9randomdoublesbattle', teams: 'generated', kind: 'fork', seed: 1 },
  { format: 'gen9multirandombattle', teams: 'generated', kind: 'serialise', seed: 1 },
  { format: 'gen9customgame', teams: 'illusion', kind: 'fork', seed: 1 },
  { format: 'gen9customgame', teams: 'formes', kind: 'plain', seed: 1 },
  { format: 'gen9customgame', teams: 'scrambled', kind: 'debug', seed: 1 },
  { format: 'gen9doublescustomgame', teams: 'tatsugiri', kind: 'plain', seed: 1 },
  { format: 'gen9doublescustomgame', teams: 'gas', kind: 'serialise', seed: 1 },
  { format: 'gen8customgame', teams: 'dynamax', kind: 'plain', seed: 1 },
  { format: 'gen7customgame', teams: 'zmoves', kind: 'plain', seed: 1 },
  { format: 'gen6triplescustomgame', teams: 'megas', kind: 'plain', seed: 1 },
  { format: 'gen1customgame', teams: 'trapping', kind: 'fork', seed: 1 },
];

/** @typedef {Partial<import('../identity/processes').Options & {bisect: boolean}>} Options */

/** @param {Options} [options] */
function newSuite(options) {
  return new Suite(
    { off: [], requires: [], watch: false, bisect: false, ...options },
    { played: () => {}, failed: () => {} },
  );
}

/**
 * @param {Spec[]} specs
 * @param {Options} [options]
 */
async function compared(specs, options) {
  const suite = newSuite(options);
  await suite.run((index) => specs[index], 0, specs.length);
  return suite;
}

test('turbo plays every generation, doubles, triples, four sides and given teams as vanilla does', async () => {
  const suite = await compared(SHORT);
  assert.deepEqual(suite.failures.map((failure) => failureText(failure)), []);
  assert.deepEqual([...suite.errors.keys()], []);
  assert.equal(suite.played, SHORT.length);
  assert.deepEqual(suite.patches.filter(({ on }) => !on), []);
  assert.ok(suite.isSame);
});

test('a patch that is wrong is found and named', async () => {
  const requires = [path.join(__dirname, 'identity', 'wrong-patch.js')];
  const { failures } = await compared([SHORT[9]], { requires, bisect: true });
  assert.equal(failures.length, 1);
  const [failure] = failures;
  assert.equal(failure.blame, 'wrong');
  assert.ok(failure.aspects.includes('seed'));
  const again = 'again: node identity/run.js --format gen9randombattle --teams generated --kind plain --seed 2';
  assert.ok(failureText(failure).includes(`${again}\n`));
  const conditions = failureText(failure, '--first', { off: ['to-id', 'stats'], requires: ['wrong.js'] });
  assert.ok(conditions.includes(`${again} --off to-id,stats --require "wrong.js"\n`));
  assert.match(failure.text, /^ {2}log, line \d+ of \d+/m);
});

test('no patch is blamed for what differs without any', async () => {
  const requires = [path.join(__dirname, 'identity', 'wrong-floor.js')];
  const { failures } = await compared([SHORT[9]], { requires, bisect: true });
  assert.deepEqual(failures.map(({ blame }) => blame), [NO_PATCH]);
  assert.match(failureText(failures[0]), /patch: none; it differs without any of them too/);
});

test('battles that neither can play are not taken for the same', async () => {
  const suite = await compared([{ ...SHORT[0], format: 'gen9ou' }]);
  assert.deepEqual([suite.played, suite.compared, suite.failures], [1, 0, []]);
  assert.match(summary(suite, 1), /^nothing was compared: no battle could be played$/m);
});

test('a patch that does not fit is not taken for the same', async () => {
  const requires = [path.join(__dirname, 'identity', 'unfit-patch.js')];
  const suite = await compared([SHORT[0]], { requires, off: ['listeners'] });
  assert.deepEqual([suite.compared, suite.failures, suite.isSame], [1, [], false]);
  assert.deepEqual(suite.refused.map(({ name }) => name), ['unfit']);
  assert.match(summary(suite, 1), /^the same as far as turbo was there: unfit did not fit/m);
});

test('a difference that was not looked at alone is repeated with the battles before it', () => {
  const found = { spec: SHORT[0], index: 7, since: 3, aspects: ['log'], text: '', blame: '' };
  const again = 'node identity/run.js --first 3 --battles 5';
  assert.ok(failureText(found).endsWith(`again: ${again}`));
  const suite = newSuite();
  suite.failures.push(found, { ...found, alone: true });
  const alone = `node identity/run.js --format ${SHORT[0].format} --teams generated --kind ${SHORT[0].kind}`;
  const lines = summary(suite, 1).split('\n');
  assert.deepEqual(lines.slice(-4).filter((_, index) => index % 2), [`    ${again}`, `    ${alone} --seed ${SHORT[0].seed}`]);
});

test('a run that was interrupted says so', () => {
  const suite = newSuite();
  suite.stopped = true;
  assert.match(summary(suite, 1), /^interrupted: [^]*\nnothing was compared/);
});

for (const [argv, message] of /** @type {[string, RegExp][]} */ ([
  ['--battles 0', /--battles takes a whole number from 1 on, not "0"/],
  ['--format gen1randombattle --seed x', /--seed takes a whole number from 0 on, not "x"/],
  ['--format nosuch', /Unrecognized format "nosuch"/],
  ['--format gen1randombattle --teams nosuch', /there is no kind of teams "nosuch"; there are generated, scrambled/],
  ['--format gen1randombattle --kind nosuch', /there is no kind "nosuch"; there are plain/],
  ['--patches nosuch', /there is no patch "nosuch"; there are to-id/],
  ['--off to-id,nosuch', /there is no patch "nosuch"; there are to-id/],
  ['--kind plain', /--kind goes with --format/],
  ['--first 2 --format gen1randombattle', /--first goes without --format/],
  ['--no-watch --coverage file', /--coverage needs what --no-watch leaves out/],
])) {
  test(`the suite does not begin with ${argv}`, async () => {
    const run = promisify(execFile)(process.execPath, [RUN, ...argv.split(' ')]);
    await assert.rejects(run, (/** @type {any} */ error) => error.code === 2 && message.test(error.stderr));
  });
}

test('a battle differs from itself in nothing', async () => {
  const { play } = require('../identity/play');
  const { extractChannelMessages } = require('pokemon-showdown/dist/sim/battle');
  /** @type {any} */
  const whole = { ...simulator, extractChannelMessages };
  const [random, now, draw] = [Math.random, Date.now, simulator.PRNG.generateSeed];
  try {
    for (const spec of [SHORT[20], SHORT[3]]) {
      assert.deepEqual(play(whole, spec).digests(), play(whole, spec).digests());
    }
  } finally {
    [Math.random, Date.now, simulator.PRNG.generateSeed] = [random, now, draw];
  }
});

test('the plan plays every format in turn, and none for four sides in a room', () => {
  const plan = new Plan(simulator);
  const specs = Array.from({ length: 4_000 }, (_, index) => plan.at(index));
  const formats = simulator.Dex.formats.all().filter(({ effectType }) => effectType === 'Format');
  const played = new Set(specs.map(({ format }) => format));
  assert.deepEqual(formats.map(({ id }) => id).filter((id) => !played.has(id)), []);
  const crowded = new Set(formats.filter(({ playerCount }) => playerCount > 2).map(({ id }) => String(id)));
  const inRoom = specs.filter(({ kind }) => kind === 'fork' || kind === 'replay');
  assert.deepEqual(inRoom.filter(({ format }) => crowded.has(format)), []);
});

test('given teams name what exists', () => {
  const { Dex } = simulator;
  for (const name of new Set(names().map((theme) => theme.name))) {
    for (const { species, item, ability, moves } of pool(name)) {
      const parts = [Dex.species.get(species), Dex.items.get(item), Dex.abilities.get(ability)];
      const all = [...parts, ...moves.map((/** @type {string} */ move) => Dex.moves.get(move))];
      assert.deepEqual(all.filter(({ exists }) => !exists).map(({ id }) => `${name}: ${id}`), []);
    }
  }
});

test('hands from a deck hold every card', () => {
  const cards = Array.from({ length: 100 }, (_, index) => index);
  const dealt = Array.from({ length: 15 }, (_, hand) => deal(cards, 'deck', hand, 7)).flat();
  assert.equal(new Set(dealt.slice(0, 100)).size, 100);
  assert.deepEqual(deal(cards, 'deck', 3, 7), dealt.slice(21, 28));
});

test('a policy and its copy choose alike', () => {
  const side = { pokemon: [{ condition: '1/1', active: true }] };
  const request = { active: [{ moves: [{ id: 'a' }, { id: 'b' }] }], side };
  const policy = new Policy(new Random('seed'), { width: 1, sides: 2 });
  for (let n = 0; n < 10; n++) policy.choose(request);
  const copy = policy.copy();
  for (let n = 0; n < 50; n++) assert.equal(policy.choose(request), copy.choose(request));
});

test('a difference is shown where it is, by its place in the state', () => {
  /** @param {number} hp */
  const answer = (hp) => ({
    id: 1,
    digests: { states: String(hp) },
    lines: { states: ['{"turn":1}', JSON.stringify({ turn: 2, sides: [{ pokemon: [{ hp }] }] })] },
    error: '',
    turns: 2,
  });
  const text = explain(answer(10), answer(11));
  assert.match(text, /states, line 2 of 2, at sides\.0\.pokemon\.0\.hp:/);
});

test('what was reached of the callbacks is counted by kind, and by whose they are', () => {
  const callbacks = [
    { name: 'moves.a.onHit', kind: 'moves', mod: '', places: ['data/moves.js:1', 'data/moves.js:0'] },
    { name: 'gen4/moves.a.onHit', kind: 'moves', mod: 'gen4', places: ['data/mods/gen4/moves.js:9'] },
  ];
  assert.deepEqual(judge(callbacks, new Set(['data/moves.js:0'])), {
    shares: [
      { kind: 'moves', reached: 1, all: 2 },
      { kind: 'shared by all', reached: 1, all: 1 },
      { kind: "a generation's own", reached: 0, all: 1 },
      { kind: 'all', reached: 1, all: 2 },
    ],
    missed: ['gen4/moves.a.onHit'],
  });
});
