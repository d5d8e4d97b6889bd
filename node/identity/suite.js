'use strict';
/** Plays battles in pairs of processes, compares each, and looks again, alone, at those that differ. */

const { differences, explain } = require('./compare');
const { Pair, turboProcess } = require('./processes');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./processes').Options} Options
 * @typedef {import('./child').Answer} Answer
 * @typedef {import('../turbo/installation').Outcome} Outcome
 * @typedef {{spec: Spec, index: number, since: number, aspects: string[], alone: boolean, text: string, blame: string}} Failure
 *   `alone` says whether it differs in fresh processes too, or only after the battles `since` these began; `blame`
 *   is the patch that makes it differ, if that was asked for
 */

/** Battles for a pair of processes, which then makes room for another: the simulator's caches only grow. */
const CHUNK = 400;
/** So many battles lie before a process while it plays, and turbo runs ahead by so many. */
const WINDOW = 6;
/** To explain one takes fresh processes; after some, people have enough to look at. */
const MOST_EXPLAINED = 10;
/** How long processes that are to end may take to finish what they play, in milliseconds. */
const LAST_WORDS = 10_000;

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
    /** How many of a format's battles came to an end without an error. @type {Map<string, {played: number, thrown: number}>} */
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
      if (aspects.length) await this.#inTurn(() => this.#differs({ spec, index, since, aspects }, vanilla));
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
    if (aspects.length) this.#fail({ spec, index, since: index, aspects, alone: true, text: explain(vanilla, turbo), blame: '' });
  }

  /**
   * @param {Pick<Failure, 'spec' | 'index' | 'since' | 'aspects'>} found
   * @param {Answer} expected
   */
  async #differs(found, expected) {
    const { spec } = found;
    let [alone, text, blame] = [true, '', ''];
    if (this.failures.length < MOST_EXPLAINED) {
      const pair = await this.#open({ watch: false });
      const { vanilla, turbo } = await pair.play(spec, true);
      this.#close(pair);
      if (this.stopped) return;
      alone = differences(vanilla, turbo).length > 0;
      text = explain(vanilla, turbo);
      if (alone && this.options.bisect) blame = await this.#blame(spec, expected);
    }
    this.#fail({ ...found, alone, text, blame });
  }

  /** @param {Failure} failure */
  #fail(failure) {
    this.failures.push(failure);
    this.listener.failed(failure, this);
  }

  /**
   * Switches patches on one after the other, in their order, until the battle differs.
   * @param {Spec} spec that differs
   * @param {Answer} vanilla
   * @returns {Promise<string>} the patch with which it does
   */
  async #blame(spec, vanilla) {
    const names = this.patches.filter((patch) => patch.on).map(({ name }) => name);
    let [same, different] = [0, names.length];
    while (different - same > 1 && !this.stopped) {
      const middle = (same + different) >> 1;
      const turbo = turboProcess({ ...this.options, off: [...this.options.off, ...names.slice(middle)] });
      const answer = await turbo.play(spec, false);
      turbo.end();
      if (differences(vanilla, answer).length) different = middle;
      else same = middle;
    }
    return names[different - 1] ?? '';
  }
}

module.exports = { Suite };
