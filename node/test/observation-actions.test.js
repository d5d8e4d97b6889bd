'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Observer } = require('../observation/observer');
const { read } = require('./observations');

const STATS = { atk: 100, def: 100, spa: 100, spd: 100, spe: 100 };
const [LEFT, RIGHT] = [1, 2];

/** @param {string} name @param {object} [more] */
function pokemon(name, more) {
  const moves = ['tackle', 'growl', 'thunderbolt', 'hiddenpowerfire60'];
  return { ident: `p1: ${name}`, details: `${name}, L80, M`, condition: '200/200', active: false, stats: STATS, moves, baseAbility: 'static', ability: 'static', item: '', pokeball: 'pokeball', ...more };
}

const NAMES = ['Pikachu', 'Eevee', 'Snorlax', 'Gengar', 'Lapras', 'Mew'];

/** @param {Record<number, object>} [more] what differs, by place in the team */
function team(more = {}, actives = 1) {
  return { name: 'A', id: 'p1', pokemon: NAMES.map((name, i) => pokemon(name, { active: i < actives, ...more[i] })) };
}

const MOVES = [
  { move: 'Tackle', id: 'tackle', pp: 35, maxpp: 56, target: 'normal', disabled: false },
  { move: 'Growl', id: 'growl', pp: 40, maxpp: 64, target: 'allAdjacentFoes', disabled: false },
  { move: 'Thunderbolt', id: 'thunderbolt', pp: 24, maxpp: 24, target: 'normal', disabled: false },
  { move: 'Hidden Power Fire', id: 'hiddenpower', pp: 24, maxpp: 24, target: 'normal', disabled: false },
];

/**
 * @param {any} request
 * @param {'singles' | 'doubles'} game
 * @param {string[]} [lines]
 */
function observe(request, game = 'singles', lines = []) {
  const observer = new Observer({ p1: ['decision', 'own_moves'], p2: null });
  observer.hear([`|gametype|${game}`, '|gen|9', '|teamsize|p1|6', '|teamsize|p2|6', ...lines]);
  for (const one of Array.isArray(request) ? request : [request]) observer.ask('p1', one);
  return read(observer.encode('p1'), game);
}

test('moves, switches and terastallization are legal where the request says so', () => {
  const { legal, read: seen } = observe({ active: [{ moves: MOVES, canTerastallize: 'Fire' }], side: team({ 4: { condition: '0 fnt' } }) });
  assert.deepEqual(legal, [[1, 2, 3, 5, 6, 7, 8, 9, 22, 23, 24, 25]]);
  assert.deepEqual(seen['decision.moves'].map(({ position }) => position), [1, 2, 3, 4]);
  assert.equal(seen['decision.slots'][0].can_tera, 1);
});

test('a trapped Pokémon has moves only, and a disabled move is none of them', () => {
  const moves = MOVES.map((move) => (move.id === 'growl' ? { ...move, disabled: true } : move));
  const { legal, read: seen } = observe({ active: [{ moves, trapped: true }], side: team() });
  assert.deepEqual(legal, [[6, 8, 9]]);
  assert.equal(seen['own_moves.state'][1].disabled, 1);
});

test('one that may be trapped can try to switch', () => {
  const { legal, read: seen } = observe({ active: [{ moves: MOVES, maybeTrapped: true }], side: team() });
  assert.deepEqual(legal[0].slice(0, 5), [1, 2, 3, 4, 5]);
  assert.equal(seen['decision.slots'][0].maybe_trapped, 1);
});

test('a move that the Pokémon is locked into keeps its number, and one that it does not have is the first', () => {
  const locked = (/** @type {string} */ id) => observe({ active: [{ moves: [{ move: id, id }], trapped: true }], side: team() });
  assert.deepEqual(locked('thunderbolt').legal, [[8]]);
  assert.deepEqual(locked('thunderbolt').read['decision.moves'].map(({ position }) => position), [0, 0, 1, 0]);
  assert.deepEqual(locked('hiddenpower').legal, [[9]]);
  for (const id of ['struggle', 'recharge', 'fight', 'outrage']) assert.deepEqual(locked(id).legal, [[6]]);
});

test('mega evolution, Z-moves and dynamax are legal for the moves that have them', () => {
  const z = [null, null, { move: 'Gigavolt Havoc', target: 'normal' }, null];
  assert.deepEqual(observe({ active: [{ moves: MOVES, canMegaEvo: true, canZMove: z, trapped: true }], side: team() }).legal, [
    [6, 7, 8, 9, 10, 11, 12, 13, 16],
  ]);
  const maxMoves = { maxMoves: MOVES.map(({ id }) => ({ move: id, target: 'adjacentFoe', disabled: id === 'growl' })) };
  assert.deepEqual(observe({ active: [{ moves: MOVES, canDynamax: true, maxMoves, trapped: true }], side: team() }).legal, [
    [6, 7, 8, 9, 18, 20, 21],
  ]);
});

test('switches keep the numbers of the first request, whoever stands where', () => {
  const first = { active: [{ moves: MOVES }], side: team() };
  const [a, b, c, ...rest] = team().pokemon;
  const swapped = [{ ...c, active: true }, b, { ...a, active: false }, ...rest];
  const { legal, read: seen } = observe([first, { active: [{ moves: MOVES }], side: { name: 'A', id: 'p1', pokemon: swapped } }]);
  assert.deepEqual(legal[0].slice(0, 5), [0, 1, 3, 4, 5]);
  assert.deepEqual(seen['decision.switches'].map(({ position }) => position), [3, 2, 1, 4, 5, 6]);
});

test('a forced switch is to those who can fight, a revival to those who cannot', () => {
  const forced = observe({ forceSwitch: [true], side: team({ 0: { condition: '0 fnt' }, 3: { condition: '0 fnt' } }) });
  assert.deepEqual(forced.legal, [[1, 2, 4, 5]]);
  assert.deepEqual(forced.read['decision.asked'][0].phase, 2);
  const revival = observe({ forceSwitch: [true], side: team({ 0: { reviving: true }, 3: { condition: '0 fnt' } }) });
  assert.deepEqual(revival.legal, [[3]]);
  assert.equal(revival.read['decision.asked'][0].reviving, 1);
});

test('a side that waits, or whose battle is over, has nothing to choose', () => {
  assert.deepEqual(observe({ wait: true, side: team() }).legal, [[]]);
  const over = { active: [{ moves: MOVES }], side: team() };
  assert.deepEqual(observe(over, 'singles', ['|win|A']).legal, [[]]);
});

test('a preview offers the whole team, and says how many to pick', () => {
  const singles = observe({ teamPreview: true, maxChosenTeamSize: 3, side: team() });
  assert.deepEqual(singles.legal, [[0, 1, 2, 3, 4, 5]]);
  assert.deepEqual([singles.read['decision.asked'][0].phase, singles.read['decision.asked'][0].picks], [3, 3]);
  const doubles = observe({ teamPreview: true, side: team() }, 'doubles');
  assert.deepEqual(doubles.legal, [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]]);
  assert.equal(doubles.read['decision.asked'][0].picks, 6);
});

test('in doubles a move is aimed at whom it can be aimed at', () => {
  const aimed = (/** @type {string | undefined} */ target, slot = 0) => {
    const moves = [{ ...MOVES[0], target }];
    const active = [{ moves: MOVES }, { moves: MOVES }];
    active[slot] = { moves: /** @type {any} */ (moves) };
    return observe({ active, side: team({}, 2) }, 'doubles').legal[slot].filter((action) => action >= 7).map((action) => action - 9);
  };
  assert.deepEqual(aimed('normal'), [-2, LEFT, RIGHT]);
  assert.deepEqual(aimed('normal', 1), [-1, LEFT, RIGHT]);
  assert.deepEqual(aimed('adjacentFoe'), [LEFT, RIGHT]);
  assert.deepEqual(aimed('adjacentAlly'), [-2]);
  assert.deepEqual(aimed('adjacentAllyOrSelf', 1), [-2, -1]);
  for (const target of ['self', 'allAdjacentFoes', 'randomNormal', undefined]) assert.deepEqual(aimed(target), [0]);
});

test('in doubles a Z-move and a max move have targets of their own', () => {
  const z = observe({ active: [{ moves: [MOVES[1]], canZMove: [{ move: 'Z', target: 'normal' }], trapped: true }, null], side: team({}, 2) }, 'doubles');
  assert.deepEqual(z.legal, [[14, 52, 55, 56], [0]]);
  const maxMoves = { maxMoves: [{ move: 'maxstrike', target: 'adjacentFoe' }] };
  const dynamaxed = observe({ active: [{ moves: [MOVES[0]], maxMoves, trapped: true }, null], side: team({}, 2) }, 'doubles');
  assert.deepEqual(dynamaxed.legal[0], [10, 11]);
});

test('in doubles who has fainted, or is inside another one, passes', () => {
  const fainted = { active: [{ moves: MOVES }, { moves: MOVES }], side: team({ 1: { condition: '0 fnt' } }, 2) };
  assert.deepEqual(observe(fainted, 'doubles').legal[1], [0]);
  const commanding = { active: [{ moves: MOVES }, { moves: MOVES }], side: team({ 1: { commanding: true } }, 2) };
  assert.deepEqual(observe(commanding, 'doubles').legal[1], [0]);
});

test('in doubles who is not forced passes, and of two who are, one passes if one Pokémon is left', () => {
  const gone = { condition: '0 fnt' };
  assert.deepEqual(observe({ forceSwitch: [false, true], side: team({ 1: gone }, 2) }, 'doubles').legal, [[0], [3, 4, 5, 6]]);
  const last = team({ 0: gone, 1: gone, 2: gone, 3: gone, 4: gone }, 2);
  assert.deepEqual(observe({ forceSwitch: [true, true], side: last }, 'doubles').legal, [[0, 6], [0, 6]]);
});

test('PP are those of the active request, and stay known on the bench', () => {
  const active = [{ moves: [{ ...MOVES[0], pp: 28 }, ...MOVES.slice(1)] }];
  const first = { active, side: team() };
  assert.equal(observe(first).read['own_moves.state'][0].pp, Math.round((255 * 28) / 56));
  const [a, b, ...rest] = team().pokemon;
  const later = { active: [{ moves: MOVES }], side: { name: 'A', id: 'p1', pokemon: [{ ...b, active: true }, { ...a, active: false }, ...rest] } };
  const { read: seen } = observe([first, later]);
  assert.equal(seen['own_moves.state'][0].pp, Math.round((255 * 28) / 56));
  assert.equal(seen['own_moves.state'][8].pp, 255);
});
