'use strict';
/** The commands on rooms: what each is answered, what is refused, and rooms that are played again. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Background } = require('../lib/background');
const { Refusal } = require('../lib/refusal');
const { Rooms } = require('../lib/rooms');
const { OLD, RANDOM, TRAPS, copied, opening, parsed, play, policies, simulator } = require('./battles');

/**
 * @typedef {import('../lib/rooms').Command} Command
 * @typedef {import('../lib/room').Room} Room
 */

const rooms = () => new Rooms(simulator);

/**
 * @param {Rooms} there
 * @param {Record<string, any>} command
 * @returns {import('./battles').Frame} what the answer carries
 */
function run(there, command) {
  return parsed(there.run(/** @type {Command} */ ({ id: 1, ...command }))());
}

/**
 * @param {Rooms} there
 * @param {Record<string, any>} command
 * @param {string} code
 * @param {RegExp} [message]
 */
function refused(there, command, code, message = /./) {
  const before = [...there.rooms.keys()];
  assert.throws(
    () => run(there, command),
    (error) => {
      assert.ok(error instanceof Refusal, `threw ${error}`);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    },
  );
  assert.deepEqual([...there.rooms.keys()], before);
}

/**
 * @param {string} room
 * @param {{format: string, team: string | undefined}} battle
 * @param {Parameters<typeof opening>[1]} [options]
 */
function open(room, battle = OLD, options) {
  const { format, seed, players } = opening(battle, options);
  return { op: 'open', room, format, seed, ...players };
}

/**
 * @param {Rooms} there
 * @param {string} tag
 */
function find(there, tag) {
  return /** @type {Room} */ (there.rooms.get(tag));
}

/**
 * What Python writes down: the moves that were accepted, or refused and asked again.
 * @param {ReturnType<typeof play>} frames
 */
function journal(frames) {
  return frames.map(({ choice }) => ['choose', choice.slice(0, 2), choice.slice(3)]);
}

// Commands

test('a command that there is not is refused, whatever objects have of themselves', () => {
  const there = rooms();
  for (const op of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'eval', '', 'Open', 'open ']) {
    refused(there, { op, room: 'a' }, 'unknown_op', /^unknown op/);
  }
  for (const op of [undefined, null, 5, {}, ['open'], { toString: 'open' }]) {
    refused(there, { op, room: 'a' }, 'unknown_op');
  }
  refused(there, { op: 'x'.repeat(1e6) }, 'unknown_op', /^.{0,200}$/);
});

test('a battle is opened, played and gone', () => {
  const there = rooms();
  const { teams, p1, p2, end } = run(there, open('a'));
  assert.deepEqual(teams, [null, null]);
  assert.equal(end, undefined);
  assert.deepEqual([p1?.rqid, p2?.rqid], [1, 2]);
  assert.match(p1?.text ?? '', /^\|player\|p1\|Ash\|/m);
  assert.deepEqual(run(there, { op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 }), {});
  const turn = run(there, { op: 'choose', room: 'a', side: 'p2', choice: 'move 1', rqid: 2 });
  assert.match(turn.p1?.text ?? '', /^\|move\|p2a/m);
  assert.equal(run(there, { op: 'forfeit', room: 'a', side: 'p2' }).end.winner, 'p1');
  assert.equal(there.rooms.size, 0);
  refused(there, { op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 3 }, 'unknown_room', /no room a/);
});

test('a room has one battle', () => {
  const there = rooms();
  run(there, open('a'));
  refused(there, open('a'), 'room_exists', /a room a already/);
  run(there, open('b'));
  refused(there, { op: 'fork', room: 'a', as: 'b' }, 'room_exists', /a room b already/);
  refused(there, { op: 'fork', room: 'a', as: 'a' }, 'room_exists');
});

test('a room is named by a text, even by one that objects know', () => {
  const there = rooms();
  for (const room of ['__proto__', 'constructor', 'battle é🐉']) {
    refused(there, { op: 'close', room }, 'unknown_room');
    run(there, open(room));
    assert.deepEqual(run(there, { op: 'close', room }), {});
  }
  for (const room of [undefined, null, 5, '', {}, 'x'.repeat(201)]) {
    for (const op of ['open', 'choose', 'undo', 'forfeit', 'tie', 'sheets', 'close']) refused(there, { ...open('a'), op, room }, 'bad_field', /room/);
    refused(there, { op: 'fork', room: 'a', as: room }, 'bad_field', /as/);
  }
});

test('every command on a room needs one that is there', () => {
  const there = rooms();
  const fields = { side: 'p1', choice: 'move 1', rqid: 1, as: 'b' };
  for (const op of ['choose', 'undo', 'forfeit', 'tie', 'sheets', 'fork', 'close']) {
    refused(there, { op, room: 'a', ...fields }, 'unknown_room');
  }
});

test('the fields of a choice are checked before it is made', () => {
  const there = rooms();
  run(there, open('a'));
  const choice = { op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 };
  refused(there, { ...choice, side: 'p3' }, 'bad_field', /side/);
  refused(there, { ...choice, choice: 5 }, 'bad_field', /choice/);
  refused(there, { ...choice, choice: 'move 1\n>eval 1' }, 'invalid', /control/);
  refused(there, { ...choice, rqid: '1' }, 'bad_field', /rqid/);
  refused(there, { ...choice, rqid: 2 }, 'stale');
  refused(there, { ...choice, choice: 'move 9' }, 'invalid', /Invalid choice/);
  refused(there, { op: 'forfeit', room: 'a', side: 'both' }, 'bad_field', /side/);
  assert.equal(there.take('a'), '');
  assert.deepEqual(run(there, choice), {});
});

test('a choice is taken back, once', () => {
  const there = rooms();
  run(there, open('a'));
  const undo = { op: 'undo', room: 'a', side: 'p1', rqid: 1 };
  refused(there, undo, 'stale', /has not answered request 1/);
  run(there, { op: 'choose', room: 'a', side: 'p1', choice: 'move 1', rqid: 1 });
  refused(there, { ...undo, rqid: 2 }, 'stale', /the current one is 1/);
  refused(there, { ...undo, rqid: undefined }, 'bad_field', /rqid/);
  refused(there, { ...undo, side: 'p3' }, 'bad_field', /side/);
  assert.deepEqual(run(there, undo), {});
  refused(there, undo, 'stale');
  assert.deepEqual(run(there, { op: 'choose', room: 'a', side: 'p1', choice: 'move 2', rqid: 1 }), {});
});

test('a battle ends for a reason, which is no syntax', () => {
  const there = rooms();
  for (const room of ['a', 'b', 'c', 'd']) run(there, open(room));
  const last = (/** @type {Record<string, unknown>} */ command) => run(there, command).p1?.text.split('\n');
  const forfeit = { op: 'forfeit', room: 'a', side: 'p1' };
  for (const reason of [5, {}, 'a|b', 'a\n|win|Ash', 'x'.repeat(301)]) {
    refused(there, { ...forfeit, reason }, 'bad_field', /reason/);
    refused(there, { op: 'tie', room: 'a', reason }, 'bad_field', /reason/);
  }
  assert.deepEqual(last({ ...forfeit, reason: ' left.' }), ['|-message|Ash left.', '|', '|win|Gary']);
  assert.deepEqual(last({ ...forfeit, room: 'b' }), ['|-message|Ash forfeited.', '|', '|win|Gary']);
  assert.deepEqual(last({ op: 'tie', room: 'c', reason: 'Enough.' }), ['|-message|Enough.', '|', '|tie']);
  assert.deepEqual(last({ op: 'tie', room: 'd' }), ['|', '|tie']);
  assert.equal(there.rooms.size, 0);
});

test('team sheets are shown before the first turn', () => {
  const there = rooms();
  run(there, open('a', { format: 'gen9bssfactory', team: undefined }));
  const { p1, p2 } = run(there, { op: 'sheets', room: 'a' });
  assert.match(p1?.text ?? '', /^\|showteam\|p1\|.+\n\|showteam\|p2\|.+$/);
  assert.deepEqual(p1, p2);
  run(there, open('b'));
  refused(there, { op: 'sheets', room: 'b' }, 'invalid', /before the first turn/);
});

test('a battle says what it is rated as, and who plays', () => {
  const there = rooms();
  const battle = open('a');
  refused(there, { ...battle, rated: 'a|b' }, 'bad_field', /rated/);
  refused(there, { ...battle, p1: { ...battle.p1, valid: 'yes' } }, 'bad_field', /valid/);
  const { p2 } = run(there, { ...battle, rated: 'Cup', p1: { ...battle.p1, avatar: 'red', rating: 1500 } });
  assert.match(p2?.text ?? '', /^\|player\|p1\|Ash\|red\|1500$/m);
  assert.match(p2?.text ?? '', /^\|rated\|Cup$/m);
});

test('a format is described', () => {
  const there = rooms();
  const { facts } = /** @type {any} */ (run(there, { op: 'describe', format: '[Gen 9] Random Battle' }));
  assert.deepEqual(facts, {
    id: 'gen9randombattle',
    name: '[Gen 9] Random Battle',
    game_type: 'singles',
    needs_team: false,
    best_of: null,
    is_ladder: true,
    rated: true,
    offers_team_sheets: false,
    has_team_preview: false,
    timer: {},
  });
  refused(there, { op: 'describe', format: 'gen1nosuch' }, 'rejected', /^Unrecognized format "gen1nosuch"$/);
  refused(there, { op: 'describe', format: 'gen9freeforall' }, 'rejected', /4 players/);
  refused(there, { op: 'describe' }, 'bad_field', /format/);
});

test('every format for two players is described as its battles begin', () => {
  const there = rooms();
  let previews = 0;
  for (const { id, team, playerCount } of simulator.Dex.formats.all()) {
    if (playerCount !== 2) continue;
    const { facts } = /** @type {any} */ (run(there, { op: 'describe', format: id }));
    assert.equal(facts.id, id);
    if (!team) continue;
    const { p1 } = run(there, open(id, { format: id, team: undefined }));
    assert.equal(Boolean(p1?.request.teamPreview), facts.has_team_preview, id);
    previews += facts.has_team_preview;
  }
  assert.ok(previews > 3);
});

test('a team is validated without a battle', () => {
  const there = rooms();
  const team = 'Garchomp @ Leftovers\nAbility: Rough Skin\nTera Type: Fire\nEVs: 252 Spe\nJolly Nature\n- Earthquake\n';
  const validate = { op: 'validate', format: 'gen9ou', team };
  const packed = 'Garchomp||Leftovers|RoughSkin|Earthquake|Jolly|,,,,,252|||||,,,,,Fire';
  assert.deepEqual(run(there, validate), { team: packed });
  assert.deepEqual(run(there, { ...validate, team: packed }), { team: packed });
  assert.deepEqual(run(there, { ...validate, format: 'gen9randombattle' }), { team: null });
  assert.deepEqual(run(there, { ...validate, format: 'gen9randombattle', team: null }), { team: null });
  refused(there, { ...validate, team: undefined }, 'rejected', /^This format requires you to use your own team\.\n/);
  refused(there, { ...validate, team: '' }, 'rejected', /^This format requires you to use your own team\.\n/);
  refused(there, { ...validate, team: 5 }, 'rejected', /the team is not a text/);
  refused(there, { ...validate, team: 'x'.repeat(25_001) }, 'rejected', /25001 characters/);
  refused(there, { ...validate, team: team.replace('Rough Skin', 'Wonder Guard') }, 'rejected', /Wonder Guard/);
  refused(there, { ...validate, format: 'gen9nosuch' }, 'rejected', /Unrecognized format/);
});

test('a team that was validated before is packed, and not validated again', () => {
  const there = rooms();
  const illegal = 'Garchomp @ Leftovers\nAbility: Wonder Guard\nJolly Nature\n- Spore\n';
  const battle = open('a', { format: 'gen9ou', team: illegal });
  refused(there, { ...battle, p1: { ...battle.p1, valid: true } }, 'rejected', /team of p2 is not legal/);
  const [p1, p2] = [battle.p1, battle.p2].map((player) => ({ ...player, valid: true }));
  const { teams } = run(there, { ...battle, p1, p2 });
  for (const team of teams) assert.match(team, /^Garchomp\|\|Leftovers\|WonderGuard\|Spore\|Jolly\|/);
});

test('what a refusal reveals can be taken', () => {
  const there = rooms();
  run(there, open('a', TRAPS));
  const room = find(there, 'a');
  const chooser = policies();
  while (!play(room, chooser, 1)[0].refused);
  room.askAgain();
  assert.notEqual(there.take('a'), '');
  assert.equal(there.take('a'), '');
  assert.equal(there.take('b'), '');
  assert.equal(there.take(undefined), '');
});

test('a room that the simulator broke is dropped', () => {
  const there = rooms();
  run(there, open('a'));
  run(there, open('b'));
  there.drop('a');
  there.drop('c');
  there.drop(undefined);
  assert.deepEqual([...there.rooms.keys()], ['b']);
});

test('rooms say how their process is', () => {
  const there = rooms();
  run(there, open('a'));
  const vitals = JSON.parse(`{${there.vitals().slice(1)}}`);
  assert.equal(vitals.rooms, 1);
  assert.ok(vitals.rss > 1e7 && vitals.heap > 1e6 && vitals.cpu > 0);
});

test('a warm-up is asked for at once, or refused', () => {
  const there = new Rooms(simulator, new Background(() => true));
  const vitals = /** @type {any} */ (run(there, { op: 'warm', format: 'gen1randombattle', battles: 7 }));
  assert.deepEqual([vitals.rooms, vitals.warm], [0, [0, 7]]);
  refused(there, { op: 'warm', format: 5, battles: 1 }, 'bad_field', /format/);
  refused(there, { op: 'warm', format: 'gen1randombattle', battles: 'x' }, 'bad_field', /battles/);
  refused(there, { op: 'warm', format: 'gen1ou', battles: 1 }, 'rejected', /no random teams/);
  refused(there, { op: 'warm', format: 'gen1nonsense', battles: 1 }, 'rejected');
  assert.deepEqual(there.warmUp.warmth, [0, 7]);
});

// What cannot start

test('a battle that cannot be is rejected', () => {
  const there = rooms();
  const battle = open('a');
  refused(there, { ...battle, format: 'gen1nosuch' }, 'rejected', /Unrecognized format/);
  refused(there, { ...battle, format: '__proto__' }, 'rejected');
  refused(there, { ...battle, format: 'gen1randombattle@@@No Such Rule' }, 'rejected');
  refused(there, { ...battle, format: 'gen9freeforallrandombattle' }, 'rejected', /4 players; rooms have two sides/);
  refused(there, { ...battle, format: 5 }, 'bad_field', /format/);
  refused(there, { ...battle, seed: '1,2,3' }, 'rejected', /not a seed/);
  refused(there, { ...battle, p1: { ...battle.p1, seed: undefined } }, 'rejected', /not a seed/);
  refused(there, { ...battle, p2: null }, 'bad_field', /p2/);
  refused(there, { ...battle, p2: { ...battle.p2, name: 'Ash' } }, 'rejected', /both players are called "Ash"/);
  refused(there, { ...battle, replay: 'x' }, 'bad_field', /replay/);
  refused(there, { ...battle, replay: [['open', 'p1', '']] }, 'bad_field', /unknown move/);
});

test('a team is validated, and comes back as it was packed', () => {
  const there = rooms();
  const team = 'Garchomp @ Leftovers\nAbility: Rough Skin\nTera Type: Fire\nEVs: 252 Spe\nJolly Nature\n- Earthquake\n';
  const battle = open('a', { format: 'gen9ou', team });
  assert.equal(run(there, battle).teams[0], 'Garchomp||Leftovers|RoughSkin|Earthquake|Jolly|,,,,,252|||||,,,,,Fire');
  const illegal = team.replace('Rough Skin', 'Wonder Guard');
  const other = open('b', { format: 'gen9ou', team });
  refused(there, { ...other, p2: { ...other.p2, team: illegal } }, 'rejected', /team of p2 is not legal:\n.*Wonder Guard/);
  refused(there, { ...other, p1: { ...other.p1, team: '' } }, 'rejected', /team of p1 cannot be read/);
  refused(there, { ...other, p1: { ...other.p1, team: null } }, 'rejected', /needs a team for p1/);
});

// Rooms that are played again

for (const battle of [RANDOM, TRAPS]) {
  test(`a replayed room of ${battle.format} is where the live one is, and goes on the same way`, () => {
    for (const choices of [0, 1, 8, 17]) {
      const there = rooms();
      const live = open('live', battle);
      const { teams } = run(there, live);
      const chooser = policies();
      const moves = journal(play(find(there, 'live'), chooser, choices));
      const replay = {
        ...live,
        room: 'again',
        replay: moves,
        p1: { ...live.p1, team: teams[0] },
        p2: { ...live.p2, team: teams[1] },
      };
      // What was said the first time is not said again.
      assert.deepEqual(run(there, replay), { teams });
      const [original, again] = [find(there, 'live'), find(there, 'again')];
      assert.equal(again.rqid, original.rqid);
      for (const id of /** @type {const} */ (['p1', 'p2'])) assert.deepEqual(again.seats[id], original.seats[id]);
      const chooserAgain = copied(chooser);
      const frames = play(original, chooser, 30);
      assert.ok(frames.length > 10);
      assert.deepEqual(play(again, chooserAgain, 30), frames);
    }
  });
}

test('a replayed room asks its open requests again if it is told to', () => {
  const there = rooms();
  const first = run(there, open('live'));
  const replay = { ...open('again'), replay: [['choose', 'p1', 'move 1']], ask: true };
  const { p1, p2 } = run(there, replay);
  assert.equal(p1, undefined);
  assert.deepEqual(p2, { ...first.p2, text: '' });
});

test('a replayed room whose battle is over says so and is gone', () => {
  const there = rooms();
  const replay = [
    ['choose', 'p1', 'move 2'],
    ['undo', 'p1', ''],
    ['choose', 'p1', 'move 1'],
    ['choose', 'p2', 'move 1'],
    ['forfeit', 'p1', ' left.'],
  ];
  const { p1, end } = run(there, { ...open('again'), replay });
  assert.equal(p1, undefined);
  assert.deepEqual(end, { winner: 'p2', turns: 2, reason: 'forfeit' });
  assert.equal(there.rooms.size, 0);
});

// Copies

test('a copy is a room of its own, and is asked what is open', () => {
  const there = rooms();
  const first = run(there, open('a'));
  run(there, { op: 'choose', room: 'a', side: 'p2', choice: 'move 1', rqid: 2 });
  const copy = run(there, { op: 'fork', room: 'a', as: 'b' });
  assert.deepEqual(copy, { p1: { ...first.p1, text: '' } });
  const chosen = { op: 'choose', side: 'p1', choice: 'move 1', rqid: 1 };
  assert.deepEqual(run(there, { ...chosen, room: 'b' }), run(there, { ...chosen, room: 'a' }));
  run(there, { op: 'close', room: 'a' });
  assert.equal(run(there, { op: 'forfeit', room: 'b', side: 'p1' }).end.winner, 'p2');
  assert.equal(there.rooms.size, 0);
});
