'use strict';
/**
 * Vanilla: a mod or a format may give a battle, or the Pokémon and sides in it, methods of their own; so may a class that
 * extends `Battle`.
 * Instead: nothing changes. Each battle gets traits, one boolean a patch: whether every method that the patch no longer
 * calls is the simulator's. Where one is not, the patch leaves the battle to vanilla, and one warning says so.
 * Same, because: a battle keeps its traits under a symbol, which nothing in the simulator enumerates.
 */

/** Where a mod's scripts and a format keep methods, and of which class they are. */
const CLASSES = [
  ['pokemon', 'Pokemon'],
  ['side', 'Side'],
  ['field', 'Field'],
  ['queue', 'BattleQueue'],
  ['actions', 'BattleActions'],
];
const TRAITS = Symbol('traits');

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'traits',
  edits: {
    'sim/battle': [
      {
        site: 'if (format.battle) Object.assign(this, format.battle);',
        put: 'if (format.battle) Object.assign(this, format.battle);\n    turbo.giveTraits(this, format);',
      },
    ],
  },
  methods: {
    'sim/battle': ({ Battle }, { runtime }) => {
      /** @type {WeakMap<object, Record<string, boolean>>} by dex: a mod is the same for all of its battles */
      const byDex = new WeakMap();
      const warned = new Set();
      runtime.TRAITS = TRAITS;
      /** @param {any} battle @param {any} format */
      runtime.giveTraits = (battle, format) => {
        const isExtended = Object.getPrototypeOf(battle) !== Battle.prototype;
        const hasOwn = isExtended || format.battle || CLASSES.some(([key]) => format[key]);
        let traits = hasOwn ? undefined : byDex.get(battle.dex);
        if (!traits) {
          traits = judge(battle, format);
          if (!hasOwn) byDex.set(battle.dex, traits);
        }
        battle[TRAITS] = traits;
      };

      /** @param {any} battle @param {any} format */
      function judge(battle, format) {
        const { dex } = battle;
        const own = new Set([
          ...overridden(dex.data.Scripts, dex.data.Scripts),
          ...overridden(format, format.battle),
          ...extended(battle, Battle.prototype),
        ]);
        /** @type {Record<string, boolean>} */
        const traits = {};
        const met = new Set();
        const left = [];
        for (const [patch, inlined] of Object.entries(runtime.inlined)) {
          // Who starts battles in a way of its own may give them another mod as it does so.
          const methods = /** @type {string[]} */ (inlined).length ? ['Battle.start', ...inlined] : [];
          const found = methods.filter((method) => own.has(method));
          traits[patch] = found.length === 0;
          if (found.length) left.push(patch);
          for (const method of found) met.add(method);
        }
        warn(dex.currentMod, format.name, left, [...met]);
        return traits;
      }

      /** @param {string} mod @param {string} format @param {string[]} left @param {string[]} met */
      function warn(mod, format, left, met) {
        const where = `${mod} ${left}`;
        if (!left.length || warned.has(where)) return;
        warned.add(where);
        runtime.onLeft(`${left.join(', ')}: ${format} has its own ${met.join(', ')}`);
      }
      return {};
    },
  },
};

/**
 * @param {any} holder of methods by class
 * @param {any} battle methods of the battle itself
 */
function* overridden(holder, battle) {
  for (const name in battle ?? {}) if (typeof battle[name] === 'function') yield `Battle.${name}`;
  for (const [key, owner] of CLASSES) {
    for (const name in holder[key] ?? {}) if (typeof holder[key][name] === 'function') yield `${owner}.${name}`;
  }
}

/**
 * @param {object} battle
 * @param {object} base the prototype of all battles
 */
function* extended(battle, base) {
  for (let level = Object.getPrototypeOf(battle); level && level !== base; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) yield `Battle.${name}`;
  }
}
