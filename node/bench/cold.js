'use strict';
/**
 * What a controller takes from its start to the answer to its first `open`, vanilla and turbo in turns.
 *
 * node [OPTIONS] cold.js --simulator FOLDER --samples N [--cache FOLDER] [--format FORMAT]
 *
 * Controllers get the options of Node that this process has. Their cache is a new folder in that of --cache, and is
 * removed afterwards. Prints one line of JSON: milliseconds to the answer by kind, and the same for `hello`, for CPU time
 * until the answer, and for memory in bytes; `first` is turbo's start that finds no cache. The cache is then filled by
 * a controller that warms up.
 */

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');

const ENTRY = path.join(__dirname, '..', 'controller.js');
/** Seconds that a cache may take to appear. */
const PATIENCE = 60;
/** More than a controller plays before it writes its cache. */
const WARM_UP = 20;

/** @typedef {{hello: number, answer: number, cpu: number, memory: number}} Sample in milliseconds and bytes */

class Cold {
  /** @param {{simulator: string, format: string, cache: string}} options */
  constructor({ simulator, format, cache }) {
    this.simulator = simulator;
    this.format = format;
    this.cache = cache;
  }

  /**
   * @param {string[]} options of the controller
   * @param {(ask: (command?: object) => Promise<any>, started: number) => Promise<Sample>} act
   */
  async #with(options, act) {
    const recorder = fs.openSync(os.devNull, 'w');
    const started = performance.now();
    const child = spawn(
      process.execPath,
      [
        ...process.execArgv,
        ...[ENTRY, '--channel=3', '--recorder=4', `--simulator=${this.simulator}`, '--max-frame=1000000'],
        ...options,
      ],
      { stdio: ['pipe', 'inherit', 'inherit', 'pipe', recorder] },
    );
    fs.closeSync(recorder);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const channel = /** @type {import('node:net').Socket} */ (child.stdio[3]);
    const lines = readline.createInterface({ input: channel })[Symbol.asyncIterator]();
    try {
      return await act(async (command) => {
        if (command) channel.write(`${JSON.stringify(command)}\n`);
        const { value } = await lines.next();
        if (value === undefined) throw new Error('the controller is gone');
        const frame = JSON.parse(value);
        if (frame.error) throw new Error(frame.error.message);
        return frame;
      }, started);
    } finally {
      child.kill('SIGKILL');
      await gone;
    }
  }

  /**
   * @param {string[]} options
   * @returns {Promise<Sample>}
   */
  sample(options) {
    return this.#with(options, (ask, started) => this.#open(ask, started));
  }

  /**
   * @param {(command?: object) => Promise<any>} ask
   * @param {number} started
   */
  async #open(ask, started) {
    await ask();
    const hello = performance.now() - started;
    const { format } = this;
    const [p1, p2] = [1, 2].map((n) => ({ name: `p${n}`, seed: `${n},2,3,4` }));
    await ask({ id: 1, op: 'open', room: 'a', format, seed: '1,2,3,4', p1, p2 });
    const answer = performance.now() - started;
    const { cpu, rss } = await ask({ id: 2, op: 'ping' });
    return { hello, answer, cpu: cpu * 1e3, memory: rss };
  }

  get turbo() {
    return ['--turbo', `--cache=${this.cache}`];
  }

  /** Starts a controller that finds no cache, and lets it write one. */
  fill() {
    return this.#with(this.turbo, async (ask, started) => {
      const sample = await this.#open(ask, started);
      const before = this.#written();
      await ask({ id: 3, op: 'warm', format: this.format, battles: WARM_UP });
      for (let tick = 0; this.#written() === before; tick++) {
        if (tick > PATIENCE * 10) throw new Error(`no cache was written in ${PATIENCE} s`);
        await sleep(100);
      }
      return sample;
    });
  }

  /** What is in the cache, as far as it is finished. */
  #written() {
    return fs.readdirSync(this.cache).filter((name) => name.endsWith('.bundle')).join();
  }

  /** @param {number} samples of either kind */
  async compare(samples) {
    const first = await this.fill();
    /** @type {Record<'vanilla' | 'turbo', Sample[]>} */
    const taken = { vanilla: [], turbo: [] };
    for (let n = 0; n < samples; n++) {
      taken.vanilla.push(await this.sample([]));
      taken.turbo.push(await this.sample(this.turbo));
    }
    /** @param {keyof Sample} quantity */
    const both = (quantity) => {
      const [vanilla, turbo] = [taken.vanilla, taken.turbo].map((list) => list.map((sample) => rounded(sample[quantity])));
      return { vanilla, turbo };
    };
    return {
      ...both('answer'),
      hello: both('hello'),
      cpu: both('cpu'),
      memory: both('memory'),
      first: Object.fromEntries(Object.entries(first).map(([name, value]) => [name, rounded(value)])),
    };
  }
}

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 10) / 10;
}

async function main() {
  const { values } = parseArgs({
    options: {
      simulator: { type: 'string' },
      samples: { type: 'string', default: '10' },
      cache: { type: 'string' },
      format: { type: 'string', default: 'gen9randombattle' },
    },
  });
  const cache = fs.mkdtempSync(path.join(values.cache ?? os.tmpdir(), 'cold-'));
  try {
    const cold = new Cold({ simulator: path.resolve(String(values.simulator)), format: String(values.format), cache });
    process.stdout.write(`${JSON.stringify(await cold.compare(Number(values.samples)))}\n`);
  } finally {
    fs.rmSync(cache, { recursive: true });
  }
}

main();
