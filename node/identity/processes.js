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
    /** @type {Map<number, (answer: Answer | string) => void>} */
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
        reject(new Error(`a process ended with ${signal ?? code} before it could play`));
        this.#fall(`the process ended with ${signal ?? code}`);
      });
    });
    // Who waits for it hears of it; nobody has to wait.
    this.ready.catch(() => {});
    /** @type {((reached: string[]) => void) | undefined} */
    this.whenReached = undefined;
  }

  /**
   * @param {Spec} spec
   * @param {boolean} full
   * @returns {Promise<Answer | string>} an answer, or why there is none
   */
  play(spec, full) {
    if (this.fallen) return Promise.resolve(this.fallen);
    return new Promise((resolve) => {
      const id = ++this.asked;
      this.waiting.set(id, resolve);
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
      this.waiting.get(message.id)?.(message);
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
    for (const resolve of this.waiting.values()) resolve(this.fallen);
    this.waiting.clear();
  }
}

/** @param {Pick<Options, 'off' | 'requires'>} options */
function turboProcess({ off, requires }) {
  const preloads = [...requires, REGISTER].flatMap((file) => ['--require', file]);
  return new PlayerProcess(preloads, [], { MAPLE_TURBO_OFF: off.join(',') });
}

class Pair {
  /** @param {Options} options */
  constructor({ watch, ...options }) {
    this.vanilla = new PlayerProcess([], watch ? ['--watch'] : [], {});
    this.turbo = turboProcess(options);
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
    const [vanilla, turbo] = await Promise.all([this.vanilla.play(spec, full), this.turbo.play(spec, full)]);
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

module.exports = { Pair, turboProcess };
