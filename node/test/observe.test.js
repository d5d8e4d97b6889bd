'use strict';
/** A process that observes: what it says first, what it makes of noise, what it loads, and when it ends. */

const assert = require('node:assert/strict');
const { after, before, describe, test } = require('node:test');
const { readSpec } = require('../observation/spec');
const { Child, MAXIMUM, OBSERVING, PATIENCE } = require('./child');

/** A process that loads a simulator ends with it. */
const NO_SIMULATOR = `data:text/javascript,${encodeURIComponent(`
  import Module from 'node:module';
  const load = Module._load;
  Module._load = (name, ...rest) => {
    if (name.includes('pokemon-showdown')) throw new Error('a simulator is loaded');
    return load(name, ...rest);
  };
`)}`;
const GROUPS = ['decision'];

describe('a process that observes', { timeout: PATIENCE }, () => {
  /** @type {Child} */
  let child;

  before(() => void (child = new Child([], ['--import', NO_SIMULATOR], OBSERVING)));
  after(() => child.remove());

  test('says first who it is, without a simulator', async () => {
    const { pid } = child.process;
    const hello = { protocol: 1, node: process.version, observation: readSpec().hash, pid };
    assert.deepEqual(await child.next(), { hello });
  });

  test('answers every line, also one that is no command, and goes on', async () => {
    child.send(
      'Dear diary,',
      'x'.repeat(MAXIMUM + 1),
      { op: 'open' },
      { id: 1, op: 'open', room: 'battle-one', groups: GROUPS },
      { id: 2, op: 'tell', room: 'battle-one', events: [{ side: { id: 'p1' } }], observe: true },
      { id: 3, op: 'tell', room: 'battle-one', events: [], observe: false },
      { id: 4, op: 'close', room: 'battle-one' },
    );
    const answers = [];
    for (let i = 0; i < 7; i++) answers.push(await child.next());
    const said = answers.map(({ ack, error }) => [ack, error?.code]);
    assert.deepEqual(said, [
      [null, 'not_json'],
      [null, 'oversize'],
      [null, 'bad_field'],
      [1, undefined],
      [2, 'crashed'],
      [3, 'unknown_room'],
      [4, undefined],
    ]);
    assert.match(answers[4].error.message, /^TypeError: .*\n +at /);
    assert.equal(child.noted(), 0);
  });

  test('ends when nobody holds its input open any more', async () => {
    child.process.stdin?.destroy();
    assert.deepEqual(await child.end(), [null, 'SIGKILL']);
  });
});

test('a process that loads a simulator would have been found out', { timeout: PATIENCE }, async () => {
  const child = new Child([], ['--import', NO_SIMULATOR]);
  assert.deepEqual(await child.end(), [1, null]);
  assert.match(child.printed, /a simulator is loaded/);
  await child.remove();
});
