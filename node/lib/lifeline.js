'use strict';
/** Ends this process when its parent is gone, even while a battle loops for ever on the main thread. */

const { Worker } = require('node:worker_threads');

// Runs on a thread of its own, blocked in read(2) until the other end of stdin is closed.
const WATCH = `
  const fs = require('node:fs');
  const buffer = Buffer.alloc(64);
  for (;;) {
    let count = 0;
    try { count = fs.readSync(0, buffer); } catch (error) { if (error.code === 'EAGAIN') continue; }
    if (!count) process.kill(process.pid, 'SIGKILL');
  }
`;

/** Starts to watch stdin, whose other end the parent holds open for as long as it lives. */
function holdLifeline() {
  const worker = new Worker(WATCH, {
    eval: true,
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  });
  worker.unref();
}

module.exports = { holdLifeline };
