'use strict';
/** What a player is shown of its battle is made what everybody sees, and gives the same bytes. */

const assert = require('node:assert/strict');
const { describe, test } = require('node:test');
const { ObservedBattles } = require('../lib/observed');
const { Refusal } = require('../lib/refusal');
const { SIDES, seenBy } = require('../lib/room');
const { spec } = require('../observation/numbers');
const { Viewpoint } = require('../observation/viewpoint');
const { DOUBLES, RANDOM, play, policies, started, told } = require('./battles');

const GROUPS = spec.groups.all.filter((group) => !spec.groups.optional.includes(group));
const TAG = 'battle-test-1';
/** Pressure, which a player of generation 3 is told of alone; a team to pick from, which nobody else is shown. */
const PRESSURE = 'Zapdos||Leftovers|Pressure|thunderbolt,drillpeck,agility,batonpass||||||100|]'
  .concat('Aerodactyl||Leftovers|Pressure|rockslide,earthquake,hiddenpowerbug,doubleedge||||||100|');
const HIDDEN = ['Snorlax||leftovers|Thick Fat|bodyslam,crunch', 'Metagross||sitrusberry|Clear Body|meteormash,earthquake']
  .concat(['Garchomp||focussash|Sand Veil|dragonclaw,earthquake', 'Zapdos||lumberry|Pressure|thunderbolt,heatwave'])
  .concat(['Gengar||lifeorb|Levitate|shadowball,sludgebomb', 'Tyranitar||choiceband|Sand Stream|rockslide,crunch'])
  .map((set) => `${set}||,,,,,4||||50|`)
  .join(']');

/** Nobody but a player is told these, and no observation is made of them. */
const UNHEARD = /^\|(?:-hint|-candynamax|uhtmlchange|)\||^[^|]/;

/** @typedef {{room: string, events: unknown[], obs: string}} Told */

/**
 * @param {{format: string, team: string | undefined}} battle
 * @param {number} [seed]
 * @returns {{told: Told[], log: string[]}} what each side was told at once, and what it observed then
 */
function recorded(battle, seed = 1) {
  const view = { lines: true, observe: [...GROUPS] };
  const room = started(battle, { seed }, { p1: view, p2: view });
  const frames = [told(room), ...play(room, policies(seed))];
  const { log } = room.battle;
  room.destroy();
  const all = frames.flatMap((frame) =>
    SIDES.flatMap((id) => {
      const part = frame[id];
      if (!part) return [];
      return [{ room: `${TAG} ${id}`, events: eventsOf(part), obs: String(part.obs) }];
    }),
  );
  return { told: all, log };
}

/** @param {{text: string, request?: object}} part */
function eventsOf({ text, request }) {
  return [...text.split('\n'), ...(request ? [request] : [])];
}

/**
 * @param {ObservedBattles} battles
 * @param {Told} told
 */
function observed(battles, { room, events }) {
  return JSON.parse(`{"ack":1${battles.run({ op: 'tell', room, events, observe: true })}}`).observation;
}

/**
 * @param {import('../lib/room').SideId} id
 * @param {string[]} lines
 */
function shared(id, lines) {
  const viewpoint = new Viewpoint(id);
  /** @type {string[]} */
  const shown = [];
  for (const line of lines) viewpoint.show(line, (text) => shown.push(text));
  return shown.filter((line) => !UNHEARD.test(line));
}

function opened() {
  const battles = new ObservedBattles();
  for (const id of SIDES) battles.run({ op: 'open', room: `${TAG} ${id}`, groups: GROUPS });
  return battles;
}

describe('a player observes the same as its seat in the bridge', () => {
  const cases = [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((generation) => ({ format: `gen${generation}randombattle`, team: undefined })),
    DOUBLES,
    // HP in pixels, and colours.
    { format: 'gen4randombattle@@@!hppercentagemod', team: undefined },
    { format: 'gen5randombattle@@@!hppercentagemod', team: undefined },
    // Exact HP, by a rule and by the format.
    { format: 'gen9randombattle@@@exacthpmod', team: undefined },
    { format: 'gen9customgame', team: PRESSURE },
    { format: 'gen9championsrandombattle', team: undefined },
    { format: 'gen3ou', team: PRESSURE },
    { format: 'gen4vgc2010', team: HIDDEN },
  ];
  for (const battle of cases) {
    test(`in ${battle.format}`, () => {
      const battles = opened();
      const { told, log } = recorded(battle);
      for (const one of told) assert.equal(observed(battles, one), one.obs, one.room);
      assert.ok(told.length > 10, `${told.length} observations`);
      const everybody = seenBy('nobody', log).filter((line) => !UNHEARD.test(line));
      for (const id of SIDES) assert.deepEqual(shared(id, seenBy(id, log)), everybody);
    });
  }
});

test('a battle that cannot be followed is gone, and the others go on', () => {
  const battles = opened();
  const [first, ...others] = recorded(RANDOM).told.filter(({ room }) => room.endsWith('p1'));
  assert.equal(observed(battles, first), first.obs);
  battles.run({ op: 'open', room: 'battle-broken', groups: GROUPS });
  const broken = { op: 'tell', room: 'battle-broken', events: [{ side: { id: 'p1' } }], observe: true };
  assert.throws(() => battles.run(broken), TypeError);
  assert.throws(() => battles.run(broken), { code: 'unknown_room' });
  for (const one of others) assert.equal(observed(battles, one), one.obs);
});

test('what is no command is refused with a reason', () => {
  const battles = opened();
  const room = `${TAG} p1`;
  const refused = /** @type {[object, string][]} */ ([
    [{ op: 'shout' }, 'unknown_op'],
    [{ op: 'open', room, groups: GROUPS }, 'room_exists'],
    [{ op: 'open', room: 'battle-new', groups: ['feelings'] }, 'bad_field'],
    [{ op: 'open', room: 'battle-new', groups: 'damage' }, 'bad_field'],
    [{ op: 'tell', room: 'battle-new', events: [], observe: true }, 'unknown_room'],
    [{ op: 'tell', room, events: 'lines', observe: true }, 'bad_field'],
    [{ op: 'tell', room, events: [], observe: 1 }, 'bad_field'],
    [{ op: 'tell', room, events: [], observe: true }, 'bad_field'],
    [{ op: 'close' }, 'bad_field'],
  ]);
  for (const [command, code] of refused) {
    assert.throws(
      () => battles.run(/** @type {any} */ (command)),
      (error) => error instanceof Refusal && error.code === code,
      JSON.stringify(command),
    );
  }
});
