'use strict';
const assert = require('node:assert/strict');
const test = require('node:test');
const { REQUEST } = require('../turbo/receiver');
const patch = require('../turbo/patches/request-text');

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
  const take = (/** @type {unknown[]} */ ...request) => void taken.push(request);
  assert.deepEqual(heard(REQUESTED, { [REQUEST]: take }), []);
  assert.deepEqual(taken, [['p1', JSON.stringify(REQUESTED)]]);
});

test('what has no JSON is sent as vanilla sends it, to anybody', () => {
  assert.deepEqual(heard(undefined, { [REQUEST]: assert.fail }), [['sideupdate', 'p1\n|request|undefined']]);
});
