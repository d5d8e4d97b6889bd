'use strict';
/**
 * A simulator that prints while it plays: text that looks like frames, floods, and last words before a death.
 *
 * A choice of the words in `DEATHS` prints 5 MB and then dies that way.
 */

const fs = require('node:fs');

const folder = process.argv.find((word) => word.startsWith('--simulator='))?.slice('--simulator='.length);
const { Battle } = require(String(folder));

const FLOOD = 5_000;
const CHOICES_BETWEEN_FLOODS = 400;

let choices = 0;
let flooded = 0;

/** A frame that would end a battle, if anybody took it for one. */
function frame() {
  const end = { winner: 'p2', turns: 1, reason: 'win' };
  return JSON.stringify({ ack: choices, room: 'battle-gen1randombattle-1', p1: { text: '|win|nobody' }, end });
}

/** @param {(text: string) => void} print */
function flood(print) {
  for (let n = 0; n < FLOOD; n++) print(`${n} `.padEnd(1_023, 'x') + '\n');
  flooded += FLOOD;
}

const NOISES = [
  () => console.log(frame()),
  () => console.error(frame()),
  () => console.log('%s %o', 'an object', { of: ['the', 'simulator'] }),
  () => console.table([{ a: 1 }]),
  () => console.trace(`after ${flooded} kilobytes`),
  () => process.stdout.write(`${frame()}\n${frame()}\n`),
  () => process.stdout.write(frame().slice(0, 40)),
  () => process.stderr.write('\n\r\n\u2028no newline at the end: é🍁'),
  () => process.stdout.write(Buffer.from([0, 255, 254, 10, 123, 0])),
  () => fs.writeSync(1, `${frame()}\n`),
  () => fs.writeSync(2, '[1, 2'),
  () => process.emitWarning('from the simulator'),
];

/** @type {Record<string, () => void>} */
const DEATHS = {
  exit: () => process.exit(7),
  abort: () => process.abort(),
  throw: () => {
    throw new Error('nobody catches this');
  },
};

/**
 * Dies in a way of `DEATHS`, after a flood and a few last words.
 * @param {string} way
 * @param {(text: string) => void} print
 */
function die(way, print) {
  flood(print);
  print('the last words\n');
  DEATHS[way]();
}

const { choose } = Battle.prototype;

/** @this {any} */
Battle.prototype.choose = function (/** @type {any} */ side, /** @type {string} */ choice) {
  if (Object.hasOwn(DEATHS, choice)) die(choice, (text) => process.stderr.write(text));
  NOISES[choices++ % NOISES.length]();
  if (choices % CHOICES_BETWEEN_FLOODS === 0) {
    const stream = choices % (2 * CHOICES_BETWEEN_FLOODS) ? process.stderr : process.stdout;
    flood((text) => stream.write(text));
  }
  return choose.call(this, side, choice);
};

module.exports = { die };
