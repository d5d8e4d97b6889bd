'use strict';
/**
 * Vanilla: whether a Pokémon's item or ability is ignored is found by looking both up several times, and by a list of
 * everybody on the field, of whom somebody may have Neutralizing Gas.
 * Instead: each is looked up once, and the field is walked without a list.
 * Same, because: the questions and their order are vanilla's, and none of them changes anything.
 */

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'suppression',
  needs: ['traits'],
  replaces: [
    'sim/pokemon Pokemon.ignoringAbility',
    'sim/pokemon Pokemon.ignoringItem',
    'sim/pokemon Pokemon.hasAbility',
    'sim/pokemon Pokemon.hasItem',
    'sim/battle Battle.getAllActive',
  ],
  inlines: ['Battle.getAllActive'],
  methods: {
    'sim/pokemon': ({ Pokemon }, { use, runtime }) => {
      const { toID } = use('sim/dex-data');
      const { TRAITS } = runtime;
      const { ignoringAbility } = Pokemon.prototype;
      return {
        Pokemon: {
          /** @this {any} */
          ignoringAbility() {
            const { battle } = this;
            if (!battle[TRAITS].suppression) return ignoringAbility.call(this);
            if (battle.gen >= 5 && !this.isActive) return true;
            const { flags } = this.getAbility();
            if (flags.notransform && this.transformed) return true;
            if (flags.cantsuppress) return false;
            if (this.volatiles.gastroacid) return true;
            if (this.hasItem('Ability Shield') || this.ability === 'neutralizinggas') return false;
            return isGassed(battle, this);
          },

          /** @this {any} @param {boolean} [isFling] */
          ignoringItem(isFling = false) {
            const { battle } = this;
            const item = this.getItem();
            if (item.isPrimalOrb) return false;
            if (battle.gen >= 5 && !this.isActive) return true;
            if (this.volatiles.embargo || battle.field.pseudoWeather.magicroom) return true;
            if (isFling) return battle.gen >= 5 && this.hasAbility('klutz');
            return !item.ignoreKlutz && this.hasAbility('klutz');
          },

          /** @this {any} @param {string | string[]} ability */
          hasAbility(ability) {
            return has(this.ability, ability) && !this.ignoringAbility();
          },

          /** @this {any} @param {string | string[]} item */
          hasItem(item) {
            return has(this.item, item) && !this.ignoringItem();
          },
        },
      };

      /** @param {string} id @param {any} names one or several */
      function has(id, names) {
        if (!Array.isArray(names)) return toID(names) === id;
        for (let i = 0; i < names.length; i++) if (toID(names[i]) === id) return true;
        return false;
      }

      /** @param {any} battle @param {any} pokemon */
      function isGassed(battle, pokemon) {
        const { sides } = battle;
        for (let i = 0; i < sides.length; i++) {
          const { active } = sides[i];
          for (let slot = 0; slot < active.length; slot++) {
            const other = active[slot];
            if (
              other &&
              other.ability === 'neutralizinggas' &&
              !other.fainted &&
              !other.volatiles.gastroacid &&
              !other.transformed &&
              !other.abilityState.ending &&
              !pokemon.volatiles.commanding
            ) {
              return true;
            }
          }
        }
        return false;
      }
    },
  },
};
