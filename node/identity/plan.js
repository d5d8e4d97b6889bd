'use strict';
/** Which battles the suite plays: every format that there is, in turns, so that any number of them is a fair sample. */

const { names } = require('./given');
const { Random } = require('./random');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./play').Kind} Kind
 * @typedef {{format: string, teams: string, sides: number}} Entry
 */

/** Replays take longest. @type {readonly Kind[]} */
const OFTEN = ['plain', 'plain', 'plain', 'debug', 'serialise', 'serialise', 'fork', 'fork', 'replay', 'together'];
/** What to write behind rules that want a value; others take none. @type {Record<string, string>} */
const VALUES = {
  abilityclause: '2',
  allowedpokemoves: '1',
  bestof: '3',
  evlimits: 'Atk 0-124 / Def 100-252',
  forcemonocolor: 'Red',
  forcemonotype: 'Water',
  forceteratype: 'Fire',
  itemclause: '1',
  maxtotallevel: '500',
  minsourcegen: '9',
  uniquepokemoves: '1',
};
/** Mods with hundreds of callbacks of their own, whose turn comes more often. */
const LARGE = new Set(['gen9ssb', 'ccapm2025', 'chatbats', 'teraoverride']);
const GENERATIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

class Plan {
  /** @param {import('../lib/simulator').Simulator} simulator */
  constructor({ Dex, Teams }) {
    /**
     * Formats for which the simulator draws no teams, and rules that do not fit, with why.
     * @type {Map<string, string>}
     */
    this.left = new Map();
    const formats = Dex.formats.all().filter((format) => format.effectType === 'Format');
    /** @param {string} format @param {string} teams @returns {Entry} */
    const entry = (format, teams) => ({ format, teams, sides: Dex.formats.get(format, true).playerCount });
    const random = GENERATIONS.map((generation) => entry(`gen${generation}randombattle`, 'generated'));
    random.push(entry('gen9randomdoublesbattle', 'generated'));
    const meant = formats.filter((format) => format.team).map(({ id }) => entry(id, 'generated'));
    const custom = formats.filter(({ id }) => /^gen\d(doubles|triples)?customgame$|^gen9triples$/.test(id));
    const scrambled = custom.map(({ id }) => entry(id, 'scrambled'));
    scrambled.push(entry('gen9customgame', 'plundered'), entry('gen9doublescustomgame', 'plundered'));
    const others = formats.filter((format) => !format.team);
    const drawn = others.filter((format) => this.#canDraw(Teams, format)).map(({ id }) => entry(id, 'generated'));
    const rules = this.#rules(Dex).map(({ format, teams }) => entry(format, teams));
    const given = names().map(({ name, format }) => entry(format, name));
    const first = firstOfMods(formats);
    const large = first.filter(({ mod }) => LARGE.has(mod));
    const modded = [...first, ...large, ...large].flatMap(({ id, team }) => [
      entry(id, 'scrambled'),
      ...(team ? [entry(id, 'generated')] : []),
    ]);
    const rest = interleaved(others.map(({ id }) => entry(id, 'scrambled')), drawn, rules);
    /** One battle of each list in turn. */
    this.lists = [random, scrambled, given, meant, rest, modded, scrambled, random, given, rest];
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
    const seed = this.#seed(list, turn);
    const kinds = sides === 2 ? OFTEN : OFTEN.filter((kind) => kind !== 'fork' && kind !== 'replay');
    const drawn = teams === 'generated' ? /** @type {const} */ (['teams']) : [];
    return { format, teams, kind: new Random(`kind ${index}`).pick([...kinds, ...drawn]), seed };
  }

  /**
   * @param {Entry[]} list
   * @param {number} turn
   * @returns {number} how often the list has had this entry before; other lists count from elsewhere
   */
  #seed(list, turn) {
    const { format, teams } = list[turn % list.length];
    const places = list.flatMap((entry, place) => (entry.format === format && entry.teams === teams ? [place] : []));
    const times = Math.floor(turn / list.length) * places.length + places.indexOf(turn % list.length);
    return 1000 * this.lists.indexOf(list) + times;
  }

  /**
   * @param {typeof import('pokemon-showdown').Teams} Teams
   * @param {any} format
   */
  #canDraw(Teams, format) {
    try {
      /** @type {any} */
      const generator = Teams.getGenerator(format, /** @type {any} */ ('1,2,3,4'));
      generator.enforceNoDirectCustomBanlistChanges?.();
      return true;
    } catch (error) {
      this.left.set(format.id, /** @type {Error} */ (error).message.split('\n')[0]);
      return false;
    }
  }

  /**
   * @param {any} Dex
   * @returns {{format: string, teams: string}[]} games that each have one more of the rules that do something
   */
  #rules(Dex) {
    return Object.entries(/** @type {Record<string, any>} */ (Dex.data.Rulesets)).flatMap(([id, rule]) => {
      const hooks = Object.keys(rule).filter((key) => key.startsWith('on') && typeof rule[key] === 'function');
      if (rule.effectType === 'Format' || !hooks.length) return [];
      const name = `${rule.name ?? id}${VALUES[id] ? `=${VALUES[id]}` : ''}`;
      const games = [
        { format: `gen9customgame@@@${name}`, teams: 'scrambled' },
        { format: `gen9randombattle@@@${name}`, teams: 'generated' },
      ];
      const reasons = games.map(({ format }) => refusal(Dex, format));
      const fits = reasons.indexOf('');
      if (fits < 0) this.left.set(games[0].format, reasons[0]);
      return fits < 0 ? [] : [games[fits]];
    });
  }
}

/**
 * @param {any} Dex
 * @param {string} format
 * @returns {string} why there is no such format, or nothing
 */
function refusal(Dex, format) {
  try {
    Dex.formats.validate(format);
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/**
 * @param {readonly any[]} formats
 * @returns {any[]} for each mod that is more than a generation, a format of each type of game: one that draws teams, if any
 */
function firstOfMods(formats) {
  /** @type {Map<string, any>} */
  const first = new Map();
  for (const format of formats) {
    const key = `${format.mod} ${format.gameType}`;
    const better = !first.has(key) || (format.team && !first.get(key).team);
    if (better && !/^gen\d$/.test(format.mod)) first.set(key, format);
  }
  return [...first.values()];
}

/**
 * @template T
 * @param {T[][]} lists
 * @returns {T[]}
 */
function interleaved(...lists) {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

module.exports = { Plan };
