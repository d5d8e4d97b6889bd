'use strict';
/**
 * A process that plays the battles that its parent names, one after the other, and answers with what is compared.
 *
 * It plays in the simulator as it comes, or, where turbo was put in front with --require, in that.
 */

const path = require('node:path');
const { holdLifeline } = require('../lib/lifeline');
const { loadSimulator } = require('../lib/simulator');
const { Watch } = require('./coverage');

/**
 * @typedef {{id: number, spec: import('./play').Spec, full: boolean}} Question
 * @typedef {import('./record').Digests} Digests
 * @typedef {import('./record').Lines} Lines
 * @typedef {{id: number, digests: Digests, lines?: Lines, error: string, turns: number}} Answer
 */

const FOLDER = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');

/** @param {any} message */
function tell(message) {
  process.send?.(message);
}

function main() {
  holdLifeline();
  // Ctrl-C is for the parent, which ends us when it has what it needs.
  process.on('SIGINT', () => {});
  process.on('disconnect', () => process.exit());
  process.on('warning', ({ message }) => tell({ warning: message }));
  const watch = process.argv.includes('--watch') ? new Watch() : null;
  const { play } = require('./play');
  const { extractChannelMessages } = require(path.join(FOLDER, 'dist', 'sim', 'battle'));
  const simulator = { ...loadSimulator(FOLDER), extractChannelMessages };
  process.on('message', (/** @type {any} */ question) => {
    if (question.reached) tell({ reached: watch?.take() ?? [] });
    else tell(answer(play(simulator, question.spec), question));
  });
  tell({ hello: true, patches: outcomes() });
}

/**
 * @param {import('./record').BattleRecord} record
 * @param {Question} question
 * @returns {Answer}
 */
function answer(record, { id, full }) {
  const { error, turn } = record.lines;
  return {
    id,
    digests: record.digests(),
    ...(full ? { lines: record.lines } : {}),
    error: error?.[0] ?? '',
    turns: Number(turn?.at(-1) ?? 0),
  };
}

/** @returns {import('../turbo/installation').Outcome[] | null} which patches are on; nothing in vanilla */
function outcomes() {
  if (!process.execArgv.some((argument) => argument.endsWith('register.js'))) return null;
  return require('../turbo').installed().flatMap((installation) => installation.outcomes);
}

main();
