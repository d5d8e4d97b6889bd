'use strict';
/** Loaded before turbo: gives it one more patch, which draws no random number where the outcome is certain. */

const { patches } = require('../../turbo/patches');

patches.push({
  name: 'wrong',
  methods: {
    'sim/battle': () => ({
      Battle: {
        /** @this {any} @param {number} numerator @param {number} denominator */
        randomChance(numerator, denominator) {
          return numerator >= denominator || this.prng.randomChance(numerator, denominator);
        },
      },
    }),
  },
});
