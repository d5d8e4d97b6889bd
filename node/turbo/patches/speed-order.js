'use strict';
/**
 * Vanilla: `speedSort` keeps a list of indexes for every place that it fills, and `eachEvent` makes a new function to
 * compare speeds each time it is called.
 * Instead: two entries are compared once and swapped or not; the function exists once. More than two go vanilla's way.
 * Same, because: vanilla does the same for two, and a tie is broken by the same draw of random numbers. A difference
 * that is not a number leaves the order as it is in both.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'speed-order',
  replaces: ['sim/battle Battle.speedSort', 'sim/battle Battle.eachEvent'],
  methods: {
    'sim/battle': ({ Battle }) => {
      const vanilla = Battle.prototype.speedSort;
      return {
        Battle: {
          /** @this {any} @param {any[]} list @param {(a: any, b: any) => number} [comparator] */
          speedSort(list, comparator = this.comparePriority) {
            const { length } = list;
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

          /** @this {any} @param {string} name @param {any} effect @param {any} relay */
          eachEvent(name, effect, relay) {
            const actives = this.getAllActive();
            if (!effect && this.effect) effect = this.effect;
            this.speedSort(actives, bySpeed);
            for (let i = 0; i < actives.length; i++) this.runEvent(name, actives[i], null, effect, relay);
            if (name === 'Weather' && this.gen >= 7) this.eachEvent('Update');
          },
        },
      };
    },
  },
};

/** @param {any} a @param {any} b */
function bySpeed(a, b) {
  return b.speed - a.speed;
}
