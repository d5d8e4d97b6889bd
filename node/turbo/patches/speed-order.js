'use strict';
/**
 * Vanilla: `speedSort` keeps a list of indexes for every place that it fills.
 * Instead: two entries are compared once and swapped or not. More than two go vanilla's way.
 * Same, because: vanilla does the same for two, and a tie is broken by the same draw of random numbers. A difference
 * that is not a number leaves the order as it is in both.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'speed-order',
  replaces: ['sim/battle Battle.speedSort'],
  methods: {
    'sim/battle': ({ Battle }) => {
      const vanilla = Battle.prototype.speedSort;
      return {
        Battle: {
          /** @this {any} @param {any[]} list @param {(a: any, b: any) => number} [compare] */
          speedSort(list, compare) {
            const { length } = list;
            const comparator = compare === undefined ? this.comparePriority : compare;
            if (length < 2) return;
            if (length > 2) {
              vanilla.call(this, list, comparator);
              return;
            }
            const [first, second] = list;
            const delta = comparator(first, second);
            if (delta > 0) {
              list[0] = second;
              list[1] = first;
            } else if (delta === 0) {
              this.prng.shuffle(list, 0, 2);
            }
          },
        },
      };
    },
  },
};
