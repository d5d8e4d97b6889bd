'use strict';
/** What a side sees last: its last request, and what everybody has seen change since then. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Observer } = require('../observation/observer');
const { spec } = require('../observation/numbers');
const { read } = require('./observations');

const [HEALTHY, FAINTED, BURNED] = ['none', 'fnt', 'brn'].map((name) => spec.classes.statuses.indexOf(name));
const START = ['|gametype|singles', '|gen|8', '|teamsize|p1|3', '|teamsize|p2|1', '|start', '|switch|p2a: Foe|Mew, L80|100/100'];

/** @param {string} name */
const comesIn = (name, condition = '100/100') => `|switch|p1a: ${name}|${name}, L80|${condition}`;

/**
 * @param {Record<string, string>} team conditions by name, the one that stands on the field first
 */
function requestOf(team) {
  const stats = { atk: 1, def: 1, spa: 1, spd: 1, spe: 1 };
  const pokemon = Object.entries(team).map(([name, condition], index) => ({
    ident: `p1: ${name}`, details: `${name}, L80`, condition, active: index === 0, stats, moves: ['tackle'], baseAbility: 'pressure', item: '',
  }));
  return { active: [{ moves: [{ id: 'tackle', pp: 5, maxpp: 5, target: 'normal' }] }], side: { id: 'p1', pokemon } };
}

/**
 * @param {(string | Record<string, string>)[]} story lines, and the conditions that a request names
 * @returns {[number, number][]} HP and status of each of p1's, in the order of the first request
 */
function lastSeen(...story) {
  const observer = new Observer({ p1: ['decision', 'own_team'], p2: null });
  observer.hear(START);
  for (const part of story) {
    if (typeof part === 'string') observer.hear([part]);
    else observer.ask('p1', requestOf(part));
  }
  observer.hear(['|win|B']);
  const conditions = read(observer.encode('p1')).read['own_team.condition'];
  return conditions.slice(0, 3).map(({ hp, status }) => [hp, status]);
}

test('what everybody has seen since the last request is newer', () => {
  const seen = lastSeen(
    comesIn('Snorlax'), { Snorlax: '300/300', Eevee: '200/200', Ditto: '150/150' },
    '|-damage|p1a: Snorlax|50/100 brn', comesIn('Eevee'), '|faint|p1a: Eevee',
  );
  assert.deepEqual(seen, [[128, BURNED], [0, FAINTED], [255, HEALTHY]]);
});

test('one that fainted in the shape of another has fainted, and the other has not', () => {
  const seen = lastSeen(
    comesIn('Zoroark', '13/100'), { Zoroark: '39/300', Copperajah: '300/300', Eevee: '200/200' },
    comesIn('Copperajah'), { Zoroark: '39/300', Copperajah: '300/300', Eevee: '200/200' },
    '|faint|p1a: Copperajah', { Eevee: '200/200', Copperajah: '300/300', Zoroark: '0 fnt' },
    comesIn('Eevee'), '|faint|p1a: Eevee',
  );
  assert.deepEqual(seen, [[0, FAINTED], [255, HEALTHY], [0, FAINTED]]);
});

test('one that faints in the shape of another after the last request takes it along in nobody’s eyes but its own', () => {
  const seen = lastSeen(
    comesIn('Copperajah'), { Zoroark: '300/300', Copperajah: '150/300', Eevee: '200/200' }, '|faint|p1a: Copperajah',
  );
  assert.deepEqual(seen, [[0, FAINTED], [128, HEALTHY], [255, HEALTHY]]);
});

test('one that is unmasked after the last request is seen as itself', () => {
  const seen = lastSeen(
    comesIn('Zoroark', '80/100'), { Zoroark: '240/300', Copperajah: '300/300', Eevee: '200/200' },
    comesIn('Copperajah', '80/100'), { Zoroark: '240/300', Copperajah: '300/300', Eevee: '200/200' },
    '|replace|p1a: Zoroark|Zoroark, L80|60/100', '|-damage|p1a: Zoroark|20/100',
  );
  assert.deepEqual(seen, [[51, HEALTHY], [255, HEALTHY], [255, HEALTHY]]);
});

test('one that is unmasked and faints after the last request has fainted', () => {
  const seen = lastSeen(
    comesIn('Copperajah', '80/100'), { Zoroark: '240/300', Copperajah: '300/300', Eevee: '200/200' },
    '|replace|p1a: Zoroark|Zoroark, L80|60/100', '|faint|p1a: Zoroark',
  );
  assert.deepEqual(seen, [[0, FAINTED], [255, HEALTHY], [255, HEALTHY]]);
});
