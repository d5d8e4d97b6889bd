'use strict';
/** What a run found, in words. */

const { duration } = require('./progress');
const { NO_PATCH } = require('./suite');

/**
 * @typedef {import('./suite').Suite} Suite
 * @typedef {import('./suite').Failure} Failure
 * @typedef {import('./play').Spec} Spec
 * @typedef {{off: string[], requires: string[]}} Conditions under which turbo was run
 */

const COMMAND = 'node identity/run.js';
const MOST_LISTED = 20;

/** @param {Spec} spec */
function described({ format, teams, kind, seed }) {
  return `${format}, ${teams} teams, ${kind}, seed ${seed}`;
}

/** @type {Conditions} */
const USUAL = { off: [], requires: [] };

/**
 * @param {Spec} spec
 * @param {Conditions} [conditions]
 * @returns {string} what plays it again
 */
function command({ format, teams, kind, seed }, conditions = USUAL) {
  const name = /^\w+$/.test(format) ? format : `"${format}"`;
  return `${COMMAND} --format ${name} --teams ${teams} --kind ${kind} --seed ${seed}${optionsFor(conditions)}`;
}

/** @param {Conditions} conditions */
function optionsFor({ off, requires }) {
  return [...(off.length ? [`--off ${off.join(',')}`] : []), ...requires.map((file) => `--require "${file}"`)]
    .map((option) => ` ${option}`)
    .join('');
}

/**
 * @param {number} count
 * @param {string} word
 */
function counted(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/**
 * @param {Failure} failure
 * @param {string} [selection] the options that name the battles of the run
 * @param {Conditions} [conditions]
 */
function failureText(failure, selection = '--first', conditions = USUAL) {
  const { spec, aspects, alone, text, blame } = failure;
  const lines = [`DIFFERENT in ${aspects.slice(0, 6).join(', ')}: ${described(spec)}`];
  if (alone) lines.push(text);
  else if (alone === false) lines.push('  not so in fresh processes: what comes before it matters');
  lines.push(`  again: ${repeating(failure, selection, conditions)}`);
  if (blame === NO_PATCH) lines.push('  patch: none; it differs without any of them too');
  else if (blame) lines.push(`  patch: ${blame}; with those before it alone, it is the same`);
  return lines.filter(Boolean).join('\n');
}

/**
 * @param {Failure} failure
 * @param {string} selection
 * @param {Conditions} conditions
 * @returns {string} what shows it again: its battle, or, where it is not known that this is enough, those before it too
 */
function repeating({ spec, index, since, alone }, selection, conditions) {
  if (alone) return command(spec, conditions);
  return `${COMMAND} ${selection} ${since} --battles ${index - since + 1}${optionsFor(conditions)}`;
}

/**
 * @param {Suite} suite
 * @param {number} seconds
 * @param {string} [selection] the options that name the battles of the run
 * @returns {string}
 */
function summary(suite, seconds, selection = '--first') {
  const again = (/** @type {Spec} */ spec) => command(spec, suite.options);
  const on = suite.patches.filter((patch) => patch.on).map(({ name }) => name);
  const off = suite.patches.filter((patch) => !patch.on);
  const lines = [
    ...(suite.stopped ? ['interrupted: all this is of the battles until then'] : []),
    `${counted(suite.played, 'battle')}, ${counted(suite.turns, 'turn')}, ${counted(suite.formats.size, 'format')} in ` +
      duration(seconds),
    `patches on: ${on.join(', ') || 'none'}`,
    ...off.map(({ name, why }) => `patch off: ${name}, ${why}`),
    ...[...suite.warnings].slice(0, MOST_LISTED).map((warning) => `said: ${warning}`),
  ];
  const errors = [...suite.errors].sort(([, a], [, b]) => b.times - a.times);
  if (errors.length) lines.push('thrown, by both alike:');
  for (const [error, { times, spec }] of errors.slice(0, MOST_LISTED)) {
    lines.push(`  ${counted(times, 'time')}: ${error.split('\n')[0].slice(0, 140)}`, `    ${again(spec)}`);
  }
  const never = [...suite.formats].filter(([, { played, thrown }]) => played === thrown).map(([format]) => format);
  if (never.length) lines.push(`formats in which every battle threw: ${never.join(', ')}`);
  for (const spec of suite.stuck) lines.push(`neither answers: ${again(spec)}`);
  lines.push(verdict(suite));
  for (const failure of suite.failures.slice(0, MOST_LISTED)) {
    const { spec, aspects } = failure;
    lines.push(
      `  ${described(spec)}: ${aspects.slice(0, 3).join(', ')}`,
      `    ${repeating(failure, selection, suite.options)}`,
    );
  }
  return lines.join('\n');
}

/** @param {Suite} suite */
function verdict({ failures, compared, refused }) {
  if (failures.length) return failures.length === 1 ? '1 battle DIFFERS' : `${failures.length} battles DIFFER`;
  if (!compared) return 'nothing was compared: no battle could be played';
  if (!refused.length) return 'all the same';
  const names = refused.map(({ name }) => name).join(', ');
  return `the same as far as turbo was there: ${names} did not fit, and nothing was compared of what they do`;
}

/** @param {import('./coverage').Share[]} shares */
function coverageText(shares) {
  const rows = shares.map(({ kind, reached, all }) => {
    const percent = ((100 * reached) / all).toFixed(1);
    const heading = kind === 'shared by all' ? 'the same callbacks, by whose they are:\n' : '';
    return `${heading}  ${kind.padEnd(18)}${String(reached).padStart(6)} of ${String(all).padStart(5)}${percent.padStart(7)} %`;
  });
  return ["callbacks of the simulator's data that vanilla reached:", ...rows].join('\n');
}

/** @param {import('./plan').Plan} plan */
function formatsText(plan) {
  /** @type {Map<string, Set<string>>} */
  const teams = new Map();
  for (const { format, teams: kind } of plan.lists.flat()) {
    teams.set(format, (teams.get(format) ?? new Set()).add(kind));
  }
  const rows = [...teams].sort().map(([format, names]) => {
    const why = plan.left.get(format);
    return `${format}: ${[...names].join(', ')}${why ? `; draws none: ${why}` : ''}`;
  });
  const without = [...plan.left].filter(([format]) => !teams.has(format));
  return [...rows, ...without.map(([format, why]) => `${format}: not played; ${why}`)].join('\n');
}

module.exports = { coverageText, failureText, formatsText, summary };
