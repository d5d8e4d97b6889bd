'use strict';
/** Plays battles in pairs of processes, compares each, and looks again, alone, at those that differ. */

const { setTimeout } = require('node:timers/promises');
const { differences, explain } = require('./compare');
const { Pair } = require('./processes');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./processes').Options} Options
 * @typedef {import('../turbo/installation').Outcome} Outcome
 * @typedef {{spec: Spec, index: number, aspects: string[], alone: boolean, text: string, blame: string[] | null}} Failure
 *   `alone` says whether it differs in fresh processes too, or only after the battles before it
 */

/** Battles for a pair of processes, which then makes room for another: the simulator's caches only grow. */
const CHUNK = 400;
/** So many battles lie before a process while it plays, and turbo runs ahead by so many. */
const WINDOW = 6;
/** To explain one takes fresh processes; after some, people have enough to look at. */
const MOST_EXPLAINED = 10;
/** How long a process that is to end may take to finish what it plays and say what it reached. */
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
  }

  /** @param {(index: number) => Spec} at @param {number} first @param {number} count */
  async run(at, first, count) {
    let index = first;
    while (index < first + count && !this.stopped) {
      index = await this.#chunk(at, index, Math.min(index + CHUNK, first + count));
    }
  }

  /** Ends all processes, when they have said what they reached; who waits for a battle hears no more of it. */
  async stop() {
    this.stopped = true;
    await Promise.all([...this.pairs].map((pair) => this.#gather(pair)));
    for (const pair of this.pairs) pair.end();
  }

  /** @param {Pair} pair */
  async #gather(pair) {
    if (!this.options.watch) return;
    const places = await Promise.race([pair.vanilla.reached(), setTimeout(LAST_WORDS, /** @type {string[]} */ ([]), { ref: false })]);
    for (const place of places) this.reached.add(place);
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
        await this.#battle(pair, at(index), index);
      }
    };
    await Promise.all(Array.from({ length: WINDOW }, lane));
    if (!this.stopped) await this.#gather(pair);
    this.#close(pair);
    return next;
  }

  /**
   * @param {Pair} pair
   * @param {Spec} spec
   * @param {number} index
   */
  async #battle(pair, spec, index) {
    const { vanilla, turbo } = await pair.play(spec);
    if (this.stopped) return;
    if (typeof vanilla === 'string' || typeof turbo === 'string') await this.#fell(spec, index);
    else {
      this.#count(spec, vanilla);
      const aspects = differences(vanilla, turbo);
      if (aspects.length) await this.#differs(spec, index, aspects);
    }
    this.listener.played(this);
  }

  /** @param {Spec} spec @param {import('./child').Answer} answer */
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
    if (aspects.length) await this.#fail({ spec, index, aspects, alone: true, text: explain(vanilla, turbo), blame: null });
  }

  /**
   * @param {Spec} spec
   * @param {number} index
   * @param {string[]} aspects
   */
  async #differs(spec, index, aspects) {
    let [alone, text] = [true, ''];
    if (this.failures.length < MOST_EXPLAINED) {
      const pair = await this.#open({ watch: false });
      const { vanilla, turbo } = await pair.play(spec, true);
      this.#close(pair);
      if (this.stopped) return;
      alone = differences(vanilla, turbo).length > 0;
      text = explain(vanilla, turbo);
    }
    await this.#fail({ spec, index, aspects, alone, text, blame: null });
  }

  /** @param {Failure} failure */
  async #fail(failure) {
    if (this.options.bisect && failure.alone) failure.blame = await this.#blame(failure.spec);
    this.failures.push(failure);
    this.listener.failed(failure, this);
  }

  /**
   * @param {Spec} spec that differs
   * @returns {Promise<string[]>} the patches each of which it takes for that, those that need others first
   */
  async #blame(spec) {
    const blame = [];
    const on = this.patches.filter((patch) => patch.on).map(({ name }) => name);
    for (const name of on.reverse()) {
      const pair = await this.#open({ watch: false, off: [...this.options.off, name] });
      const { vanilla, turbo } = await pair.play(spec);
      this.#close(pair);
      if (!differences(vanilla, turbo).length) blame.push(name);
    }
    return blame;
  }
}

module.exports = { CHUNK, Suite };
