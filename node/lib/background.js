'use strict';
/** Work that can wait: done in small steps, and only while nobody wants anything of this process. */

const { now } = require('./clock');

/**
 * In nanoseconds. Who plays here comes back sooner than that: a step between two of their commands would delay the
 * second one, and take the CPU from those who think about it.
 */
const QUIET = 50e6;
/** Likewise, before another look at a process that was busy. */
const RETRY = 5e6;

/** @typedef {Iterator<unknown, unknown, unknown>} Task something that can be done step by step */

class Background {
  /**
   * @param {() => boolean} isBusy whether commands wait to be answered
   * @param {(message: string) => void} [warn] hears of work that failed: nobody has asked for it who could be told
   */
  constructor(isBusy, warn = (message) => process.stderr.write(`${message}\n`)) {
    this.isBusy = isBusy;
    this.warn = warn;
    /** When somebody was last answered who plays here. */
    this.disturbed = 0;
    /** The first of them is in hand. @type {Task[]} */
    this.tasks = [];
    /** @type {WeakSet<Task>} */
    this.urgent = new WeakSet();
    this.scheduled = false;
  }

  /** @param {Task} task that comes after all others */
  add(task) {
    this.tasks.push(task);
    this.#schedule();
  }

  /** @param {Task} task that comes before all others, and waits for commands, but not for a time without any */
  addFirst(task) {
    this.urgent.add(task);
    this.tasks.unshift(task);
    this.#schedule();
  }

  #schedule() {
    if (this.scheduled || !this.tasks.length) return;
    this.scheduled = true;
    const wait = this.#wait();
    // Between two steps the loop reads what has arrived, and answers it.
    if (wait <= 0) setImmediate(this.#step);
    else setTimeout(this.#step, Math.ceil(wait / 1e6)).unref();
  }

  #step = () => {
    this.scheduled = false;
    if (this.#wait() <= 0) this.#advance(this.tasks[0]);
    this.#schedule();
  };

  /** @returns {number} nanoseconds until the next step may be tried */
  #wait() {
    if (this.isBusy()) return RETRY;
    return this.urgent.has(this.tasks[0]) ? 0 : this.disturbed + QUIET - now();
  }

  /** @param {Task} task */
  #advance(task) {
    let done = true;
    try {
      done = task.next().done ?? false;
    } catch (error) {
      this.warn(`work in the background ended: ${/** @type {Error} */ (error)?.stack ?? error}`);
    }
    if (done) this.tasks.splice(this.tasks.indexOf(task), 1);
  }
}

module.exports = { Background };
