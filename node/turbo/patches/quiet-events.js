'use strict';
/**
 * Vanilla: an event that nobody listens to is set up, sorted and taken down like any other.
 * Instead: it returns at once what vanilla returns in the end.
 * Same, because: without handlers, vanilla changes nothing that is left afterwards and draws no random number; it gives
 * back the relay variable, `true` where there was none, and puts whole numbers through `modify`, which is done here too.
 */

/** From here on `modify` overflows; below, it gives a whole number back as it is. */
const LARGEST_UNMODIFIED = 2 ** 20;

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'quiet-events',
  needs: ['listeners'],
  replaces: ['sim/battle Battle.runEvent', 'sim/battle Battle.eachEvent', 'sim/battle Battle.modify'],
  inlines: ['Battle.modify'],
  methods: {
    'sim/battle': ({ Battle }, { use, runtime }) => {
      const { Pokemon } = use('sim/pokemon');
      const { TRAITS, index } = runtime;
      const vanilla = Battle.prototype.runEvent;
      return {
        Battle: {
          /**
           * @this {any} @param {string} name @param {any} target @param {any} source @param {any} effect
           * @param {any} relay @param {boolean} [onEffect] @param {boolean} [fastExit]
           */
          runEvent(name, target, source, effect, relay, onEffect, fastExit) {
            const traits = this[TRAITS];
            if (traits.listeners && traits['quiet-events'] && this.eventDepth < 8) {
              const event = index.event(name);
              const from = source instanceof Pokemon ? source : null;
              if (onEffect && (!effect || effect[event.on] !== undefined)) {
                // Vanilla's business.
              } else if (Array.isArray(target)) {
                if (!isHeardByOne(this, event, target, from)) return relays(target, relay);
              } else if (!index.isHeard(this, event, target || this, from)) {
                return unchanged(this, relay);
              }
            }
            return vanilla.call(this, name, target, source, effect, relay, onEffect, fastExit);
          },

          /** @this {any} @param {string} name @param {any} [effect] @param {any} [relay] */
          eachEvent(name, effect, relay) {
            const actives = this.getAllActive();
            // Also where nobody listens: breaking ties draws random numbers.
            this.speedSort(actives, bySpeed);
            const cause = effect || this.effect || effect;
            for (let i = 0; i < actives.length; i++) this.runEvent(name, actives[i], null, cause, relay);
            if (name === 'Weather' && this.gen >= 7) this.eachEvent('Update');
          },
        },
      };

      /** @param {any} battle @param {any} event @param {any[]} targets @param {any} source */
      function isHeardByOne(battle, event, targets, source) {
        for (let i = 0; i < targets.length; i++) {
          if (index.isHeard(battle, event, targets[i], source)) return true;
        }
        return false;
      }
    },
  },
};

/** @param {any} a @param {any} b */
function bySpeed(a, b) {
  return b.speed - a.speed;
}

/** @param {any[]} targets @param {any} relay */
function relays(targets, relay) {
  return Array.isArray(relay) ? relay : targets.map(() => true);
}

/** @param {any} battle @param {any} relay */
function unchanged(battle, relay) {
  if (relay === undefined || relay === null) return true;
  if (typeof relay !== 'number') return relay;
  // Also makes zero of minus zero, as vanilla does.
  if (relay >= 0 && relay < LARGEST_UNMODIFIED && Number.isInteger(relay)) return relay | 0;
  return relay === Math.abs(Math.floor(relay)) ? battle.modify(relay, 1) : relay;
}
