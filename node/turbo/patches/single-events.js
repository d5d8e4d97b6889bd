'use strict';
/**
 * Vanilla: `singleEvent` makes sure that nothing suppresses an effect, and then finds that it has no such callback.
 * Instead: the callback is looked up first, by a name that was made once.
 * Same, because: what is asked before (ignored items and abilities, weather) changes nothing and returns the same value.
 * In debug mode it also logs why an effect was suppressed; there, and where vanilla would throw, vanilla does it all.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'single-events',
  needs: ['listeners'],
  replaces: ['sim/battle Battle.singleEvent'],
  methods: {
    'sim/battle': ({ Battle }, { runtime }) => {
      const { index } = runtime;
      const vanilla = Battle.prototype.singleEvent;
      return {
        Battle: {
          /**
           * @this {any} @param {string} name @param {any} effect @param {any} state @param {any} target
           * @param {any} source @param {any} sourceEffect @param {any} relay @param {any} callback
           */
          singleEvent(name, effect, state, target, source, sourceEffect, relay, callback) {
            if (
              !callback &&
              effect &&
              effect[index.event(name).on] === undefined &&
              !this.debugMode &&
              this.eventDepth < 8 &&
              this.log.length - this.sentLogPos <= 1000
            ) {
              return relay === undefined ? true : relay;
            }
            return vanilla.call(this, name, effect, state, target, source, sourceEffect, relay, callback);
          },
        },
      };
    },
  },
};
