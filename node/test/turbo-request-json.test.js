'use strict';
const assert = require('node:assert/strict');
const test = require('node:test');
const { RequestJson } = require('../turbo/request-json');

/** @param {object} [changes] @returns {any} */
function entry(changes) {
  return {
    ident: 'p1: Élan "2"',
    details: 'Mew, L82',
    condition: '100/200 par',
    active: true,
    stats: { atk: 1, def: 2, spa: 3, spd: 4, spe: 5 },
    moves: ['tackle', 'return102'],
    baseAbility: 'synchronize',
    item: '',
    pokeball: 'pokeball',
    ...changes,
  };
}

/** @param {...any} pokemon @returns {any} */
function request(...pokemon) {
  const moves = [
    { move: 'Tackle', id: 'tackle', pp: 35, maxpp: 56, target: 'normal', disabled: false },
    { move: 'Return 102', id: 'return' },
  ];
  return { active: [{ moves }], side: { name: 'A\u2028"', id: 'p1', pokemon } };
}

/** Changes to what a request says, each of which must be seen in its text. @type {[string, (request: any) => void][]} */
const CHANGES = [
  ['nothing', () => {}],
  ['a condition', ({ side }) => (side.pokemon[0].condition = '0 fnt')],
  ['a condition that is no string', ({ side }) => (side.pokemon[0].condition = null)],
  ['a condition with a quote', ({ side }) => (side.pokemon[0].condition = '"')],
  ['an active flag', ({ side }) => (side.pokemon[0].active = false)],
  ['an active flag that is no boolean', ({ side }) => (side.pokemon[0].active = undefined)],
  ['an item', ({ side }) => (side.pokemon[0].item = 'leftovers')],
  ['a member that goes', ({ side }) => delete side.pokemon[0].item],
  ['a member that comes', ({ side }) => (side.pokemon[0].extra = 1)],
  ['a toJSON', ({ side }) => (side.pokemon[0].toJSON = () => 'else')],
  ['a class', ({ side }) => (side.pokemon[0] = Object.assign(new (class { toJSON() { return 'X'; } })(), entry()))],
  ['another order of members', ({ side }) => (side.pokemon[0] = { item: '', ...entry() })],
  ['a stat', ({ side }) => (side.pokemon[0].stats.spe = 6)],
  ['a stat that is no number', ({ side }) => (side.pokemon[0].stats.spe = NaN)],
  ['a stat that goes', ({ side }) => delete side.pokemon[0].stats.spe],
  ['a stat that comes', ({ side }) => (side.pokemon[0].stats.hp = 6)],
  ['no stats', ({ side }) => (side.pokemon[0].stats = undefined)],
  ['a move', ({ side }) => (side.pokemon[0].moves[1] = 'splash')],
  ['a move that goes', ({ side }) => side.pokemon[0].moves.pop()],
  ['a move that comes', ({ side }) => side.pokemon[0].moves.push('splash')],
  ['moves that are no array', ({ side }) => (side.pokemon[0].moves = { 0: 'tackle', length: 1 })],
  ['a flag', ({ side }) => (side.pokemon[0].commanding = true)],
  ['another Pokémon first', ({ side }) => side.pokemon.reverse()],
  ['an empty place', ({ side }) => (side.pokemon[0] = null)],
  ['an ident that goes', ({ side }) => (side.pokemon[0].ident = undefined)],
  ['a member of the side', ({ side }) => (side.extra = 1)],
  ['a name', ({ side }) => (side.name = 'B')],
  ['no team', ({ side }) => (side.pokemon = undefined)],
  ['no side', (request) => (request.side = undefined)],
  ['an ally', (request) => (request.ally = request.side)],
  ['a member of the request', (request) => (request.update = true)],
  ['a member that JSON leaves out', (request) => (request.maxChosenTeamSize = undefined)],
  ['a key that needs quotes', (request) => (request['"'] = 1)],
  ['points', ({ active }) => (active[0].moves[0].pp = 0)],
  ['points that are no number', ({ active }) => (active[0].moves[0].pp = '35')],
  ['points that are not finite', ({ active }) => (active[0].moves[0].pp = NaN)],
  ['points below zero', ({ active }) => (active[0].moves[0].pp = -0)],
  ['the most points', ({ active }) => (active[0].moves[0].maxpp = 64)],
  ['a target', ({ active }) => (active[0].moves[0].target = 'self')],
  ['a target that goes', ({ active }) => (active[0].moves[0].target = undefined)],
  ['the name of a move', ({ active }) => (active[0].moves[0].move = '"')],
  ['the id of a move', ({ active }) => (active[0].moves[0].id = 7)],
  ['why a move is disabled', ({ active }) => (active[0].moves[0].disabledSource = 'Taunt')],
  ['another order of moves', ({ active }) => active[0].moves.reverse()],
  ['no moves', ({ active }) => (active[0].moves = undefined)],
  ['an empty slot', ({ active }) => (active[0] = undefined)],
  ['a toJSON of a slot', ({ active }) => (active[0].toJSON = () => undefined)],
  ['a trap', ({ active }) => (active[0].trapped = true)],
  ['a word that a slot loses', ({ active }) => (active[0].canTerastallize = undefined)],
  ['no active slots', (request) => delete request.active],
  ['active slots that are no array', (request) => (request.active = { length: 1 })],
  ['a move that is disabled', (request) => (request.active[0].moves[0].disabled = true)],
];

test('a request is written as JSON.stringify writes it, whatever changes, and whatever was written before', () => {
  for (const [first, change] of CHANGES) {
    for (const [second, other] of CHANGES) {
      const writer = new RequestJson();
      for (const changes of [[], [change], [], [other], [change], [change, other]]) {
        const value = request(entry(), entry({ ident: 'p1: B', ability: 'levitate' }));
        try {
          for (const apply of changes) apply(value);
        } catch {
          continue; // The first change has taken away what the second is about.
        }
        assert.equal(writer.of(value), JSON.stringify(value), `${first}, ${second}`);
      }
    }
  }
});

test('a value that is no request is written as JSON.stringify writes it', () => {
  for (const value of [null, undefined, 1, 'text', [], {}, new Map(), { wait: true }, { side: null }]) {
    assert.equal(new RequestJson().of(value), JSON.stringify(value));
  }
});

test('what was kept does not change with the object it was made from', () => {
  const writer = new RequestJson();
  const value = request(entry());
  writer.of(value);
  value.side.pokemon[0].moves[0] = 'splash';
  value.side.pokemon[0].stats.atk = 9;
  assert.equal(writer.of(value), JSON.stringify(value));
  assert.equal(writer.of(request(entry())), JSON.stringify(request(entry())));
});
