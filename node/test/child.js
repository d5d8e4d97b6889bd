'use strict';
/** A controller, or a process that observes, as the tests start one: a process, with its descriptors. */

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { FOLDER, OLD, opening } = require('./battles');

/** @typedef {import('node:net').Socket} Socket */

const CONTROLLER = { entry: path.join(__dirname, '..', 'controller.js'), options: [`--simulator=${FOLDER}`] };
const OBSERVING = { entry: path.join(__dirname, '..', 'lib', 'observe.js'), options: [] };
const MAXIMUM = 100_000;
const PATIENCE = 60_000;

class Child {
  /**
   * @param {string[]} [options] of the process
   * @param {string[]} [nodeOptions]
   * @param {{entry: string, options: string[]}} [kind]
   */
  constructor(options = [], nodeOptions = [], kind = CONTROLLER) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'controller-'));
    this.recorder = path.join(this.folder, 'recorder');
    const descriptor = fs.openSync(this.recorder, 'w+');
    this.process = spawn(
      process.execPath,
      [...nodeOptions, kind.entry, '--channel=3', '--recorder=4', `--max-frame=${MAXIMUM}`, ...kind.options, ...options],
      { stdio: ['pipe', 'pipe', 'pipe', 'pipe', descriptor] },
    );
    fs.closeSync(descriptor);
    this.exited = once(this.process, 'exit');
    this.printed = '';
    /** What its frames have warned of. @type {string[]} */
    this.warnings = [];
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (chunk) => (this.printed += chunk));
    }
    this.channel = /** @type {Socket} */ (this.process.stdio[3]);
    this.lines = readline.createInterface({ input: this.channel })[Symbol.asyncIterator]();
  }

  /** @returns {Promise<any>} the next frame, without warnings */
  async next() {
    const { value } = await this.lines.next();
    const { warnings = [], ...frame } = JSON.parse(value);
    this.warnings.push(...warnings);
    return frame;
  }

  /** @param {(string | Buffer | object)[]} lines */
  send(...lines) {
    const parts = lines.flatMap((line) => [
      typeof line === 'string' || Buffer.isBuffer(line) ? Buffer.from(line) : Buffer.from(JSON.stringify(line)),
      Buffer.from('\n'),
    ]);
    this.channel.write(Buffer.concat(parts));
  }

  /** @param {string | Buffer | object} line */
  ask(line) {
    this.send(line);
    return this.next();
  }

  noted() {
    return fs.readFileSync(this.recorder).readDoubleLE();
  }

  /** @returns {Promise<[number | null, string | null]>} how the process ended */
  async end() {
    return /** @type {any} */ (this.exited);
  }

  async remove() {
    if (this.process.exitCode === null) this.process.kill('SIGKILL');
    await this.exited;
    fs.rmSync(this.folder, { recursive: true });
  }
}

/**
 * @param {string} room
 * @param {number} id
 * @param {{format: string, team: string | undefined}} battle
 */
function open(room, id, battle = OLD) {
  const { format, seed, players } = opening(battle);
  return { id, op: 'open', room, format, seed, ...players };
}

module.exports = { Child, MAXIMUM, OBSERVING, PATIENCE, open };
