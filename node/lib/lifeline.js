'use strict';
/** Ends this process when its parent is gone, even while a battle loops for ever on the main thread. */

const { Worker } = require('node:worker_threads');

// Runs on a thread of its own, in an event loop: one that blocks in read(2) would hold up process.exit().
const WATCH = `
  const net = require('node:net');
  const lifeline = new net.Socket({ fd: 0, readable: true, writable: false });
  lifeline.on('error', () => {});
  lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
  lifeline.resume();
`;

/** Starts to watch stdin, whose other end the parent holds open for as long as it lives. */
function holdLifeline() {
  const worker = new Worker(WATCH, {
    eval: true,
    stdin: false,
    // Neither --require nor NODE_OPTIONS: what they preload is for the main thread.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  });
  worker.unref();
}

module.exports = { holdLifeline };
