'use strict';
/** Plays battles in pairs of processes, compares each, and looks again, alone, at those that differ. */

const { differences, explain } = require('./compare');
const { Pair, turboProcess } = require('./processes');
const { SWITCHED_OFF } = require('../turbo/installation');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./processes').Options} Options
 * @typedef {import('./child').Answer} Answer
 * @typedef {import('../turbo/installation').Outcome} Outcome
 *
 * @typedef {object} Failure
 * @property {Spec} spec
 * @property {number} index of the battle in the run
 * @property {number} since which battle its processes had played
 * @property {string[]} aspects in which it differs
 * @property {boolean} [alone] whether it does so in fresh processes too, or only after the battles before it, if that was tried
 * @property {string} text where it does
 * @property {string} blame the patch that makes it differ, if that was asked for; NO_PATCH if it differs without any
 */

/** Battles for a pair of processes, which then makes room for another: the simulator's caches only grow. */
const CHUNK = 400;
/** So many battles lie before a process while it plays, and turbo runs ahead by so many. */
const WINDOW = 6;
/** To explain one takes fresh processes; after some, people have enough to look at. */
const MOST_EXPLAINED = 5;
/** How long processes that are to end may take to finish what they play, in milliseconds. */
const LAST_WORDS = 10_000;
const NO_PATCH = 'none';

class Suite {
  /**
   * @param {Options & {bisect: boolean}} options
   * @param {{played: (suite: Suite) => void, failed: (failure: Failure, suite: Suite) => void}} listener
   */
  constructor(options, listener) {
    this.options = options;
    this.listener = listener;
    this.played = 0;
    this.turns = 0;
    /** @type {Failure[]} */
    this.failures = [];
    /** What both threw, with a battle to see it in. @type {Map<string, {times: number, spec: Spec}>} */
    this.errors = new Map();
    /** How many battles of a format were played, and threw. @type {Map<string, {played: number, thrown: number}>} */
    this.formats = new Map();
    /** @type {Spec[]} */
    this.stuck = [];
    /** @type {Outcome[]} */
    this.patches = [];
    /** @type {Set<string>} */
    this.warnings = new Set();
    /** Functions of the simulator that vanilla called. @type {Set<string>} */
    this.reached = new Set();
    this.stopped = false;
    /** @type {Set<Pair>} */
    this.pairs = new Set();
    /** Fresh processes are for one battle at a time. @type {Promise<void>} */
    this.examined = Promise.resolve();
  }

  /** How many battles could be compared: one that both cannot play shows nothing. */
  get compared() {
    const thrown = [...this.formats.values()].reduce((sum, format) => sum + format.thrown, 0);
    return this.played - thrown;
  }

  /** @returns {Outcome[]} the patches that did not fit: of these, no battle shows anything */
  get refused() {
    return this.patches.filter(({ on, why }) => !on && why !== SWITCHED_OFF);
  }

  /** Whether all that was to be compared has been, and is the same. */
  get isSame() {
    return this.compared > 0 && !this.failures.length && !this.refused.length;
  }

  /** @param {(index: number) => Spec} at @param {number} first @param {number} count */
  async run(at, first, count) {
    let index = first;
    while (index < first + count && !this.stopped) {
      index = await this.#chunk(at, index, Math.min(index + CHUNK, first + count));
    }
  }

  /** Begins no other battle. Processes may finish theirs and say what they reached, if that does not take long. */
  stop() {
    this.stopped = true;
    setTimeout(() => {
      for (const pair of this.pairs) pair.end();
    }, LAST_WORDS).unref();
  }

  /**
   * @param {Partial<Options>} [changes]
   * @returns {Promise<Pair>}
   */
  async #open(changes = {}) {
    const pair = new Pair({ ...this.options, ...changes });
    this.pairs.add(pair);
    const patches = await pair.ready();
    if (!changes.off) this.patches = patches;
    return pair;
  }

  /** @param {Pair} pair */
  #close(pair) {
    for (const warning of pair.turbo.warnings) this.warnings.add(warning);
    pair.end();
    this.pairs.delete(pair);
  }

  /**
   * @param {(index: number) => Spec} at
   * @param {number} from
   * @param {number} to
   * @returns {Promise<number>} where to go on: a pair that fell leaves the rest to another
   */
  async #chunk(at, from, to) {
    const pair = await this.#open();
    let next = from;
    const lane = async () => {
      while (next < to && !this.stopped && !pair.fallen) {
        const index = next++;
        await this.#battle(pair, at(index), index, from);
      }
    };
    await Promise.all(Array.from({ length: WINDOW }, lane));
    if (this.options.watch) for (const place of await pair.vanilla.reached()) this.reached.add(place);
    this.#close(pair);
    return next;
  }

  /**
   * @param {Pair} pair
   * @param {Spec} spec
   * @param {number} index
   * @param {number} since
   */
  async #battle(pair, spec, index, since) {
    const { vanilla, turbo } = await pair.play(spec);
    if (this.stopped) return;
    if (typeof vanilla === 'string' || typeof turbo === 'string') await this.#inTurn(() => this.#fell(spec, index));
    else {
      this.#count(spec, vanilla);
      const aspects = differences(vanilla, turbo);
      if (aspects.length) await this.#inTurn(() => this.#differs({ spec, index, since, aspects }));
    }
    this.listener.played(this);
  }

  /** @param {() => Promise<void>} examine */
  #inTurn(examine) {
    this.examined = this.examined.then(() => (this.stopped ? undefined : examine()));
    return this.examined;
  }

  /** @param {Spec} spec @param {Answer} answer */
  #count(spec, { turns, error }) {
    this.played++;
    this.turns += turns;
    const format = this.formats.get(spec.format) ?? { played: 0, thrown: 0 };
    this.formats.set(spec.format, format);
    format.played++;
    if (!error) return;
    format.thrown++;
    const known = this.errors.get(error) ?? { times: 0, spec };
    known.times++;
    this.errors.set(error, known);
  }

  /**
   * A process was lost with several battles before it, only one of which is to blame.
   * @param {Spec} spec
   * @param {number} index
   */
  async #fell(spec, index) {
    const pair = await this.#open({ watch: false });
    const { vanilla, turbo } = await pair.play(spec, true);
    this.#close(pair);
    if (this.stopped) return;
    if (typeof vanilla === 'string' && typeof turbo === 'string') this.stuck.push(spec);
    else if (typeof vanilla !== 'string') this.#count(spec, vanilla);
    const aspects = differences(vanilla, turbo);
    if (!aspects.length) return;
    this.#fail({ spec, index, since: index, aspects, alone: true, text: explain(vanilla, turbo), blame: '' });
  }

  /** @param {Pick<Failure, 'spec' | 'index' | 'since' | 'aspects'>} found */
  async #differs(found) {
    if (this.failures.length >= MOST_EXPLAINED) {
      this.#fail({ ...found, text: '', blame: '' });
      return;
    }
    const { spec } = found;
    const pair = await this.#open({ watch: false });
    const { vanilla, turbo } = await pair.play(spec, true);
    this.#close(pair);
    if (this.stopped) return;
    const alone = differences(vanilla, turbo).length > 0;
    const isBlamed = alone && this.options.bisect && typeof vanilla !== 'string';
    const blame = isBlamed ? await this.#blame(spec, vanilla) : '';
    this.#fail({ ...found, alone, text: explain(vanilla, turbo), blame });
  }

  /** @param {Failure} failure */
  #fail(failure) {
    this.failures.push(failure);
    this.listener.failed(failure, this);
  }

  /**
   * Switches patches on one after the other, in their order, until the battle differs.
   * @param {Spec} spec that differs
   * @param {Answer} vanilla from a fresh process, as those of turbo are here
   * @returns {Promise<string>} the patch with which it does
   */
  async #blame(spec, vanilla) {
    const names = this.patches.filter((patch) => patch.on).map(({ name }) => name);
    /** @param {number} count how many of them are on */
    const differsWith = async (count) => {
      const turbo = turboProcess({ ...this.options, off: [...this.options.off, ...names.slice(count)] });
      const answer = await turbo.play(spec, false);
      turbo.end();
      return differences(vanilla, answer).length > 0;
    };
    if (await differsWith(0)) return NO_PATCH;
    let [same, different] = [0, names.length];
    while (different - same > 1 && !this.stopped) {
      const middle = (same + different) >> 1;
      if (await differsWith(middle)) different = middle;
      else same = middle;
    }
    return names[different - 1];
  }
}

module.exports = { NO_PATCH, Suite };
