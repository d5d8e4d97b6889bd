'use strict';
/** Two processes that play the same battles: one in the simulator as it comes, one with turbo in front of it. */

const { fork } = require('node:child_process');
const path = require('node:path');

/**
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./child').Answer} Answer
 * @typedef {import('../turbo/installation').Outcome} Outcome
 * @typedef {{off: string[], requires: string[], watch: boolean}} Options patches to leave out of turbo, what to load
 *   before it, and whether to watch which callbacks vanilla reaches
 */

const CHILD = path.join(__dirname, 'child.js');
const REGISTER = path.join(__dirname, '..', 'turbo', 'register.js');
/** A battle takes a tenth of a second; a replay of a long one some seconds, on a machine that has other work to do. */
const PATIENCE = 120_000;

/** Raised when a process ends, or does not answer, in the middle of a battle. */
class Fell extends Error {}

class PlayerProcess {
  /**
   * @param {string[]} execArgv
   * @param {string[]} argv
   * @param {NodeJS.ProcessEnv} env
   */
  constructor(execArgv, argv, env) {
    this.child = fork(CHILD, argv, {
      execArgv: ['--no-warnings', ...execArgv],
      env: { ...process.env, ...env },
      stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    });
    /** @type {Map<number, {resolve: (answer: Answer) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    /** @type {Set<string>} */
    this.warnings = new Set();
    this.asked = 0;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    this.fallen = '';
    /** @type {Promise<Outcome[] | null>} */
    this.ready = new Promise((resolve, reject) => {
      this.child.on('message', (/** @type {any} */ message) => {
        if (message.hello) resolve(message.patches);
        else this.#hear(message);
      });
      this.child.on('exit', (code, signal) => {
        reject(new Fell(`the process ended with ${signal ?? code}`));
        this.#fall(`the process ended with ${signal ?? code}`);
      });
    });
    // Who asks hears of it; nobody has to ask.
    this.ready.catch(() => {});
    /** @type {((reached: string[]) => void) | undefined} */
    this.whenReached = undefined;
  }

  /**
   * @param {Spec} spec
   * @param {boolean} full
   * @returns {Promise<Answer>}
   */
  ask(spec, full) {
    if (this.fallen) return Promise.reject(new Fell(this.fallen));
    return new Promise((resolve, reject) => {
      const id = ++this.asked;
      this.waiting.set(id, { resolve, reject });
      if (this.waiting.size === 1) this.#watchTime();
      this.child.send({ id, spec, full });
    });
  }

  /** @returns {Promise<string[]>} the functions that were called so far */
  reached() {
    if (this.fallen) return Promise.resolve([]);
    return new Promise((resolve) => {
      this.whenReached = resolve;
      this.child.once('exit', () => resolve([]));
      this.child.send({ reached: true });
    });
  }

  end() {
    clearTimeout(this.timer);
    this.child.kill('SIGKILL');
  }

  /** @param {any} message */
  #hear(message) {
    if (message.warning) this.warnings.add(message.warning);
    else if (message.reached) this.whenReached?.(message.reached);
    else {
      this.waiting.get(message.id)?.resolve(message);
      this.waiting.delete(message.id);
      this.#watchTime();
    }
  }

  #watchTime() {
    clearTimeout(this.timer);
    if (!this.waiting.size) return;
    this.timer = setTimeout(() => {
      this.fallen = `there was no answer in ${PATIENCE / 1000} s`;
      this.child.kill('SIGKILL');
    }, PATIENCE);
  }

  /** @param {string} why */
  #fall(why) {
    clearTimeout(this.timer);
    this.fallen ||= why;
    for (const { reject } of this.waiting.values()) reject(new Fell(this.fallen));
    this.waiting.clear();
  }
}

class Pair {
  /** @param {Options} options */
  constructor({ off, requires, watch }) {
    const preloads = [...requires, REGISTER].flatMap((file) => ['--require', file]);
    this.vanilla = new PlayerProcess([], watch ? ['--watch'] : [], {});
    this.turbo = new PlayerProcess(preloads, [], { MAPLE_TURBO_OFF: off.join(',') });
  }

  /** @returns {Promise<Outcome[]>} which patches are on */
  async ready() {
    const [, patches] = await Promise.all([this.vanilla.ready, this.turbo.ready]);
    if (!patches?.length) throw new Error('turbo is not in front of the simulator');
    return patches;
  }

  /**
   * @param {Spec} spec
   * @param {boolean} [full] with all lines
   */
  async play(spec, full = false) {
    const ask = (/** @type {PlayerProcess} */ player) =>
      player.ask(spec, full).catch((error) => {
        if (error instanceof Fell) return error.message;
        throw error;
      });
    const [vanilla, turbo] = await Promise.all([ask(this.vanilla), ask(this.turbo)]);
    return { vanilla, turbo };
  }

  get fallen() {
    return Boolean(this.vanilla.fallen || this.turbo.fallen);
  }

  end() {
    this.vanilla.end();
    this.turbo.end();
  }
}

module.exports = { Pair };
