'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { Chacha20 } = require('ts-chacha20');
const { install } = require('../turbo');

install();
const { PRNG } = require('pokemon-showdown');

test('the default generator gives the numbers and seeds of the cipher that defines it', () => {
  for (const first of ['', '0123456789abcdef0123456789abcdef', 'f'.repeat(64)]) {
    const prng = new PRNG(/** @type {any} */ (`sodium,${first}`));
    let seed = Uint8Array.from(Buffer.from(first.padEnd(64, '0'), 'hex'));
    for (let n = 0; n < 500; n++) {
      const stream = new Chacha20(seed, Buffer.from('LibsodiumDRG')).encrypt(new Uint8Array(36));
      seed = stream.slice(0, 32);
      assert.strictEqual(prng.random(), Buffer.from(stream).readUInt32BE(32) / 2 ** 32);
      assert.strictEqual(prng.getSeed(), `sodium,${Buffer.from(seed).toString('hex')}`);
    }
  }
});
