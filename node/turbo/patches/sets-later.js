'use strict';
/**
 * Vanilla: every generator of random teams reads the sets of doubles and of the factory formats too, 1.6 MB of JSON.
 * Instead: a file is read when a generator first asks for its sets.
 * Same, because: who asks a generator gets the object that vanilla would have given it, one for all generators, and from
 * one of an older generation its own sets before those that it inherits. Who gives a generator other sets has these.
 */

const FACTORY = 'require("./factory-sets.json")';
const BSS_FACTORY = 'require("./bss-factory-sets.json")';
/**
 * The line in which each generator begins, and what it reads, by property.
 * @type {Record<string, [string, Record<string, string>]>}
 */
const GENERATORS = {
  gen9: [
    'class RandomTeams {',
    {
      randomDoublesSets: 'require("./doubles-sets.json")',
      randomFactorySets: FACTORY,
      randomBSSFactorySets: BSS_FACTORY,
      randomDraftFactoryMatchups: 'require("./draft-factory-matchups.json").matchups',
      random1v1FactorySets: 'require("./1v1-factory-sets.json")',
    },
  ],
  gen8: [
    'class RandomGen8Teams extends import_teams.RandomTeams {',
    { randomOldGenFactorySets: FACTORY, randomBSSFactorySets: BSS_FACTORY },
  ],
  gen7: [
    'class RandomGen7Teams extends import_teams2.RandomGen8Teams {',
    { randomOldGenFactorySets: FACTORY, randomBSSFactorySets: BSS_FACTORY },
  ],
  gen6: ['class RandomGen6Teams extends import_teams2.default {', { randomOldGenFactorySets: FACTORY }],
};

/**
 * @param {string} name
 * @param {string} sets the expression that reads them
 */
const property = (name, sets) => `
  get ${name}() {
    return ${sets};
  }
  set ${name}(value) {
    Object.defineProperty(this, "${name}", { value, writable: true, enumerable: true, configurable: true });
  }`;

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'sets-later',
  edits: Object.fromEntries(
    Object.entries(GENERATORS).map(([generation, [beginning, properties]]) => [
      `data/random-battles/${generation}/teams`,
      [
        {
          site: beginning,
          put: beginning + Object.entries(properties).map(([name, sets]) => property(name, sets)).join(''),
        },
        ...Object.entries(properties).map(([name, sets]) => ({ site: `    this.${name} = ${sets};\n`, put: '' })),
      ],
    ]),
  ),
};
