'use strict';
/**
 * The entry of a process that observes battles which somebody plays elsewhere: reads commands, answers each with one frame.
 *
 * node observe.js --channel FD --recorder FD --max-frame BYTES [--packages FOLDER]
 *
 * Loads no simulator. Descriptor `channel` carries frames both ways; stdin is the lifeline: when it closes, this process
 * ends. `packages` is where @smogon/calc is installed, for who asks for the group `calc`.
 */

const path = require('node:path');
const { parseArgs } = require('node:util');
const { Channel } = require('./channel');
const { parseCommand } = require('./command');
const { holdLifeline } = require('./lifeline');
const { ObservedBattles } = require('./observed');
const { printAtOnce } = require('./output');
const { FlightRecorder } = require('./recorder');
const { Refusal } = require('./refusal');
const { calculateWith } = require('../observation/calc');

const PROTOCOL = 1;

class ObservingProcess {
  /** @param {{channel: number, recorder: number, maxFrame: number}} options */
  constructor({ channel, recorder, maxFrame }) {
    this.maxFrame = maxFrame;
    this.recorder = new FlightRecorder(recorder);
    this.battles = new ObservedBattles();
    this.channel = new Channel(channel, {
      maximum: maxFrame,
      onLines: (lines) => this.#answer(lines),
      onEnd: () => process.exit(0),
    });
    const { hash } = this.battles.spec;
    this.channel.add(
      JSON.stringify({ hello: { protocol: PROTOCOL, node: process.version, observation: hash, pid: process.pid } }),
    );
    this.channel.flush();
  }

  /** @param {(Buffer | null)[]} lines */
  #answer(lines) {
    for (const line of lines) {
      /** @type {number | null} */
      let id = null;
      let members;
      try {
        const command = parseCommand(line, this.maxFrame);
        id = command.id;
        this.recorder.begin(id);
        members = this.battles.run(command);
      } catch (error) {
        members = `,"error":${JSON.stringify(told(error))}`;
      }
      this.channel.add(`{"ack":${id}${members}}`);
    }
    this.recorder.idle();
    this.channel.flush();
  }
}

/** @param {unknown} error */
function told(error) {
  if (error instanceof Refusal) return { code: error.code, message: error.message };
  return { code: 'crashed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

function main() {
  const { values } = parseArgs({
    options: {
      channel: { type: 'string' },
      recorder: { type: 'string' },
      'max-frame': { type: 'string' },
      packages: { type: 'string' },
    },
  });
  holdLifeline();
  printAtOnce();
  const { packages } = values;
  if (packages) calculateWith(() => require(path.join(packages, '@smogon', 'calc')));
  new ObservingProcess({
    channel: Number(values.channel),
    recorder: Number(values.recorder),
    maxFrame: Number(values['max-frame']),
  });
}

main();
