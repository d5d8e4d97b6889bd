'use strict';
/**
 * The identity suite: vanilla and turbo play the same battles, and everything that can be seen of them is compared.
 *
 * node identity/run.js --help
 */

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { loadSimulator } = require('../lib/simulator');
const { inventory, judge } = require('./coverage');
const { names } = require('./given');
const { Plan } = require('./plan');
const { KINDS } = require('./play');
const { Progress } = require('./progress');
const { coverageText, failureText, formatsText, summary } = require('./report');
const { Suite } = require('./suite');
const { patches } = require('../turbo/patches');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./play').Kind} Kind
 */

const HELP = `Plays the same battles in vanilla and in turbo, and compares all that can be seen of them.

  node identity/run.js [--battles 4000] [--first 0]      the suite, or so much of it
  node identity/run.js --format F [--teams T] [--kind K] [--seed N] [--battles N]

  --format    a format, custom rules behind @@@ included
  --teams     generated (as the format draws them), scrambled, plundered, or the name of given ones; by default
              generated, or scrambled where a format draws none
  --formats   prints which formats there are, and where the simulator draws no teams, why not
  --kind      ${KINDS.join(', ')}; else one after the other
  --seed      of the first of these battles; more follow it
  --off a,b   leaves out these patches;  --patches a,b  has none but these and what they need
  --bisect    finds the patch that is to blame for each difference
  --coverage FILE   writes down the callbacks that no battle reached;  --no-watch  does not look at them, and is faster
  --require FILE    loads this before turbo in its process`;

const FOLDER = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');
/** Ways to make teams for any format. */
const TEAMS = ['generated', 'scrambled', 'plundered'];

function parse() {
  const { values } = parseArgs({
    options: {
      battles: { type: 'string' },
      first: { type: 'string' },
      format: { type: 'string' },
      teams: { type: 'string' },
      kind: { type: 'string' },
      seed: { type: 'string' },
      off: { type: 'string', default: '' },
      patches: { type: 'string' },
      bisect: { type: 'boolean', default: false },
      coverage: { type: 'string' },
      'no-watch': { type: 'boolean', default: false },
      require: { type: 'string', multiple: true, default: [] },
      formats: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  requireOneOf('kind', values.kind, KINDS);
  requireOneOf('kind of teams', values.teams, [...TEAMS, ...new Set(names().map(({ name }) => name))]);
  for (const name of listed(values.off, values.patches)) requireOneOf('patch', name, patches.map((patch) => patch.name));
  for (const option of /** @type {const} */ (['teams', 'kind', 'seed'])) {
    if (values[option] !== undefined && values.format === undefined) throw new Error(`--${option} goes with --format`);
  }
  if (values.first !== undefined && values.format !== undefined) throw new Error('--first goes without --format');
  if (values['no-watch'] && values.coverage !== undefined) throw new Error('--coverage needs what --no-watch leaves out');
  return values;
}

/**
 * @param {string} what
 * @param {string | undefined} name
 * @param {readonly string[]} known
 */
function requireOneOf(what, name, known) {
  if (name !== undefined && !known.includes(name)) {
    throw new Error(`there is no ${what} ${JSON.stringify(name)}; there are ${known.join(', ')}`);
  }
}

/** @param {(string | undefined)[]} lists with commas */
function listed(...lists) {
  return lists.flatMap((list) => list?.split(',').filter(Boolean) ?? []);
}

/**
 * @param {string} option
 * @param {string | undefined} value
 * @param {number} otherwise
 * @param {number} least
 */
function whole(option, value, otherwise, least) {
  const number = value === undefined ? otherwise : Number(value);
  if (value === '' || !Number.isSafeInteger(number) || number < least) {
    throw new Error(`--${option} takes a whole number from ${least} on, not ${JSON.stringify(value)}`);
  }
  return number;
}

/** @typedef {ReturnType<typeof parse>} Options */

/**
 * @param {Options} options
 * @returns {string[]} patches to leave out
 */
function unwanted({ off, patches: only }) {
  const wanted = new Set(listed(only));
  for (const patch of [...patches].reverse()) {
    if (wanted.has(patch.name)) for (const name of patch.needs ?? []) wanted.add(name);
  }
  const out = only === undefined ? [] : patches.map(({ name }) => name).filter((name) => !wanted.has(name));
  return [...new Set([...out, ...listed(off)])];
}

/**
 * @param {Options} options
 * @returns {{at: (index: number) => Spec, first: number, count: number, selection: string}} the battles to play, and
 *   the options that say which, but for the number of the first
 */
function battles({ battles: wanted, first, format, teams, kind, seed }) {
  const simulator = loadSimulator(FOLDER);
  if (format === undefined) {
    const plan = new Plan(simulator);
    const count = whole('battles', wanted, 4000, 1);
    return { at: (index) => plan.at(index), first: whole('first', first, 0, 0), count, selection: '--first' };
  }
  teams ??= drawsTeams(simulator, format) ? 'generated' : 'scrambled';
  const start = whole('seed', seed, 0, 0);
  const count = whole('battles', wanted, seed === undefined ? 50 : 1, 1);
  /** @param {number} index @returns {Spec} */
  const at = (index) => ({
    format,
    teams: String(teams),
    kind: /** @type {Kind} */ (kind ?? KINDS[index % KINDS.length]),
    seed: index,
  });
  const selection = `--format "${format}" --teams ${teams}${kind ? ` --kind ${kind}` : ''} --seed`;
  return { at, first: start, count, selection };
}

/**
 * @param {import('../lib/simulator').Simulator} simulator
 * @param {string} name of a format, with its custom rules, if any
 * @returns {boolean} whether it is one with random teams; throws if there is no such format
 */
function drawsTeams({ Dex }, name) {
  const format = Dex.formats.get(Dex.formats.validate(name), true);
  return Boolean(format.team);
}

async function main() {
  const options = parse();
  if (options.help) {
    console.log(HELP);
    return;
  }
  if (options.formats) {
    console.log(formatsText(new Plan(loadSimulator(FOLDER))));
    return;
  }
  const { at, first, count, selection } = battles(options);
  const progress = new Progress(count, process.stderr);
  const suite = new Suite(
    {
      off: unwanted(options),
      requires: options.require.map((file) => path.resolve(file)),
      watch: !options['no-watch'],
      bisect: options.bisect,
    },
    {
      played: ({ played, failures }) => progress.show(played, failures.length),
      failed: (failure) => {
        progress.clear();
        console.log(failureText(failure, selection, suite.options));
      },
    },
  );
  // The second Ctrl-C ends us at once; no process of ours outlives us.
  process.once('SIGINT', () => {
    progress.clear();
    console.error('interrupted: waiting for the battles under way; once more ends at once');
    suite.stop();
  });
  await suite.run(at, first, count);
  progress.clear();
  if (suite.reached.size) await reportCoverage(suite.reached, options.coverage);
  console.log(summary(suite, (performance.now() - progress.began) / 1000, selection));
  process.exitCode = suite.failures.length ? 1 : suite.stopped ? 130 : suite.isSame ? 0 : 2;
}

/**
 * @param {Set<string>} reached
 * @param {string | undefined} file for the names of what was not
 */
async function reportCoverage(reached, file) {
  const { shares, missed } = judge(await inventory(), reached);
  console.log(coverageText(shares));
  if (file !== undefined) fs.writeFileSync(file, missed.map((name) => `${name}\n`).join(''));
}

main().catch((error) => {
  console.error(`error: ${error.message}\n--help says what there is, and --formats which formats`);
  // Not by itself: processes that were started would keep us here. They end with us.
  process.exit(2);
});
