'use strict';
/** Warming up in the background: how far it goes, whom it lets pass, and that nobody can tell. */

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { test } = require('node:test');
const { Background } = require('../lib/background');
const { now } = require('../lib/clock');
const { WarmUp } = require('../lib/warm-up');
const { OLD, RANDOM, play, policies, simulator, started, told } = require('./battles');
const { Child, PATIENCE, open } = require('./child');

/** @typedef {Iterator<unknown, unknown, unknown>} Task */

/** @param {number} battles */
function warming(battles) {
  const warmUp = new WarmUp(simulator);
  const task = /** @type {Task} */ (warmUp.want(OLD.format, battles));
  return { warmUp, task };
}

/** @param {Task} task @returns {number} the steps that it took to its end */
function exhaust(task) {
  let steps = 0;
  while (!task.next().done) steps++;
  return steps;
}

test('a warm-up plays as many battles as are wanted, in many small steps', () => {
  const { warmUp, task } = warming(2);
  /** @type {number[]} */
  const heard = [];
  warmUp.onBattle = (done) => heard.push(done);
  assert.deepEqual(warmUp.warmth, [0, 2]);
  assert.ok(exhaust(task) > 40);
  assert.deepEqual(warmUp.warmth, [2, 2]);
  assert.deepEqual(heard, [1, 2]);
});

test('real battles count, and end a warm-up in the middle of one of its own', () => {
  const { warmUp, task } = warming(3);
  for (let step = 0; step < 10; step++) assert.equal(task.next().done, false);
  for (let battle = 0; battle < 3; battle++) warmUp.count();
  assert.ok(exhaust(task) < 5);
  assert.deepEqual(warmUp.warmth, [3, 3]);
  warmUp.count();
  assert.deepEqual(warmUp.warmth, [3, 3]);
});

test('a warm-up that is under way is told of a new number, and one that is over begins again', () => {
  const { warmUp, task } = warming(1);
  task.next();
  assert.equal(warmUp.want(OLD.format, 2), null);
  exhaust(task);
  assert.deepEqual(warmUp.warmth, [2, 2]);
  exhaust(/** @type {Task} */ (warmUp.want(OLD.format, 3)));
  assert.deepEqual(warmUp.warmth, [3, 3]);
});

test('a warm-up that breaks is over, and can begin again', () => {
  class Breaking extends simulator.Battle {
    /** @override @param {any[]} args @returns {any} */
    choose(...args) {
      if (this.turn === 2) throw new Error('this battle is broken');
      return super.choose(.../** @type {[any, any]} */ (args));
    }
  }
  const warmUp = new WarmUp(simulator);
  warmUp.count();
  warmUp.simulator = { ...simulator, Battle: Breaking };
  assert.throws(() => exhaust(/** @type {Task} */ (warmUp.want(OLD.format, 3))), /this battle is broken/);
  assert.deepEqual(warmUp.warmth, [1, 1]);
  warmUp.simulator = simulator;
  exhaust(/** @type {Task} */ (warmUp.want(OLD.format, 2)));
  assert.deepEqual(warmUp.warmth, [2, 2]);
});

test('a battle is the same beside a warm-up', () => {
  const { task } = warming(100);
  const [beside, alone] = [started(RANDOM), started(RANDOM)];
  const [chooser, other] = [policies(), policies()];
  assert.deepEqual(told(beside), told(alone));
  while (!alone.ended) {
    for (let step = 0; step < 7; step++) task.next();
    assert.deepEqual(play(beside, chooser, 1), play(alone, other, 1));
  }
  assert.deepEqual(beside.battle.inputLog, alone.battle.inputLog);
  assert.equal(beside.battle.prng.getSeed(), alone.battle.prng.getSeed());
});

test('work in the background rests while commands wait, and for a while after', async () => {
  let busy = true;
  let steps = 0;
  const background = new Background(() => busy);
  background.add((function* () {
    for (; steps < 1_000; steps++) yield;
  })());
  await sleep(20);
  assert.equal(steps, 0);
  busy = false;
  while (!steps) await sleep(1);
  background.disturbed = now();
  const before = steps;
  await new Promise(setImmediate);
  assert.ok(steps <= before + 1);
  while (steps < 1_000) await sleep(1);
  assert.ok(now() - background.disturbed >= 50e6);
});

test('work that fails ends alone, and what comes first is done first', async (t) => {
  const written = t.mock.method(process.stderr, 'write', () => true);
  /** @type {string[]} */
  const done = [];
  const background = new Background(() => false);
  background.add((function* () {
    yield;
    throw new Error('this is the end');
  })());
  background.add((function* () {
    done.push('second');
    yield;
  })());
  background.addFirst((function* () {
    done.push('first');
    yield;
  })());
  while (background.tasks.length) await sleep(1);
  assert.deepEqual(done, ['first', 'second']);
  assert.equal(written.mock.callCount(), 1);
  assert.match(String(written.mock.calls[0].arguments[0]), /this is the end/);
});

test('a controller warms up behind its answers, and rests when it is warm', { timeout: PATIENCE }, async (t) => {
  const child = new Child();
  t.after(() => child.remove());
  await child.next();
  const { warm, rooms, t: stamps } = await child.ask({ id: 1, op: 'warm', format: OLD.format, battles: 5 });
  assert.deepEqual([warm, rooms], [[0, 5], 0]);
  assert.equal(stamps.length, 4);
  let vitals = await child.ask({ id: 2, op: 'ping' });
  for (let id = 3; vitals.warm[0] < 5; id++) {
    await sleep(100);
    // Nobody is to blame for what happens in a warm-up.
    assert.equal(child.noted(), 0);
    vitals = await child.ask({ id, op: 'ping' });
  }
  await sleep(100);
  const { cpu } = await child.ask({ id: 98, op: 'ping' });
  await sleep(500);
  const later = await child.ask({ id: 99, op: 'ping' });
  assert.ok(later.cpu - cpu < 0.25, `${later.cpu - cpu} s of CPU time in half a second of rest`);
  assert.deepEqual(later.warm, [5, 5]);
});

test('a room is played while its process warms up, and counts', { timeout: PATIENCE }, async (t) => {
  const [warm, cold] = [new Child(), new Child()];
  t.after(() => Promise.all([warm.remove(), cold.remove()]));
  await Promise.all([warm.next(), cold.next()]);
  await warm.ask({ id: 1, op: 'warm', format: OLD.format, battles: 1e6 });
  /** @param {any} frame */
  const heard = ({ t: _, ...frame }) => JSON.parse(JSON.stringify(frame).replace(/\|t:\|\d+/g, '|t:|'));
  const commands = [
    open('a', 2),
    { id: 3, op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 },
    { id: 4, op: 'choose', room: 'a', side: 'p2', choice: 'move 2', rqid: 2 },
    { id: 5, op: 'forfeit', room: 'a', side: 'p1' },
  ];
  for (const command of commands) {
    // Long enough for the warm-up to begin again.
    await sleep(100);
    assert.deepEqual(heard(await warm.ask(command)), heard(await cold.ask(command)));
  }
  const counts = [await warm.ask({ id: 6, op: 'ping' }), await cold.ask({ id: 6, op: 'ping' })].map((frame) => frame.warm);
  assert.ok(counts[0][0] >= 1);
  assert.deepEqual(counts[1], [0, 0]);
  // Nor does a warm-up keep a process that nobody needs any more.
  warm.channel.end();
  assert.deepEqual(await warm.end(), [0, null]);
});
