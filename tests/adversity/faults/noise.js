'use strict';
/**
 * A simulator that prints while it plays: text that looks like frames, floods, and last words before a death.
 *
 * The noise is in `Battle.choose`. A choice of the words in `DEATHS` shouts 5 MB and then dies that way.
 */

const fs = require('node:fs');

const folder = process.argv.find((word) => word.startsWith('--simulator='))?.slice('--simulator='.length);
const { Battle } = require(String(folder));

const LINES = 5_000;
/** Choices between two floods. */
const FLOOD = 150;

/** A frame that would end a battle, if anybody took it for one. */
function frame() {
  const end = { winner: 'p2', turns: 1, reason: 'win' };
  return JSON.stringify({ ack: choices, room: 'battle-gen1randombattle-1', p1: { text: '|win|nobody' }, end });
}

/** @param {NodeJS.WriteStream} stream */
function flood(stream) {
  for (let n = 0; n < LINES; n++) stream.write(`${n} `.padEnd(1_023, 'x') + '\n');
}

const NOISES = [
  () => console.log(frame()),
  () => console.error(frame()),
  () => console.log('%s %o', 'an object', { of: ['the', 'simulator'] }),
  () => console.table([{ a: 1 }]),
  () => console.trace('from the simulator'),
  () => process.stdout.write(`${frame()}\n${frame()}\n`),
  () => process.stdout.write(frame().slice(0, 40)),
  () => process.stderr.write('\n\r\n\u2028no newline at the end: é🍁'),
  () => process.stdout.write(Buffer.from([0, 255, 254, 10, 123, 0])),
  () => fs.writeSync(1, `${frame()}\n`),
  () => fs.writeSync(2, '[1, 2'),
  () => process.emitWarning('from the simulator'),
];

let choices = 0;

/** @type {Record<string, () => void>} */
const DEATHS = {
  exit: () => process.exit(7),
  abort: () => process.abort(),
  throw: () => {
    throw new Error('nobody catches this');
  },
};

/** @param {string} way to die, after 5 MB on stderr and a few last words */
function die(way) {
  flood(process.stderr);
  process.stderr.write('the last words\n');
  DEATHS[way]();
}

const { choose } = Battle.prototype;

/** @this {any} */
Battle.prototype.choose = function (/** @type {any} */ side, /** @type {string} */ choice) {
  if (Object.hasOwn(DEATHS, choice)) die(choice);
  NOISES[choices++ % NOISES.length]();
  if (choices % FLOOD === 0) flood(choices % (2 * FLOOD) ? process.stderr : process.stdout);
  return choose.call(this, side, choice);
};

module.exports = { die };
