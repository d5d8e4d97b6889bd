'use strict';
/** NDJSON over one duplex descriptor: splits what arrives into lines, gathers what leaves into one write. */

const net = require('node:net');
const { toUSVString } = require('node:util');

const NEWLINE = 10;

/** Splits a byte stream into lines and drops, but reports, a line that is longer than the maximum. */
class LineSplitter {
  /** @param {number} maximum bytes that a line may have */
  constructor(maximum) {
    this.maximum = maximum;
    /** @type {Buffer[]} */
    this.parts = [];
    this.length = 0;
  }

  /**
   * @param {Buffer} chunk
   * @returns {(Buffer | null)[]} the lines that the chunk completes; null for one that was too long
   */
  push(chunk) {
    /** @type {(Buffer | null)[]} */
    const lines = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      lines.push(this.#complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** @param {Buffer} part */
  #keep(part) {
    this.length += part.length;
    if (this.length > this.maximum) this.parts = [];
    else this.parts.push(part);
  }

  /** @param {Buffer} last */
  #complete(last) {
    const length = this.length + last.length;
    const parts = this.parts;
    this.parts = [];
    this.length = 0;
    if (length > this.maximum) return null;
    return parts.length ? Buffer.concat([...parts, last]) : last;
  }
}

/** The pipe to Python. */
class Channel {
  /**
   * @param {number} descriptor a socket or pipe that can be read and written
   * @param {{maximum: number, onLines: (lines: (Buffer | null)[]) => void,
   *   onEnd: () => void}} options
   */
  constructor(descriptor, { maximum, onLines, onEnd }) {
    this.outgoing = '';
    const splitter = new LineSplitter(maximum);
    this.socket = new net.Socket({ fd: descriptor, readable: true, writable: true });
    this.socket.on('data', (chunk) => onLines(splitter.push(chunk)));
    this.socket.on('end', onEnd);
    this.socket.on('error', onEnd);
  }

  /**
   * Adds a frame to the next write.
   * @param {string} frame a JSON object without its newline
   */
  add(frame) {
    this.outgoing += `${frame}\n`;
  }

  flush() {
    if (!this.outgoing) return;
    // Looked through here, and not frame by frame: V8 has to make one piece of it in any case, and does so once.
    this.socket.write(this.outgoing.includes('\\ud') ? wellFormed(this.outgoing) : this.outgoing);
    this.outgoing = '';
  }
}

/**
 * Half a character, as the simulator leaves when it cuts a nickname, has no form in UTF-8, and strict readers
 * refuse its escape. Here it becomes the sign for what cannot be read.
 * @param {string} lines each of them a frame
 * @returns {string} the same, where no line has half a character
 */
function wellFormed(lines) {
  const repaired = (/** @type {string} */ _, /** @type {unknown} */ value) =>
    typeof value === 'string' ? toUSVString(value) : value;
  return lines
    .split('\n')
    .map((line) => (line.includes('\\ud') ? JSON.stringify(JSON.parse(line), repaired) : line))
    .join('\n');
}

module.exports = { Channel, LineSplitter, wellFormed };
