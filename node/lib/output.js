'use strict';
/** What the simulator prints leaves at once, so that the last words of a process do not die with it. */

/**
 * Node queues what a full pipe does not take, and makes the pipe non-blocking for whoever else writes to it.
 * There is no public way to ask for anything else.
 */
function printAtOnce() {
  for (const stream of [process.stdout, process.stderr]) {
    /** @type {any} */ (stream)._handle?.setBlocking?.(true);
  }
}

module.exports = { printAtOnce };
