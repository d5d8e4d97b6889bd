'use strict';
/** One battle: who sees what, which request is open, and copies that go the same way. */

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { Refusal } = require('../lib/refusal');
const { DOUBLES, FOLDER, OLD, RANDOM, TRAPS, asked, copied, play, policies, started, told } = require('./battles');

/** @typedef {import('../lib/room').SideId} SideId */

/** @type {typeof import('pokemon-showdown/dist/sim/battle')} */
const { extractChannelMessages } = require(path.join(FOLDER, 'dist', 'sim', 'battle.js'));

/**
 * @param {() => unknown} attempt
 * @param {string} code
 * @param {RegExp} message
 */
function refused(attempt, code, message) {
  assert.throws(attempt, (error) => {
    assert.ok(error instanceof Refusal, `threw ${error}`);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  });
}

/**
 * @param {import('./battles').Frame[]} frames
 * @param {SideId} id
 * @returns {string[]} all lines that a side was told
 */
function lines(frames, id) {
  return frames.flatMap((frame) => frame[id]?.text.split('\n') ?? []).filter((line) => line);
}

// Who sees what

for (const battle of [RANDOM, DOUBLES, OLD]) {
  test(`each side of ${battle.format} sees what the simulator would show it`, () => {
    const room = started(battle);
    const frames = [told(room), ...play(room, policies())];
    const log = room.battle.log.join('\n');
    const shown = extractChannelMessages(log, [1, 2]);
    const wanted = (/** @type {string[]} */ messages) => messages.filter((line) => line && !line.startsWith('|t:|'));
    assert.deepEqual(lines(frames, 'p1'), wanted(shown[1]));
    assert.deepEqual(lines(frames, 'p2'), wanted(shown[2]));
  });
}

test('no secret of one side reaches the other', () => {
  const room = started(RANDOM);
  const frames = [told(room), ...play(room, policies())];
  const { log } = room.battle;
  /** @type {Record<SideId, Set<string>>} */
  const secrets = { p1: new Set(), p2: new Set() };
  for (const [index, line] of log.entries()) {
    if (!line.startsWith('|split|')) continue;
    const [secret, shared] = log.slice(index + 1);
    if (secret !== shared) secrets[/** @type {SideId} */ (line.slice(7))].add(secret);
  }
  for (const [id, foe] of /** @type {[SideId, SideId][]} */ ([['p1', 'p2'], ['p2', 'p1']])) {
    const own = new Set(lines(frames, id));
    assert.ok(secrets[id].size > 20);
    for (const secret of secrets[id]) assert.ok(own.has(secret), `${id} was not told ${secret}`);
    for (const secret of secrets[foe]) assert.ok(!own.has(secret), `${id} was told ${secret}`);
    assert.ok(![...own].some((line) => line.startsWith('|split|')));
    for (const frame of frames) assert.equal(frame[id]?.request?.side.id ?? id, id);
    // To a foe, health is in percent.
    const foes = [...own].filter((line) => line.startsWith(`|-damage|${foe}a`) && !line.includes(' fnt'));
    assert.ok(foes.length > 5);
    for (const line of foes) assert.match(line, /\|\d+\/100\b/);
  }
});

test('what was told is not told again', () => {
  const room = started(OLD);
  assert.notEqual(room.take(), '');
  assert.equal(room.take(), '');
  play(room, policies());
  assert.deepEqual(Object.keys(told(room)), ['end']);
});

// Which request is open

test('requests are numbered from one, each once', () => {
  const room = started(TRAPS);
  const frames = [told(room), ...play(room, policies())];
  const numbers = frames.flatMap((frame) => [frame.p1?.rqid, frame.p2?.rqid]).filter((rqid) => rqid !== undefined);
  assert.deepEqual(numbers, Array.from(numbers, (_, index) => index + 1));
  assert.equal(room.rqid, numbers.length);
  assert.deepEqual([frames[0].p1?.rqid, frames[0].p2?.rqid], [1, 2]);
});

test('of a choice that is refused nothing is kept, though the simulator has understood a part of it', () => {
  const team = ['Gardevoir', 'Kirlia', 'Ralts', 'Gallade']
    .map((name) => `${name}|||trace|memento,splash||||||50|`)
    .join(']');
  const room = started({ format: 'gen9doublescustomgame', team });
  const answer = (/** @type {SideId} */ id, /** @type {string} */ choice) =>
    room.choose(id, choice, room.seats[id].question.rqid);
  for (const id of /** @type {const} */ (['p1', 'p2'])) answer(id, 'team 1234');
  for (const id of /** @type {const} */ (['p1', 'p2'])) answer(id, 'move memento 1, move splash');
  const { rqid } = room;
  refused(() => answer('p1', 'switch 3, switch 4'), 'invalid', /more switches than/);
  answer('p2', 'switch 3, pass');
  assert.equal(room.rqid, rqid, 'the battle went on without an answer of p1');
  assert.equal(asked(room), 'p1');
  answer('p1', 'switch 4, pass');
  assert.equal(room.battle.sides[0].active[0].species.name, 'Gallade');
});

test('an answer to a request that is not open is stale and changes nothing', () => {
  const room = started(OLD);
  told(room);
  for (const rqid of [0, 2, 3, -1, 99]) {
    refused(() => room.choose('p1', 'move 1', rqid), 'stale', /answered request .* the current one is 1/);
  }
  room.choose('p1', 'move 1', 1);
  refused(() => room.choose('p1', 'move 2', 1), 'stale', /already answered request 1/);
  refused(() => room.choose('p1', 'move 2', 2), 'stale', /the current one is 1/);
  assert.equal(room.take(), '');
  room.choose('p2', 'move 1', 2);
  assert.equal(room.battle.inputLog[3], `>p1 move ${room.battle.sides[0].active[0].moves[0]}`);
  refused(() => room.choose('p1', 'move 1', 1), 'stale', /the current one is 3/);
});

test('a choice that cannot be is refused with the reason, and the request stays open', () => {
  const room = started(OLD);
  told(room);
  for (const choice of ['move 9', 'switch 1', 'switch 9', 'dance', '', 'move 1, move 1', 'team 1']) {
    refused(() => room.choose('p1', choice, 1), 'invalid', /^\[Invalid choice\]/);
  }
  assert.equal(room.take(), '');
  room.choose('p1', 'move 1', 1);
});

test('who must wait cannot choose', () => {
  const room = started(RANDOM);
  const chooser = policies();
  const waiting = () => /** @type {SideId[]} */ (['p1', 'p2']).find((id) => {
    const { request, answered } = room.seats[id].question;
    return !answered && JSON.parse(request).wait;
  });
  while (!waiting()) play(room, chooser, 1);
  const id = /** @type {SideId} */ (waiting());
  refused(() => room.choose(id, 'move 1', room.seats[id].question.rqid), 'invalid', /not your turn|wait/i);
  play(room, chooser);
  assert.ok(room.ended);
});

test('a refusal that reveals a trap asks again, under a new number', () => {
  const room = started(TRAPS);
  const frames = play(room, policies());
  const revealing = frames.filter(({ refused }) => /trapped/.test(refused));
  assert.ok(revealing.length > 3);
  for (const { choice, p1, p2 } of revealing) {
    const part = choice.startsWith('p1') ? p1 : p2;
    assert.ok(part?.rqid);
    assert.equal(part.request.active[0].trapped, true);
    assert.equal(part.text, '');
  }
});

test('a choice that is taken back leaves the battle as it was', () => {
  const [room, other] = [started(OLD), started(OLD)];
  told(room);
  told(other);
  room.choose('p1', 'move 2', 1);
  room.undo('p1', 1);
  assert.equal(room.take(), '');
  assert.deepEqual(room.seats.p1, other.seats.p1);
  assert.deepEqual(play(room, policies()), play(other, policies()));
});

test('a choice that reveals something as it is taken back is asked for anew', () => {
  const room = started(RANDOM);
  told(room);
  const [side] = room.battle.sides;
  const { active } = /** @type {any} */ (side.activeRequest);
  active[0].maybeLocked = side.active[0].maybeLocked = true;
  room.choose('p1', 'move 1', 1);
  room.undo('p1', 1);
  const { p1, p2 } = told(room);
  assert.equal(p2, undefined);
  assert.deepEqual([p1?.text, p1?.rqid, p1?.request.update], ['', 3, true]);
  refused(() => room.undo('p1', 3), 'stale', /has not answered/);
  room.choose('p1', 'move 1', 3);
});

test('a choice that the simulator keeps stays made', () => {
  const room = started({ format: 'gen9randombattle@@@!Cancel Mod', team: undefined });
  told(room);
  room.choose('p1', 'move 1', 1);
  refused(() => room.undo('p1', 1), 'invalid', /^\[Invalid choice\] Can't undo: /);
  refused(() => room.choose('p1', 'move 1', 1), 'stale', /already answered/);
  room.choose('p2', 'move 1', 2);
  assert.equal(told(room).p1?.request.update, undefined);
});

test('the words of a refusal go to who was refused, with the request that follows', () => {
  const room = started(TRAPS);
  const frames = play(room, policies());
  for (const { choice, refused: words, p1, p2 } of frames) {
    const [own, other] = choice.startsWith('p1') ? [p1, p2] : [p2, p1];
    assert.equal(own?.refusal, own?.rqid && words ? words : undefined);
    assert.equal(other?.refusal, undefined);
  }
  assert.ok(frames.some(({ p1 }) => p1?.refusal));
});

test('the open requests can be asked again', () => {
  const room = started(OLD);
  const first = told(room);
  room.choose('p2', 'move 1', 2);
  room.askAgain();
  const again = told(room);
  assert.deepEqual(again, { p1: { ...first.p1, text: '' } });
});

// How it ends

test('who wins, after how many turns', () => {
  const room = started(OLD);
  const { end } = /** @type {any} */ (play(room, policies()).at(-1));
  const winner = room.battle.log.at(-1) === '|win|Ash' ? 'p1' : 'p2';
  assert.deepEqual(end, { winner, turns: room.battle.turn, reason: 'win' });
});

for (const [loser, winner] of /** @type {[SideId, SideId][]} */ ([['p1', 'p2'], ['p2', 'p1']])) {
  test(`${loser} gives up`, () => {
    const room = started(RANDOM, { names: ['Player: 1', '[Side:p1]'] });
    play(room, policies(), 7);
    room.apply({ op: 'forfeit', side: loser });
    const { p1, p2, end } = told(room);
    assert.deepEqual(end, { winner, turns: room.battle.turn, reason: 'forfeit' });
    const name = winner === 'p1' ? 'Player: 1' : '[Side:p1]';
    for (const part of [p1, p2]) assert.ok(part?.text.endsWith(`\n|win|${name}`));
    assert.ok(room.ended);
    refused(() => room.apply({ op: 'forfeit', side: winner }), 'invalid', /over/);
    room.destroy();
  });
}

test('nobody wins a tie', () => {
  const room = started(OLD);
  told(room);
  room.battle.tie();
  room.battle.sendUpdates();
  assert.deepEqual(told(room).end, { winner: null, turns: 1, reason: 'tie' });
});

// Copies

/** Names, some of which are what the simulator's serialiser writes for its objects. */
const COPIED = /** @type {[typeof TRAPS | typeof RANDOM, string, string][]} */ ([
  [RANDOM, 'Ash', 'Gary'],
  [DOUBLES, '[Side:p2]', '[Side:p1]'],
  [TRAPS, '[Side:p2]', '[Side:p1]'],
  [TRAPS, '[Pokemon:p1a]', '[Field]'],
  [TRAPS, '[Battle]', '[Move:slash]'],
]);

for (const [battle, ...names] of COPIED) {
  test(`a copy of ${battle.format} and its original go the same way, for ${names.join(' and ')}`, () => {
    for (const choices of [0, 5, 10]) {
      const room = started(battle, { names });
      const chooser = policies();
      told(room);
      play(room, chooser, choices);
      const copy = room.fork('battle-test-2');
      assert.equal(copy.take(), '');
      assert.equal(asked(copy), asked(room));
      const chooserOfCopy = copied(chooser);
      const frames = play(room, chooser, 30);
      assert.ok(frames.length > 5);
      assert.deepEqual(play(copy, chooserOfCopy, 30), frames);
      assert.deepEqual(copy.battle.inputLog, room.battle.inputLog);
    }
  });
}

test('a copy can be taken at any moment', () => {
  const room = started(TRAPS);
  const chooser = policies();
  /** @type {{copy: import('../lib/room').Room, chooser: import('./battles').Policies, from: number}[]} */
  const copies = [];
  /** @type {ReturnType<typeof play>} */
  const frames = [];
  told(room);
  while (!room.ended) {
    if (frames.length < 40) copies.push({ copy: room.fork('copy'), chooser: copied(chooser), from: frames.length });
    frames.push(...play(room, chooser, 1));
  }
  assert.ok(copies.length > 20);
  for (const { copy, chooser: ofCopy, from } of copies) assert.deepEqual(play(copy, ofCopy, 20), frames.slice(from, from + 20));
});

test('a copy shares nothing with its original', () => {
  const room = started(RANDOM);
  play(room, policies(), 10);
  const before = JSON.stringify(room.battle.toJSON());
  const copy = room.fork('battle-test-2');
  copy.apply({ op: 'forfeit', side: 'p1' });
  copy.destroy();
  assert.equal(room.ended, false);
  assert.equal(JSON.stringify(room.battle.toJSON()), before);
  play(room, policies());
  assert.ok(room.ended);
});

test('a copy asks again what is open, as the original asked it', () => {
  const room = started(TRAPS);
  const frames = play(room, policies(), 12);
  while (!frames.at(-1)?.refused && !room.ended) frames.push(...play(room, policies(frames.length), 1));
  const id = /** @type {SideId} */ (frames.at(-1)?.choice.slice(0, 2));
  const copy = room.fork('battle-test-2');
  copy.askAgain();
  const part = told(copy)[id];
  const { refusal, ...asked } = /** @type {any} */ (frames.at(-1)?.[id]);
  assert.match(refusal, /^\[Unavailable choice\]/);
  assert.deepEqual(part, { ...asked, text: '' });
  // Both know by now, so that the same choice reveals nothing more.
  for (const each of [room, copy]) {
    const choice = String(frames.at(-1)?.choice.slice(3));
    refused(() => each.choose(id, choice, each.seats[id].question.rqid), 'invalid', /trapped|disabled/);
    assert.equal(each.take(), '');
  }
});
