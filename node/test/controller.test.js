'use strict';
/** A controller as a process: what it says first, what it makes of noise, and when it ends. */

const assert = require('node:assert/strict');
const path = require('node:path');
const { after, before, describe, test } = require('node:test');
const { now } = require('../lib/clock');
const { readSpec } = require('../observation/spec');
const { FOLDER, TRAPS } = require('./battles');
const { Child, MAXIMUM, PATIENCE, open } = require('./child');

/** Prints what looks like frames, before the simulator is there and ever after. */
const NOISE = `data:text/javascript,${encodeURIComponent(`
  const print = () => { console.log('{"ack":1}'); console.error('{"hello":{}}'); };
  print();
  setInterval(print, 1).unref();
`)}`;
/** Whoever asks how the process is waits for ever. */
const LOOP = 'data:text/javascript,process.memoryUsage=()=>{for(;;);}';

describe('a controller', { timeout: PATIENCE }, () => {
  /** @type {Child} */
  let child;
  /** @type {any} */
  let hello;

  before(async () => {
    child = new Child([], ['--import', NOISE]);
    hello = await child.next();
  }, { timeout: PATIENCE });
  after(() => child.remove());

  test('says first who it is', () => {
    assert.deepEqual(hello, {
      hello: {
        protocol: 1,
        node: process.version,
        simulator: require(path.join(FOLDER, 'package.json')).version,
        turbo: false,
        left: [],
        observation: readSpec().hash,
        pid: child.process.pid,
      },
    });
  });

  test('answers every line that is no command, and goes on', async () => {
    const wrong = /** @type {[string | Buffer, string][]} */ ([
      ['', 'not_json'],
      ['Dear diary,', 'not_json'],
      ['{"id":1', 'not_json'],
      ['{"id":1}}', 'not_json'],
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'not_json'],
      ['['.repeat(50_000), 'not_json'],
      ['null', 'not_object'],
      ['5', 'not_object'],
      ['"ping"', 'not_object'],
      ['[{"id":1,"op":"ping"}]', 'not_object'],
      ['x'.repeat(MAXIMUM + 1), 'oversize'],
      [`{"id":1,"op":"ping","padding":"${'x'.repeat(MAXIMUM)}"}`, 'oversize'],
      ['{}', 'bad_field'],
      ['{"op":"ping"}', 'bad_field'],
      ['{"id":0,"op":"ping"}', 'bad_field'],
      ['{"id":-1,"op":"ping"}', 'bad_field'],
      ['{"id":"1","op":"ping"}', 'bad_field'],
      ['{"id":1.5,"op":"ping"}', 'bad_field'],
      ['{"id":1e300,"op":"ping"}', 'bad_field'],
    ]);
    for (const [line, code] of wrong) {
      const { ack, error } = await child.ask(line);
      assert.equal(ack, null);
      assert.equal(error.code, code, String(line).slice(0, 100));
      assert.ok(error.message.length < 500);
    }
    // All in one write, too, and the answers keep their order.
    child.send(...wrong.map(([line]) => line), { id: 7, op: 'ping' });
    for (const [, code] of wrong) assert.equal((await child.next()).error.code, code);
    assert.equal((await child.next()).ack, 7);
  });

  test('names the command and the room that it refuses', async () => {
    const { t, ...frame } = await child.ask({ id: 8, op: 'close', room: 'é🐉' });
    assert.deepEqual(frame, { ack: 8, room: 'é🐉', error: { code: 'unknown_room', message: 'there is no room é🐉' } });
    assert.equal((await child.ask({ id: 9, op: 'dance', room: 'x'.repeat(50_000) })).room.length, 200);
    for (const room of [5, null, {}]) {
      assert.deepEqual(Object.keys(await child.ask({ id: 10, op: 'close', room })), ['ack', 'error', 't']);
    }
  });

  test('plays a battle beside all that', async () => {
    const { ack, room, p1, p2, teams } = await child.ask(open('a', 11));
    assert.deepEqual([ack, room, p1.rqid, p2.rqid, teams], [11, 'a', 1, 2, [null, null]]);
    child.send(
      { id: 12, op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 },
      'not a command',
      { id: 13, op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 },
      { id: 14, op: 'choose', room: 'a', side: 'p2', choice: 'move 1', rqid: 2 },
      { id: 15, op: 'forfeit', room: 'a', side: 'p2' },
    );
    assert.deepEqual(Object.keys(await child.next()), ['ack', 'room', 't']);
    assert.equal((await child.next()).error.code, 'not_json');
    assert.equal((await child.next()).error.code, 'stale');
    assert.equal((await child.next()).p1.rqid, 3);
    assert.equal((await child.next()).end.winner, 'p1');
    assert.equal((await child.ask({ id: 16, op: 'ping' })).rooms, 0);
  });

  test('sends characters in full, though the simulator cuts names in half', async () => {
    const team = TRAPS.team.replace('Dugtrio|', `${'x'.repeat(19)}🐉|Dugtrio`);
    const opened = open('halves', 17, { format: TRAPS.format, team });
    // A replay does not validate a team again, and so takes names that are too long.
    const frame = await child.ask({ ...opened, replay: [], ask: true });
    assert.equal(frame.p1.request.side.pokemon[0].ident, `p1: ${'x'.repeat(19)}\ufffd`);
    assert.equal(JSON.stringify(frame).includes('\\ud'), false);
    await child.ask({ id: 18, op: 'close', room: 'halves' });
  });

  test('stamps by the same clock as everybody', async () => {
    const sent = now();
    const { t } = await child.ask(open('timed', 19));
    const [received, waited, simulated, encoded] = t;
    assert.ok(t.every((/** @type {number} */ stamp) => Number.isSafeInteger(stamp) && stamp >= 0));
    assert.ok(sent <= received);
    assert.ok(received + waited + simulated + encoded <= now());
    await child.ask({ id: 20, op: 'close', room: 'timed' });
  });

  test('notes that nothing is in hand', async () => {
    await child.ask({ id: 21, op: 'ping' });
    // The note is made after the answer has left.
    for (let id = 22; child.noted() !== 0 && id < 100; id++) await child.ask({ id, op: 'ping' });
    assert.equal(child.noted(), 0);
  });

  test('lets the simulator print what it likes', () => {
    const printed = child.printed.split('\n');
    assert.ok(printed.filter((line) => line === '{"ack":1}').length > 5);
    assert.ok(printed.filter((line) => line === '{"hello":{}}').length > 5);
  });

  test('ends when its channel does', async () => {
    child.channel.end();
    assert.deepEqual(await child.end(), [0, null]);
  });
});

test('a controller ends when its stdin does', { timeout: PATIENCE }, async (t) => {
  const child = new Child();
  t.after(() => child.remove());
  await child.next();
  child.process.stdin?.end();
  assert.deepEqual(await child.end(), [null, 'SIGKILL']);
  assert.equal(child.printed, '');
});

test('a controller ends when its stdin does, even while it loops, and has noted in what', { timeout: PATIENCE }, async (t) => {
  const child = new Child([], ['--import', LOOP]);
  t.after(() => child.remove());
  await child.next();
  assert.equal((await child.ask(open('a', 2))).p1.rqid, 1);
  child.send({ id: 77, op: 'ping' }, { id: 78, op: 'ping' });
  while (child.noted() !== 77) await new Promise(setImmediate);
  child.process.stdin?.end();
  assert.deepEqual(await child.end(), [null, 'SIGKILL']);
  assert.equal(child.noted(), 77);
});

test('a controller stamps its answers until a ping says otherwise', { timeout: PATIENCE }, async (t) => {
  const child = new Child();
  t.after(() => child.remove());
  await child.next();
  let id = 0;
  /** @param {object} command */
  const isStamped = async (command) => 't' in (await child.ask({ id: ++id, ...command }));
  const close = { op: 'close', room: 'a' };
  assert.equal(await isStamped(close), true);
  assert.equal(await isStamped({ op: 'ping', timing: false }), false);
  assert.equal(await isStamped(close), false);
  assert.equal(await isStamped({ op: 'ping' }), false);
  // This one came before anybody wanted to know when.
  assert.equal(await isStamped({ op: 'ping', timing: true }), false);
  assert.equal(await isStamped(close), true);
  assert.equal((await child.ask({ id: 99, op: 'ping', timing: 1 })).error.code, 'bad_field');
  assert.equal(await isStamped(close), true);
});

test('stamps stay true when timing is switched between two commands of a write', { timeout: PATIENCE }, async (t) => {
  const child = new Child();
  t.after(() => child.remove());
  await child.next();
  const pings = [{ timing: false }, { timing: true }, {}].map((fields, i) => ({ id: i + 1, op: 'ping', ...fields }));
  child.send(...pings);
  const answers = [await child.next(), await child.next(), await child.next()];
  // The second one is stamped if it came together with the first.
  assert.deepEqual([0, 2].map((i) => 't' in answers[i]), [false, true]);
  const parts = answers.flatMap(({ t: stamps }) => (stamps ?? []).slice(1));
  assert.ok(parts.every((part) => part >= 0 && part < 60e9), `${parts}`);
});
