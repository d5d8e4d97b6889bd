'use strict';
/** What a run found, in words. */

const { duration } = require('./progress');

/**
 * @typedef {import('./suite').Suite} Suite
 * @typedef {import('./suite').Failure} Failure
 * @typedef {import('./play').Spec} Spec
 */

const COMMAND = 'node identity/run.js';
const MOST_LISTED = 20;

/** @param {Spec} spec */
function described({ format, teams, kind, seed }) {
  return `${format}, ${teams} teams, ${kind}, seed ${seed}`;
}

/** @param {Spec} spec @returns {string} what plays it again */
function command({ format, teams, kind, seed }) {
  const name = /^\w+$/.test(format) ? format : `"${format}"`;
  return `${COMMAND} --format ${name}${teams === 'generated' ? '' : ` --teams ${teams}`} --kind ${kind} --seed ${seed}`;
}

/**
 * @param {Failure} failure
 * @param {string} [selection] the options that name the battles of the run
 */
function failureText({ spec, index, since, aspects, alone, text, blame }, selection = '--first') {
  const lines = [`DIFFERENT in ${aspects.slice(0, 6).join(', ')}: ${described(spec)}`];
  if (alone) lines.push(text, `  again: ${command(spec)}`);
  else {
    lines.push(
      '  not so in fresh processes: what comes before it matters',
      `  again: ${COMMAND} ${selection} ${since} --battles ${index - since + 1}`,
    );
  }
  if (blame) lines.push(`  patch: ${blame}; with those before it alone, it is the same`);
  return lines.filter(Boolean).join('\n');
}

/**
 * @param {Suite} suite
 * @param {number} seconds
 * @returns {string}
 */
function summary(suite, seconds) {
  const on = suite.patches.filter((patch) => patch.on).map(({ name }) => name);
  const off = suite.patches.filter((patch) => !patch.on);
  const lines = [
    `${suite.played} battles, ${suite.turns} turns, ${suite.formats.size} formats in ${duration(seconds)}`,
    `patches on: ${on.join(', ') || 'none'}`,
    ...off.map(({ name, why }) => `patch off: ${name}, ${why}`),
    ...[...suite.warnings].slice(0, MOST_LISTED).map((warning) => `said: ${warning}`),
  ];
  const errors = [...suite.errors].sort(([, a], [, b]) => b.times - a.times);
  if (errors.length) lines.push('thrown, by both alike:');
  for (const [error, { times, spec }] of errors.slice(0, MOST_LISTED)) {
    lines.push(`  ${times} times: ${error.split('\n')[0].slice(0, 140)}`, `    ${command(spec)}`);
  }
  const never = [...suite.formats].filter(([, { played, thrown }]) => played === thrown).map(([format]) => format);
  if (never.length) lines.push(`formats in which every battle threw: ${never.join(', ')}`);
  for (const spec of suite.stuck) lines.push(`neither answers: ${command(spec)}`);
  lines.push(suite.failures.length ? `${suite.failures.length} battles DIFFER` : 'all the same');
  for (const { spec, aspects } of suite.failures.slice(0, MOST_LISTED)) {
    lines.push(`  ${command(spec)}    # ${aspects.slice(0, 3).join(', ')}`);
  }
  return lines.join('\n');
}

/** @param {import('./coverage').Share[]} shares */
function coverageText(shares) {
  const rows = shares.map(({ kind, reached, all }) =>
    `  ${kind.padEnd(18)}${String(reached).padStart(6)} of ${String(all).padStart(5)}${((100 * reached) / all).toFixed(1).padStart(7)} %`,
  );
  return ["callbacks of the simulator's data that vanilla reached:", ...rows].join('\n');
}

/** @param {import('./plan').Plan} plan */
function formatsText(plan) {
  /** @type {Map<string, Set<string>>} */
  const teams = new Map();
  for (const entry of plan.lists.flat()) teams.set(entry.format, (teams.get(entry.format) ?? new Set()).add(entry.teams));
  const rows = [...teams].sort().map(([format, names]) => {
    const why = plan.left.get(format);
    return `${format}: ${[...names].join(', ')}${why ? `; draws none: ${why}` : ''}`;
  });
  const without = [...plan.left].filter(([format]) => !teams.has(format)).map(([format, why]) => `${format}: not played; ${why}`);
  return [...rows, ...without].join('\n');
}

module.exports = { command, coverageText, failureText, formatsText, summary };
