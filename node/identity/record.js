'use strict';
/** All that is compared of a battle, by aspect: lines to read where they differ, and digests that say if they do. */

const { createHash } = require('node:crypto');

/** In the order in which they are looked at: the earlier, the nearer to the cause. */
const ASPECTS = /** @type {const} */ ([
  'teams',
  'problems',
  'choices',
  'requests',
  'states',
  'sent',
  'frames',
  'log',
  'channel -1',
  'channel 0',
  'channel 1',
  'channel 2',
  'channel 3',
  'channel 4',
  'input log',
  'seed',
  'turn',
  'winner',
  'error',
]);

/**
 * @typedef {typeof ASPECTS[number]} Aspect
 * @typedef {Partial<Record<Aspect, string>>} Digests
 * @typedef {Partial<Record<Aspect, string[]>>} Lines
 */

class BattleRecord {
  constructor() {
    /** @type {Lines} */
    this.lines = {};
  }

  /**
   * @param {Aspect} aspect
   * @param {readonly string[]} lines
   */
  add(aspect, ...lines) {
    const list = (this.lines[aspect] ??= []);
    for (const line of lines) list.push(line);
  }

  /** @returns {Digests} */
  digests() {
    /** @type {Digests} */
    const digests = {};
    for (const aspect of ASPECTS) {
      const lines = this.lines[aspect];
      if (lines) digests[aspect] = createHash('sha1').update(lines.join('\n')).digest('base64');
    }
    return digests;
  }
}

/**
 * @param {string} line of a log
 * @returns {string} without the time of day
 */
function masked(line) {
  return line.startsWith('|t:|') ? '|t:|' : line;
}

module.exports = { ASPECTS, BattleRecord, masked };
