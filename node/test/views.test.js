'use strict';
/** What sides are shown that observe, and battles in which both sides answer at once. */

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { Refusal } = require('../lib/refusal');
const { Rooms } = require('../lib/rooms');
const { blockOf, readSpec } = require('../observation/spec');
const { DOUBLES, FOLDER, OLD, RANDOM, TRAPS, copied, opening, parsed, play, policies, requestOf, simulator, started, told } = require('./battles');

/**
 * @typedef {import('../lib/room').SideId} SideId
 * @typedef {import('../lib/room').View} View
 * @typedef {import('./battles').Frame} Frame
 */

/** @type {typeof import('pokemon-showdown/dist/sim/battle')} */
const { extractChannelMessages } = require(path.join(FOLDER, 'dist', 'sim', 'battle.js'));

/** @type {readonly SideId[]} */
const SIDES = ['p1', 'p2'];
const { groups, layouts } = readSpec();
/** @type {View} */
const LINES = { lines: true, observe: null };
/** @type {View} */
const OBSERVATION = { lines: false, observe: groups.all };
/** @type {View} */
const BOTH = { lines: true, observe: groups.all };
const OBSERVED = { p1: OBSERVATION, p2: OBSERVATION };

/**
 * @param {Frame[]} frames
 * @param {SideId} id
 */
function observations(frames, id) {
  return frames.flatMap((frame) => frame[id]?.obs ?? []);
}

/**
 * @param {Parameters<typeof started>[0]} battle
 * @param {Record<SideId, View>} view
 * @returns {(Frame & {choice?: string})[]}
 */
function played(battle, view) {
  const room = started(battle, {}, view);
  return [told(room), ...play(room, policies())];
}

/**
 * @param {Rooms} there
 * @param {Record<string, any>} command
 * @returns {Frame & {error?: any}}
 */
function run(there, command) {
  return parsed(there.run(/** @type {any} */ ({ id: 1, ...command }))());
}

/**
 * @param {string} room
 * @param {Parameters<typeof opening>[0]} battle
 * @param {object} [view]
 */
function open(room, battle, view = OBSERVED) {
  const { format, seed, players } = opening(battle);
  return { op: 'open', room, format, seed, ...players, view };
}

// Who is shown what

for (const battle of [RANDOM, DOUBLES, OLD, TRAPS]) {
  test(`a side of ${battle.format} that only observes hears of its own decisions and the end`, () => {
    const frames = played(battle, { p1: OBSERVATION, p2: LINES });
    const plain = played(battle, { p1: LINES, p2: LINES });
    assert.deepEqual(frames.map(({ p2, choice }) => [p2, choice]), plain.map(({ p2, choice }) => [p2, choice]));
    const kinds = new Set();
    for (const [index, { p1, end }] of frames.entries()) {
      const asked = plain[index].p1?.request;
      const wanted = asked && !asked.wait ? ['rqid', 'obs'] : end ? ['obs'] : [];
      if (plain[index].p1?.refusal) wanted.push('refusal');
      assert.deepEqual(Object.keys(p1 ?? {}), wanted);
      if (asked && !asked.wait) assert.equal(p1?.rqid, plain[index].p1?.rqid);
      kinds.add(wanted.join(' '));
    }
    assert.ok(kinds.has('') && kinds.has('rqid obs') && kinds.has('obs'), `${[...kinds]}`);
  });
}

for (const battle of [RANDOM, DOUBLES, TRAPS]) {
  test(`the observations of ${battle.format} are the same with lines and without`, () => {
    const frames = played(battle, { p1: BOTH, p2: BOTH });
    const bare = played(battle, OBSERVED);
    const plain = played(battle, { p1: LINES, p2: LINES });
    const { bytes_with_all } = layouts[battle === DOUBLES ? 'doubles' : 'singles'];
    for (const [index, frame] of frames.entries()) {
      for (const id of SIDES) {
        const { obs, ...rest } = frame[id] ?? {};
        assert.deepEqual(rest, plain[index][id] ?? {});
        assert.equal(obs !== undefined, frame[id] !== undefined);
        if (obs) assert.equal(Buffer.from(obs, 'base64').length, bytes_with_all);
        if (bare[index][id]) assert.equal(bare[index][id].obs, obs);
      }
    }
    assert.ok(observations(bare, 'p1').length > 5);
  });
}

test('an observer hears what a spectator sees', () => {
  const room = started(RANDOM, {}, OBSERVED);
  /** @type {string[]} */
  const heard = [];
  const observer = /** @type {NonNullable<typeof room.observer>} */ (room.observer);
  const { hear } = observer;
  const before = room.battle.log.length;
  observer.hear = (lines) => {
    heard.push(...lines);
    hear.call(observer, lines);
  };
  play(room, policies());
  const log = room.battle.log.slice(before).join('\n');
  assert.deepEqual(heard, extractChannelMessages(log, [0])[0].filter((line) => line));
  assert.ok(heard.some((line) => line.startsWith('|-damage|')));
});

test('a room keeps no text for a side that reads none', () => {
  const room = started(RANDOM, {}, { p1: OBSERVATION, p2: LINES });
  assert.ok(room.seats.p2.text && room.seats.p2.question.request);
  assert.equal(room.seats.p1.text + room.seats.p1.question.request, '');
});

test('what was told is not told again, nor the end of it', () => {
  const room = started(OLD, {}, OBSERVED);
  assert.notEqual(room.take(), '');
  assert.equal(room.take(), '');
  const frames = play(room, policies());
  assert.deepEqual(Object.keys(frames[frames.length - 1]).sort(), ['choice', 'end', 'p1', 'p2', 'refused']);
  assert.deepEqual(Object.keys(told(room)), ['end']);
});

test('there are no observations of three at a time, nor of groups that there are not', () => {
  const there = new Rooms(simulator);
  const triples = { ...open('a', OLD), format: 'gen5triplescustomgame' };
  assert.throws(() => run(there, triples), (error) => {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, 'rejected');
    assert.match(error.message, /triples; there are observations of singles and doubles/);
    return true;
  });
  assert.throws(() => run(there, open('a', OLD, { p1: { observe: ['weather'] } })), /no group "weather".* field,/);
  assert.equal(there.rooms.size, 0);
});

test('there are no observations of a team that has no place in them', () => {
  const there = new Rooms(simulator);
  const crowd = (/** @type {number} */ size) =>
    ({ format: 'gen9customgame', team: Array.from({ length: size }, (_, i) => `M${i}|Magikarp|||splash||||||300|`).join(']') });
  const reason = { code: 'rejected', message: /the team of p1 has 7 Pokémon; there are observations of at most 6/ };
  for (const view of [OBSERVED, { p2: BOTH }]) assert.throws(() => run(there, open('a', crowd(7), view)), reason);
  assert.equal(there.rooms.size, 0);
  run(there, open('a', crowd(7), {}));
});

test('a level that has no room in a byte is the highest that has', () => {
  const there = new Rooms(simulator);
  const { p1 } = run(there, open('a', { format: 'gen9customgame', team: 'Magikarp||||splash||||||300|' }, { p1: BOTH }));
  const bytes = Buffer.from(String(p1?.obs), 'base64');
  assert.equal(p1?.request.side.pokemon[0].details, 'Magikarp, L300');
  for (const group of ['own_team', 'opponent_team']) {
    const { offset, fields } = blockOf(layouts.singles, group, 'condition');
    assert.equal(bytes[offset + fields.findIndex(({ name }) => name === 'level')], 255);
  }
});

// The same state again

for (const battle of [RANDOM, DOUBLES, TRAPS]) {
  test(`a copy of ${battle.format} observes what its original does`, () => {
    const room = started(battle, {}, OBSERVED);
    told(room);
    const chooser = policies();
    play(room, chooser, 21);
    const copy = room.fork('battle-test-2');
    copy.askAgain();
    room.askAgain();
    assert.deepEqual(told(copy), told(room));
    const alike = copied(chooser);
    const frames = play(room, chooser);
    assert.deepEqual(play(copy, alike), frames);
    assert.ok(observations(frames, 'p1').length > 3);
  });
}

test('what a refusal reveals to a battle is not known to its copies', () => {
  const room = started(TRAPS, {}, OBSERVED);
  for (const id of SIDES) room.choose(id, 'default', room.seats[id].question.rqid);
  told(room);
  const copies = SIDES.map((id) => room.fork(`battle-${id}`));
  const known = copies.map((copy) => (copy.askAgain(), told(copy)));
  for (const id of SIDES) assert.throws(() => room.choose(id, 'switch 2', room.seats[id].question.rqid), /trapped/);
  const learned = told(room);
  for (const id of SIDES) assert.notEqual(learned[id]?.obs, known[0][id]?.obs);
  assert.deepEqual(copies.map((copy) => (copy.askAgain(), told(copy))), known);
});

test('a battle that is played again observes the same, whoever waited when it broke', () => {
  const { format, seed, players } = opening(RANDOM);
  const room = started(RANDOM, {}, OBSERVED);
  told(room);
  const chooser = policies();
  /** @type {string[][]} */
  const journal = [];
  const told_ = { p1: 1, p2: 2 };
  let waited = 0;
  for (let n = 0; n < 60 && !room.ended; n++) {
    const [frame] = play(room, chooser, 1);
    journal.push(['choose', frame.choice.slice(0, 2), frame.choice.slice(3)]);
    for (const id of SIDES) told_[id] = frame[id]?.rqid ?? told_[id];
    if (!SIDES.some((id) => requestOf(room, id)?.wait)) continue;
    waited++;
    const rooms = new Rooms(simulator);
    const command = { op: 'open', room: 'a', format, seed, ...players, view: OBSERVED, replay: journal, ask: true };
    room.askAgain();
    const { teams, ...again } = run(rooms, { ...command, rqid: Math.max(told_.p1, told_.p2) });
    assert.deepEqual(again, told(room));
    assert.throws(() => run(new Rooms(simulator), { ...command, rqid: Math.max(told_.p1, told_.p2) + 1 }), /leads to request/);
  }
  assert.ok(waited > 2);
});

// Both at once

test('both sides answer at once, as they would one after the other', () => {
  const there = new Rooms(simulator);
  const rooms = { together: run(there, open('together', OLD)), apart: run(there, open('apart', OLD)) };
  assert.deepEqual(rooms.together, rooms.apart);
  for (let rqid = 1; ; ) {
    const answers = { p1: [rqid, 'default'], p2: [rqid + 1, 'default'] };
    const frame = run(there, { op: 'play', room: 'together', ...answers });
    const silent = run(there, { op: 'choose', room: 'apart', side: 'p1', rqid, choice: 'default' });
    assert.deepEqual(silent, {});
    assert.deepEqual(frame, run(there, { op: 'choose', room: 'apart', side: 'p2', rqid: rqid + 1, choice: 'default' }));
    rqid += 2;
    if (!frame.p1?.rqid || !frame.p2?.rqid) break;
  }
});

test('an answer that is refused does not touch the other', () => {
  for (const id of SIDES) {
    const other = id === 'p1' ? 'p2' : 'p1';
    const there = new Rooms(simulator);
    run(there, open('a', OLD));
    const good = { p1: [1, 'move 1'], p2: [2, 'move 1'] };
    for (const wrong of ['move 9', 'x'.repeat(1001), 'move 1\n', '']) {
      const { error, ...rest } = run(there, { op: 'play', room: 'a', ...good, [id]: [good[id][0], wrong] });
      assert.deepEqual(rest, {});
      // From the second time on, the other has answered.
      assert.equal(error.sides[id].code, 'invalid');
      assert.equal(error.sides[other]?.code, wrong === 'move 9' ? undefined : 'stale');
      assert.equal(error.code, 'invalid');
      assert.ok(error.message.includes(error.sides[id].message));
    }
    const { p1, p2 } = run(there, { op: 'choose', room: 'a', side: id, rqid: good[id][0], choice: 'move 1' });
    assert.deepEqual([p1?.rqid, p2?.rqid], [3, 4]);
  }
});

test('who is refused and asked again is told so, and the other waits', () => {
  const there = new Rooms(simulator);
  run(there, open('a', TRAPS));
  run(there, { op: 'play', room: 'a', p1: [1, 'default'], p2: [2, 'default'] });
  const first = run(there, { op: 'play', room: 'a', p1: [3, 'switch 2'], p2: [4, 'move 1'] });
  assert.deepEqual(Object.keys(first), ['error', 'p1']);
  assert.deepEqual(Object.keys(first.error.sides), ['p1']);
  assert.deepEqual(Object.keys(first.p1 ?? {}), ['rqid', 'obs', 'refusal']);
  assert.match(first.p1?.refusal ?? '', /trapped/);
  const { p1, p2 } = run(there, { op: 'choose', room: 'a', side: 'p1', rqid: 5, choice: 'move 1' });
  assert.deepEqual([p1?.rqid, p2?.rqid], [6, 7]);
});

test('answers that are stale change nothing, and the others count', () => {
  const there = new Rooms(simulator);
  run(there, open('a', OLD));
  const stale = run(there, { op: 'play', room: 'a', p1: [9, 'move 1'], p2: [8, 'move 1'] });
  assert.deepEqual(Object.keys(stale), ['error']);
  assert.equal(stale.error.code, 'stale');
  assert.deepEqual(Object.keys(stale.error.sides), ['p1', 'p2']);
  run(there, { op: 'choose', room: 'a', side: 'p1', rqid: 1, choice: 'move 1' });
  const late = run(there, { op: 'play', room: 'a', p1: [1, 'move 2'], p2: [2, 'move 1'] });
  assert.equal(late.error.code, 'stale');
  assert.deepEqual(Object.keys(late.error.sides), ['p1']);
  assert.deepEqual([late.p1?.rqid, late.p2?.rqid], [3, 4]);
});

test('what is said to a request that is answered already is stale, be it a choice or not', () => {
  const there = new Rooms(simulator);
  run(there, open('a', OLD));
  run(there, { op: 'choose', room: 'a', side: 'p1', rqid: 1, choice: 'move 1' });
  const words = { room: 'a', choice: 'move 1\n' };
  assert.throws(() => run(there, { op: 'choose', side: 'p1', rqid: 1, ...words }), { code: 'stale' });
  assert.throws(() => run(there, { op: 'choose', side: 'p2', rqid: 2, ...words }), { code: 'invalid' });
  const late = run(there, { op: 'play', room: 'a', p1: [1, words.choice], p2: [2, 'move 1'] });
  assert.deepEqual([late.error.code, Object.keys(late.error.sides)], ['stale', ['p1']]);
  assert.deepEqual([late.p1?.rqid, late.p2?.rqid], [3, 4]);
});

test('answers that make no sense are refused before either counts', () => {
  const there = new Rooms(simulator);
  run(there, open('a', OLD));
  assert.throws(() => run(there, { op: 'play', room: 'a', p1: [1, 'move 1'], p2: 'move 1' }), /p2 is not a list/);
  assert.throws(() => run(there, { op: 'play', room: 'b', p1: [1, 'move 1'], p2: [2, 'move 1'] }), /no room b/);
  assert.equal(there.rooms.get('a')?.seats.p1.question.answered, false);
});

test('a battle that ends with one of two answers is gone, and says so', () => {
  const choices = play(started(OLD, {}, OBSERVED), policies()).map(({ choice }) => choice);
  const last = { p1: String(choices.at(-2)), p2: String(choices.at(-1)) };
  for (const id of SIDES) assert.equal(last[id].slice(0, 2), id);
  for (const id of SIDES) {
    const there = new Rooms(simulator);
    run(there, open('a', OLD));
    const room = /** @type {import('../lib/room').Room} */ (there.rooms.get('a'));
    play(room, policies(), choices.length - 2);
    const answers = { p1: [room.seats.p1.question.rqid, last.p1.slice(3)], p2: [room.seats.p2.question.rqid, last.p2.slice(3)] };
    const [rqid, choice] = answers[id];
    run(there, { op: 'choose', room: 'a', side: id, rqid, choice });
    const { error, end } = run(there, { op: 'play', room: 'a', ...answers });
    assert.deepEqual([error.code, Object.keys(error.sides)], ['stale', [id]]);
    assert.ok(end);
    assert.equal(there.rooms.size, 0);
  }
});
