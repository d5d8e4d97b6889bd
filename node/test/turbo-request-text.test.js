'use strict';
const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const test = require('node:test');
const { promisify } = require('node:util');
const { FOLDER } = require('./battles');
const { REQUEST } = require('../turbo/receiver');
const patch = require('../turbo/patches/request-text');

const run = promisify(execFile);
/** Plays a turn in a room with turbo, and prints how many requests came as such, and how many as messages. */
const ROOM = `
  const [lib, folder] = process.argv.slice(1);
  const { Room } = require(lib + '/lib/room');
  const { REQUEST } = require(lib + '/turbo/receiver');
  const room = new Room(require(lib + '/lib/simulator').loadSimulator(folder, { turbo: true }), 'battle-test-1');
  const player = (name) => ({ name, seed: '1,2,3,4' });
  room.start({ format: 'gen1randombattle', seed: '1,2,3,4', players: { p1: player('Red'), p2: player('Blue') } });
  const counts = { asSuch: 0, asMessages: 0 };
  const { send } = room.battle;
  const counting = (type, data) => {
    counts.asMessages += String(data).includes('|request|');
    send(type, data);
  };
  counting[REQUEST] = (...request) => {
    counts.asSuch++;
    send[REQUEST](...request);
  };
  room.battle.send = counting;
  room.choose('p1', 'default', 1);
  room.choose('p2', 'default', 2);
  console.log(JSON.stringify({ ...counts, rqid: room.rqid }));
`;
const REQUESTED = { wait: true, side: { name: 'Red', id: 'p1', pokemon: [] } };

/**
 * @param {unknown} request
 * @param {object} [more] what the battle's `send` has beside itself
 */
function heard(request, more) {
  const { emitRequest } = /** @type {any} */ (patch.methods?.['sim/side'])().Side;
  /** @type {unknown[][]} */
  const messages = [];
  const send = Object.assign((/** @type {unknown[]} */ ...message) => void messages.push(message), more);
  const side = { id: 'p1', battle: { send }, activeRequest: request, emitRequest };
  side.emitRequest();
  return messages;
}

test('a request is sent as vanilla sends it', () => {
  assert.deepEqual(heard(REQUESTED), [['sideupdate', `p1\n|request|${JSON.stringify(REQUESTED)}`]]);
});

test('who takes requests as such gets them so, and no message', () => {
  /** @type {unknown[][]} */
  const taken = [];
  /** @type {import('../turbo/receiver').Receiver<string>[typeof REQUEST]} */
  const take = (side, request, writer) => void taken.push([side, request, writer.of(request)]);
  assert.deepEqual(heard(REQUESTED, { [REQUEST]: take }), []);
  assert.deepEqual(taken, [['p1', REQUESTED, JSON.stringify(REQUESTED)]]);
  assert.equal(taken[0][1], REQUESTED);
});

test('what has no JSON is sent as vanilla sends it, to anybody', () => {
  assert.deepEqual(heard(undefined, { [REQUEST]: assert.fail }), [['sideupdate', 'p1\n|request|undefined']]);
});

test('a room takes requests as such', async () => {
  const { stdout } = await run(process.execPath, ['-e', ROOM, path.join(__dirname, '..'), FOLDER]);
  assert.deepEqual(JSON.parse(stdout), { asSuch: 2, asMessages: 0, rqid: 4 });
});
