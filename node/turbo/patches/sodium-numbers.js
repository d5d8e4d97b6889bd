'use strict';
/**
 * Vanilla: each number of the default generator is encrypted by a new cipher object, byte by byte.
 * Instead: the same block of the cipher's key stream is computed in place, word by word.
 * Same, because: encrypting zeros gives the key stream itself, whose first 32 bytes are the next seed and whose next four
 * the number. The seed is a new array of bytes each time, as ever. On a machine whose words begin with the high byte, or
 * with a seed of another size, vanilla does it.
 */

const { endianness } = require('node:os');
const { CONSTANTS, firstBlock } = require('../chacha20');

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'sodium-numbers',
  replaces: ['sim/prng SodiumRNG.next'],
  methods: {
    'sim/prng': ({ SodiumRNG }) => {
      if (endianness() !== 'LE') return {};
      const vanilla = SodiumRNG.prototype.next;
      const start = new Int32Array(16);
      const key = new Uint8Array(start.buffer, 16, 32);
      const block = new Int32Array(16);
      const bytes = new Uint8Array(block.buffer);
      const number = new DataView(block.buffer);
      start.set(CONSTANTS);
      new Uint8Array(start.buffer).set(SodiumRNG.NONCE, 52);
      return {
        SodiumRNG: {
          /** @this {any} */
          next() {
            if (this.seed.length !== 32) return vanilla.call(this);
            key.set(this.seed);
            firstBlock(start, block);
            this.seed = bytes.slice(0, 32);
            return number.getUint32(32);
          },
        },
      };
    },
  },
};
