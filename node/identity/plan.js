'use strict';
/** Which battles the suite plays: every format that there is, in turns, so that any number of them is a fair sample. */

const { KINDS } = require('./play');
const { names } = require('./given');
const { Random } = require('./random');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./play').Kind} Kind
 * @typedef {{format: string, teams: string, sides: number}} Entry
 */

/** Replays take longest. @type {readonly Kind[]} */
const OFTEN = ['plain', 'plain', 'plain', 'debug', 'serialise', 'serialise', 'fork', 'fork', 'replay'];
/** Rules that are about teams only have nothing to do in a battle. */
const BEFORE_BATTLE = new Set(['onValidateTeam', 'onValidateSet', 'onValidateRule', 'onChangeSet']);
const GENERATIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

class Plan {
  /** @param {import('../lib/simulator').Simulator} simulator */
  constructor({ Dex, Teams }) {
    /** Formats that cannot be played as they are meant, and why not. @type {Map<string, string>} */
    this.left = new Map();
    const formats = Dex.formats.all().filter((format) => format.effectType === 'Format');
    /** @param {string} format @param {string} teams @returns {Entry} */
    const entry = (format, teams) => ({ format, teams, sides: Dex.formats.get(format, true).playerCount });
    const random = GENERATIONS.map((generation) => entry(`gen${generation}randombattle`, 'generated'));
    random.push(entry('gen9randomdoublesbattle', 'generated'));
    const meant = formats.filter((format) => format.team).map(({ id }) => entry(id, 'generated'));
    const custom = formats.filter(({ id }) => /^gen\dcustomgame$|^gen\d(doubles|triples)customgame$|^gen9triples$/.test(id));
    const scrambled = custom.map(({ id }) => entry(id, 'scrambled'));
    const others = formats.filter((format) => !format.team);
    const drawn = others.filter((format) => this.#canDraw(Teams, format)).map(({ id }) => entry(id, 'generated'));
    const rules = this.#rules(Dex).map((format) => entry(format, 'scrambled'));
    const given = names().map(({ name, format }) => entry(format, name));
    /** One battle of each list in turn. */
    this.lists = [
      random,
      scrambled,
      meant,
      ...(given.length ? [given] : []),
      random,
      scrambled,
      interleaved(others.map(({ id }) => entry(id, 'scrambled')), drawn, rules),
      ...(given.length ? [given] : []),
    ];
  }

  /**
   * @param {number} index
   * @returns {Spec} the battle in that place
   */
  at(index) {
    const which = index % this.lists.length;
    const list = this.lists[which];
    // A list that stands here twice goes on where it was.
    const places = this.lists.flatMap((other, place) => (other === list ? [place] : []));
    const turn = Math.floor(index / this.lists.length) * places.length + places.indexOf(which);
    const { format, teams, sides } = list[turn % list.length];
    const seed = Math.floor(turn / list.length);
    const kinds = sides === 2 ? OFTEN : OFTEN.filter((kind) => kind !== 'fork' && kind !== 'replay');
    return { format, teams, kind: new Random(`kind ${index}`).pick(kinds), seed };
  }

  /**
   * @param {typeof import('pokemon-showdown').Teams} Teams
   * @param {any} format
   */
  #canDraw(Teams, format) {
    try {
      /** @type {any} */ (Teams.getGenerator(format, /** @type {any} */ ('1,2,3,4'))).enforceNoDirectCustomBanlistChanges?.();
      return true;
    } catch (error) {
      this.left.set(format.id, `no generated teams: ${/** @type {Error} */ (error).message.split('\n')[0].replace(/'.*[\\/]/, "'")}`);
      return false;
    }
  }

  /**
   * @param {any} Dex
   * @returns {string[]} custom games, each with one more of the rules that do something in a battle
   */
  #rules(Dex) {
    const formats = [];
    for (const [id, rule] of Object.entries(/** @type {Record<string, any>} */ (Dex.data.Rulesets))) {
      const hooks = Object.keys(rule).filter((key) => key.startsWith('on') && typeof rule[key] === 'function');
      if (rule.effectType === 'Format' || hooks.every((key) => BEFORE_BATTLE.has(key))) continue;
      const format = `gen9customgame@@@${rule.name ?? id}`;
      try {
        Dex.formats.validate(format);
        formats.push(format);
      } catch (error) {
        this.left.set(format, /** @type {Error} */ (error).message);
      }
    }
    return formats;
  }
}

/**
 * @template T
 * @param {T[][]} lists
 * @returns {T[]}
 */
function interleaved(...lists) {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => (index < list.length ? [list[index]] : []))).flat();
}

module.exports = { KINDS, Plan };
