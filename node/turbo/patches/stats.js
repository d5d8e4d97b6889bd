'use strict';
/**
 * Vanilla: `getStat` copies all boosts for an event that hardly anybody listens to, makes two tables each time, and
 * `getActionSpeed`, asked for several times a turn, looks conditions up by name.
 * Instead: boosts are copied where somebody listens, the tables exist once, and Trick Room is looked up by its id.
 * Same, because: an event that nobody hears gives back what it was given, and a copy has the values of the original.
 */

const BOOSTS = [1, 1.5, 2, 2.5, 3, 3.5, 4];
/** @type {Map<string, string>} */
const EVENTS = new Map([
  ['atk', 'ModifyAtk'],
  ['def', 'ModifyDef'],
  ['spa', 'ModifySpA'],
  ['spd', 'ModifySpD'],
  ['spe', 'ModifySpe'],
]);

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'stats',
  needs: ['quiet-events'],
  replaces: [
    'sim/pokemon Pokemon.getStat',
    'sim/pokemon Pokemon.getActionSpeed',
    'sim/field Field.getPseudoWeather',
    'sim/battle Battle.runEvent',
  ],
  inlines: ['Battle.runEvent', 'Field.getPseudoWeather'],
  methods: {
    'sim/pokemon': ({ Pokemon }, { runtime }) => {
      const { TRAITS, index } = runtime;
      const { getStat, getActionSpeed } = Pokemon.prototype;
      const modifyBoost = index.event('ModifyBoost');

      /** @param {any} battle */
      function isPlain(battle) {
        const traits = battle[TRAITS];
        return traits.listeners && traits['quiet-events'] && traits.stats;
      }

      return {
        Pokemon: {
          /** @this {any} @param {string} name @param {boolean} [unboosted] @param {boolean} [unmodified] */
          getStat(name, unboosted, unmodified) {
            const { battle } = this;
            const event = EVENTS.get(name);
            if (unmodified || !event || !isPlain(battle) || battle.eventDepth >= 8) {
              return getStat.call(this, name, unboosted, unmodified);
            }
            let value = this.storedStats[name];
            if (!unboosted) {
              let { boosts } = this;
              if (index.isHeard(battle, modifyBoost, this, null)) {
                boosts = battle.runEvent('ModifyBoost', this, null, null, { ...boosts });
              }
              let boost = boosts[name];
              if (boost > 6) boost = 6;
              if (boost < -6) boost = -6;
              value = boost >= 0 ? Math.floor(value * BOOSTS[boost]) : Math.floor(value / BOOSTS[-boost]);
            }
            value = battle.runEvent(event, this, null, null, value);
            if (name === 'spe' && value > 10000 && !battle.format.battle?.trunc) value = 10000;
            return value;
          },

          /** @this {any} */
          getActionSpeed() {
            const { battle } = this;
            if (!isPlain(battle)) return getActionSpeed.call(this);
            let speed = this.getStat('spe', false, false);
            const isTrickRoom = Boolean(battle.field.pseudoWeather.trickroom);
            if (battle.ruleTable.has('twisteddimensionmod') ? !isTrickRoom : isTrickRoom) speed = 10000 - speed;
            return battle.trunc(speed, 13);
          },
        },
      };
    },
  },
};
