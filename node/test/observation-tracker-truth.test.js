'use strict';

const { describe, it } = require('node:test');
const assert = require('node:assert/strict');
const { RandomPolicy } = require('../lib/random-policy');
const { Room } = require('../lib/room');
const { readSpec } = require('../observation/spec');
const { Tracker } = require('../observation/tracker');
const { opening, simulator } = require('./battles');
const { Truth, hearLog } = require('./observation-truth');

const spec = readSpec();
const FORMATS = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((generation) => `gen${generation}randombattle`);

describe('compared with the simulator at every request, the tracker is right', () => {
  for (const format of [...FORMATS, 'gen8randomdoublesbattle', 'gen9randomdoublesbattle']) {
    it(`in ${format}`, () => {
      for (let seed = 1; seed <= 3; seed++) compare(format, seed);
    });
  }
});

/**
 * @param {string} format
 * @param {number} seed
 */
function compare(format, seed) {
  const room = new Room(simulator, 'battle-test-1');
  room.start(opening({ format, team: undefined }, { seed }));
  const policies = { p1: new RandomPolicy(seed), p2: new RandomPolicy(seed + 1) };
  const tracker = new Tracker(spec);
  let at = 0;
  for (let choices = 0; choices < 400; choices++) {
    at = hearLog(tracker, room.battle.log, at);
    assert.deepEqual(new Truth(tracker, room.battle).compare(), [], `${format} ${seed}, turn ${room.battle.turn}`);
    if (room.ended) break;
    for (const id of /** @type {const} */ (['p1', 'p2'])) {
      const { question } = room.seats[id];
      const request = JSON.parse(question.request);
      if (!question.answered && !request.wait) choose(room, id, policies[id], request);
      if (room.battle.log.length > at) break;
    }
  }
  room.destroy();
}

/**
 * @param {Room} room
 * @param {'p1' | 'p2'} id
 * @param {RandomPolicy} policy
 * @param {any} request
 */
function choose(room, id, policy, request) {
  try {
    room.choose(id, policy.choose(request), room.seats[id].question.rqid);
  } catch {
    room.choose(id, 'default', room.seats[id].question.rqid);
  }
}
