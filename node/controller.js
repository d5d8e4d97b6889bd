'use strict';
/**
 * The entry of a controller: reads commands, runs them on rooms, answers each with one frame.
 *
 * node controller.js --channel FD --recorder FD --simulator FOLDER --max-frame BYTES [--turbo [--cache FOLDER]]
 *
 * With --turbo the simulator's hot paths are replaced by faster ones; --cache is where their compiled code is kept.
 * Descriptor `channel` carries frames both ways; stdout and stderr are free for whatever the simulator
 * prints; stdin is the lifeline: when it closes, this process ends.
 */

const { parseArgs } = require('node:util');
const { Background } = require('./lib/background');
const { Channel } = require('./lib/channel');
const { now } = require('./lib/clock');
const { parseCommand } = require('./lib/command');
const { requireFlag } = require('./lib/fields');
const { FlightRecorder } = require('./lib/recorder');
const { holdLifeline } = require('./lib/lifeline');
const { printAtOnce } = require('./lib/output');
const { Refusal } = require('./lib/refusal');
const { Rooms } = require('./lib/rooms');
const { loadSimulator } = require('./lib/simulator');

const PROTOCOL = 1;
/**
 * In nanoseconds. A loop turn ends, and its answers leave, once half of what waited for it is done: Python works on
 * those while this process works on the rest. It is never so short that writes become many, nor so long that
 * answers grow old.
 */
const SHORTEST_TURN = 4e6;
const LONGEST_TURN = 16e6;
const LONGEST_TAG = 200;

/** @typedef {{line: Buffer | null, received: number}} Arrival */

class Controller {
  /**
   * @param {{channel: number, recorder: number, simulator: string, maxFrame: number,
   *   turbo: boolean, cache: string | undefined}} options
   */
  constructor({ channel, recorder, simulator, maxFrame, turbo, cache }) {
    this.maxFrame = maxFrame;
    /** Whether answers are stamped; Python says so with every beat. */
    this.timing = true;
    this.recorder = new FlightRecorder(recorder);
    /** What the next answer has to tell beside itself. @type {string[]} */
    this.warnings = [];
    const warn = (/** @type {string} */ message) => void this.warnings.push(message);
    const loaded = loadSimulator(simulator, { turbo, cache, warn });
    /** @type {Arrival[]} */
    this.arrivals = [];
    this.position = 0;
    this.background = new Background(() => this.arrivals.length > 0, warn);
    this.rooms = new Rooms(loaded, this.background);
    this.channel = new Channel(channel, {
      maximum: maxFrame,
      onLines: (lines) => this.#arrive(lines),
      onEnd: () => process.exit(0),
    });
    this.channel.add(
      JSON.stringify({
        hello: {
          protocol: PROTOCOL,
          node: process.version,
          simulator: loaded.version,
          turbo: loaded.turbo,
          left: loaded.left,
          observation: this.rooms.spec.hash,
          pid: process.pid,
        },
      }),
    );
    this.channel.flush();
  }

  /** @param {(Buffer | null)[]} lines */
  #arrive(lines) {
    const received = this.#stamp();
    const idle = this.arrivals.length === 0;
    for (const line of lines) this.arrivals.push({ line, received });
    if (idle && lines.length) this.#turn();
  }

  /** Works through what has arrived, or part of it, and writes once; the rest is for the next loop turn. */
  #turn = () => {
    const begun = now();
    const half = this.arrivals.length / 2;
    let time = begun;
    while (this.position < this.arrivals.length) {
      time = this.#answer(this.arrivals[this.position++], time);
      if (time - begun > (this.position < half ? LONGEST_TURN : SHORTEST_TURN)) break;
    }
    this.channel.flush();
    // A busy process may never see the end of the queue: what is answered must go at once.
    this.arrivals.splice(0, this.position);
    this.position = 0;
    if (this.arrivals.length) setImmediate(this.#turn);
    else this.recorder.idle();
  };

  /**
   * @param {Arrival} arrival
   * @param {number} started the time when the answer before it was ready, or the turn began
   * @returns {number} the time when the answer was ready
   */
  #answer({ line, received }, started) {
    /** @type {Partial<import('./lib/rooms').Command>} */
    let command = {};
    let report;
    try {
      command = parseCommand(line, this.maxFrame);
      this.recorder.begin(/** @type {number} */ (command.id));
      report = this.#run(/** @type {import('./lib/rooms').Command} */ (command));
    } catch (error) {
      report = () => this.#refuse(command, error);
    }
    const simulated = this.#stamp();
    const room = typeof command.room === 'string' ? `,"room":${JSON.stringify(command.room.slice(0, LONGEST_TAG))}` : '';
    const body = `{"ack":${command.id ?? null}${room}${this.#encode(command, report)}`;
    const encoded = now();
    // Not for a command that came while timing was off.
    const stamps = this.timing && received
      ? `,"t":[${received},${started - received},${simulated - started},${encoded - simulated}]`
      : '';
    this.channel.add(`${body}${stamps}${this.#takeWarnings()}}`);
    // A heartbeat is nobody who plays.
    if (command.op !== 'ping') this.background.disturbed = encoded;
    return encoded;
  }

  /**
   * @param {Partial<import('./lib/rooms').Command>} command
   * @param {import('./lib/rooms').Report} report
   * @returns {string}
   */
  #encode(command, report) {
    try {
      return report();
    } catch (error) {
      // Observations are made here: what breaks there concerns one room.
      return this.#refuse(command, error);
    }
  }

  /** @returns {string} what has gone wrong since the last answer, as a JSON member of a frame */
  #takeWarnings() {
    if (!this.warnings.length) return '';
    const warnings = JSON.stringify(this.warnings);
    this.warnings = [];
    return `,"warnings":${warnings}`;
  }

  /** @returns {number} the time, if anybody wants to know */
  #stamp() {
    return this.timing ? now() : 0;
  }

  /** @param {import('./lib/rooms').Command} command */
  #run(command) {
    if (command.op !== 'ping') return this.rooms.run(command);
    if (command.timing !== undefined) this.timing = requireFlag(command, 'timing');
    return () => this.rooms.vitals();
  }

  /**
   * @param {Partial<import('./lib/rooms').Command>} command
   * @param {unknown} error
   * @returns {string}
   */
  #refuse(command, error) {
    if (error instanceof Refusal) {
      const { code, message, problems } = error;
      return `,"error":${JSON.stringify({ code, message, problems })}${this.rooms.take(command.room)}`;
    }
    this.rooms.drop(command.room);
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return `,"error":${JSON.stringify({ code: 'crashed', message })}`;
  }
}

function main() {
  const { values } = parseArgs({
    options: {
      channel: { type: 'string' },
      recorder: { type: 'string' },
      simulator: { type: 'string' },
      'max-frame': { type: 'string' },
      turbo: { type: 'boolean', default: false },
      cache: { type: 'string' },
    },
  });
  holdLifeline();
  printAtOnce();
  new Controller({
    channel: Number(values.channel),
    recorder: Number(values.recorder),
    simulator: String(values.simulator),
    maxFrame: Number(values['max-frame']),
    turbo: Boolean(values.turbo),
    cache: values.cache,
  });
}

main();
