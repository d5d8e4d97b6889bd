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
  --teams     generated (as the format draws them), scrambled, plundered, or the name of given ones
  --formats   prints which formats there are, and where the simulator draws no teams, why not
  --kind      ${KINDS.join(', ')}; else one after the other
  --seed      of the first of these battles; more follow it
  --off a,b   leaves out these patches;  --patches a,b  has none but these and what they need
  --bisect    finds the patch that is to blame for each difference
  --coverage FILE   writes down the callbacks that no battle reached;  --no-watch  does not look at them, and is faster
  --require FILE    loads this before turbo in its process`;

const FOLDER = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');

function parse() {
  const { values } = parseArgs({
    options: {
      battles: { type: 'string' },
      first: { type: 'string', default: '0' },
      format: { type: 'string' },
      teams: { type: 'string', default: 'generated' },
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
  if (values.kind !== undefined && !KINDS.includes(/** @type {Kind} */ (values.kind))) {
    throw new Error(`there is no kind ${values.kind}; there are ${KINDS.join(', ')}`);
  }
  return values;
}

/** @typedef {ReturnType<typeof parse>} Options */

/**
 * @param {Options} options
 * @returns {string[]} patches to leave out
 */
function unwanted({ off, patches: only }) {
  const wanted = new Set(only?.split(','));
  for (const patch of [...patches].reverse()) {
    if (wanted.has(patch.name)) for (const name of patch.needs ?? []) wanted.add(name);
  }
  const out = only === undefined ? [] : patches.map(({ name }) => name).filter((name) => !wanted.has(name));
  return [...new Set([...out, ...off.split(',').filter(Boolean)])];
}

/**
 * @param {Options} options
 * @returns {{at: (index: number) => Spec, first: number, count: number, selection: string}} the battles to play, and
 *   the options that say which, but for the number of the first
 */
function battles({ battles: wanted, first, format, teams, kind, seed }) {
  if (format === undefined) {
    const plan = new Plan(loadSimulator(FOLDER));
    return { at: (index) => plan.at(index), first: Number(first), count: Number(wanted ?? 4000), selection: '--first' };
  }
  const start = Number(seed ?? 0);
  const count = Number(wanted ?? (seed === undefined ? 50 : 1));
  /** @param {number} index @returns {Spec} */
  const at = (index) => ({
    format,
    teams,
    kind: /** @type {Kind} */ (kind ?? KINDS[index % KINDS.length]),
    seed: index,
  });
  const selection = `--format "${format}" --teams ${teams}${kind ? ` --kind ${kind}` : ''} --seed`;
  return { at, first: start, count, selection };
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
        console.log(failureText(failure, selection));
      },
    },
  );
  // The second Ctrl-C ends us at once; no process of ours outlives us.
  process.once('SIGINT', () => suite.stop());
  await suite.run(at, first, count);
  progress.clear();
  if (suite.reached.size) await reportCoverage(suite.reached, options.coverage);
  console.log(summary(suite, (performance.now() - progress.began) / 1000));
  process.exitCode = suite.failures.length ? 1 : suite.stopped ? 130 : 0;
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
  console.error(`error: ${error.message}`);
  // Not by itself: processes that were started would keep us here. They end with us.
  process.exit(2);
});
