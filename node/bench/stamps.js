'use strict';
/** Prints what it costs Node, in nanoseconds, to stamp one answer. */

const { now } = require('../lib/clock');

const ROUNDS = 2_000_000;

/**
 * @param {boolean} timing
 * @returns {number} nanoseconds for an answer
 */
function measure(timing) {
  let length = 0;
  const start = now();
  for (let i = 0; i < ROUNDS; i++) {
    if (timing) {
      const received = now();
      const started = now();
      const simulated = now();
      const encoded = now();
      length += `,"t":[${received},${started - received},${simulated - started},${encoded - simulated}]`.length;
    }
  }
  const elapsed = (now() - start) / ROUNDS;
  return length < 0 ? NaN : elapsed;
}

measure(true);
process.stdout.write(`${measure(true) - measure(false)}\n`);
