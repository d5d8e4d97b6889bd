'use strict';
/** Ends the process, loudly, if anything that a player wrote is executed. */

Object.defineProperty(globalThis, 'executed', {
  set() {
    process.stderr.write('somebody executed what a player wrote\n');
    process.exit(66);
  },
});
