'use strict';
/**
 * Battles that break the process they are played in: a choice of the words below does what it says, and so
 * does a player of that name with a Pokémon of that name, as the battle starts.
 *
 * Whatever is in a journal is replayed through the same function, so the fault comes back with it.
 */

const folder = process.argv.find((word) => word.startsWith('--simulator='))?.slice('--simulator='.length);
const { Battle } = require(String(folder));

/** @type {Record<string, (battle: any) => void>} */
const FAULTS = {
  'fault throw'() {
    throw new Error('thrown by a test');
  },
  'fault throw, then exit'() {
    // Longer than any loop turn: Node writes its answers, and goes on in the next one, which is not to come.
    for (const started = Date.now(); Date.now() < started + 30; );
    setImmediate(() => process.exit(7));
    throw new Error('thrown by a test');
  },
  'fault loop'() {
    for (;;);
  },
  'fault exit'() {
    process.stderr.write('the last words of a test\n');
    process.exit(7);
  },
  'fault abort'() {
    process.stderr.write('the last words of a test\n');
    process.abort();
  },
  'fault memory'() {
    for (const hoard = [[0]]; ; hoard.push(new Array(1e6).fill(hoard.length)));
  },
  'fault garble'(battle) {
    battle.send('sideupdate', 'p1\n|request|{"this is": not JSON');
  },
  'fault kill'() {
    process.kill(process.pid, 'SIGKILL');
    for (;;);
  },
};

const { choose, start } = Battle.prototype;

/** @this {any} */
Battle.prototype.start = function () {
  for (const { name, pokemon } of this.sides) {
    if (Object.hasOwn(FAULTS, name) && pokemon[0].name === name) FAULTS[name](this);
  }
  return start.call(this);
};

/** @this {any} */
Battle.prototype.choose = function (/** @type {any} */ side, /** @type {string} */ choice) {
  if (Object.hasOwn(FAULTS, choice)) FAULTS[choice](this);
  return choose.call(this, side, choice);
};
