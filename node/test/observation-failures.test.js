'use strict';
/** Whose move has failed, as everybody is told, and for how long an observation says so. */

const assert = require('node:assert/strict');
const { describe, it } = require('node:test');
const { Observer } = require('../observation/observer');
const { read } = require('./observations');

const START = [
  '|gen|9', '|teamsize|p1|2', '|teamsize|p2|2', '|start', '|switch|p1a: Own|Mew, L80|100/100', '|switch|p2a: Foe|Oricorio, L80|100/100',
];
const NEXT = { active: [{ moves: [{ id: 'tackle', pp: 5, maxpp: 5, target: 'normal' }] }] };
const FORCED = { forceSwitch: [true] };
const WAIT = { wait: true };

class Story {
  /** @param {'singles' | 'doubles'} game */
  constructor(game = 'singles') {
    this.game = game;
    this.turn = 1;
    this.observer = new Observer({ p1: ['decision', 'last_moves'], p2: null });
    this.observer.hear([`|gametype|${game}`, ...START, '|turn|1']);
    if (game === 'doubles') this.observer.hear(['|switch|p1b: Ally|Mew, L80|100/100', '|switch|p2b: Other|Mew, L80|100/100']);
  }

  /**
   * @param {string} text what happens, as the simulator writes it
   * @returns {number[]} whose move has failed, when that is over: our places, then theirs
   */
  turnOf(text) {
    this.hear(text);
    this.observer.hear(['|', '|upkeep', `|turn|${++this.turn}`]);
    return this.failed(NEXT);
  }

  /** @param {string} text */
  hear(text) {
    this.observer.hear(['|', '|t:|1', ...text.split('\n').map((line) => line.trim())]);
    return this;
  }

  /**
   * @param {object} asked
   * @returns {number[]}
   */
  failed(asked) {
    const pokemon = ['Own', 'Ally'].map((name, index) => ({
      ident: `p1: ${name}`, details: 'Mew, L80', condition: '100/100', active: index === 0 || this.game === 'doubles',
      stats: { atk: 1, def: 1, spa: 1, spd: 1, spe: 1 }, moves: ['tackle'], baseAbility: 'pressure', item: '',
    }));
    const active = 'active' in asked && this.game === 'doubles' ? { active: [NEXT.active[0], NEXT.active[0]] } : {};
    this.observer.ask('p1', { ...asked, ...active, side: { id: 'p1', pokemon } });
    const { read: seen } = read(this.observer.encode('p1'), this.game);
    return seen['last_moves.state'].map(({ failed }) => failed);
  }
}

const OWN = [1, 0];
const THEIRS = [0, 1];
const NOBODY = [0, 0];

describe('who has chosen the move has failed', () => {
  /** @type {[string, number[], string][]} */
  const cases = [
    ['who uses it', OWN, '|move|p1a: Own|Fake Out|p2a: Foe\n|-fail|p1a: Own'],
    ['also where the line names the target', OWN, '|move|p1a: Own|Thunder Wave|p2a: Foe\n|-fail|p2a: Foe|par'],
    ['also where the line says what kept it', THEIRS, '|move|p2a: Foe|Grass Knot|p1a: Own\n|-fail|p1a: Own|move: Grass Knot|[from] Dynamax'],
    ['who used the last move, of several', THEIRS, '|move|p1a: Own|Tackle|p2a: Foe\n|move|p2a: Foe|Sucker Punch|p1a: Own\n|-fail|p2a: Foe'],
    ['both', [1, 1], '|move|p1a: Own|Protect|p1a: Own\n|-fail|p1a: Own\n|move|p2a: Foe|Protect|p2a: Foe\n|-fail|p2a: Foe'],
    ['who calls one', OWN, '|move|p1a: Own|Metronome|p1a: Own\n|move|p1a: Own|Fake Out|p2a: Foe|[from] Metronome\n|-fail|p1a: Own'],
    ['who goes on with one', OWN, '|move|p1a: Own|Outrage|p2a: Foe|[from] lockedmove\n|-fail|p1a: Own'],
    ['who bides its time and gives nothing back', OWN, '|move|p2a: Foe|Tackle|p1a: Own\n|-end|p1a: Own|move: Bide\n|-fail|p1a: Own'],
  ];
  for (const [name, expected, text] of cases) it(name, () => assert.deepEqual(new Story().turnOf(text), expected));
});

describe('nobody has failed', () => {
  /** @type {[string, string][]} */
  const cases = [
    ['where a move misses', '|move|p1a: Own|Tackle|p2a: Foe|[miss]\n|-miss|p1a: Own|p2a: Foe'],
    ['where the target is immune', '|move|p1a: Own|Tackle|p2a: Foe\n|-immune|p2a: Foe'],
    ['where a Pokémon cannot move', '|move|p2a: Foe|Tackle|p1a: Own\n|cant|p1a: Own|flinch'],
    ['where an ability protects from Intimidate', '|move|p1a: Own|Tackle|p2a: Foe\n|-ability|p2a: Foe|Intimidate|boost\n|-fail|p1a: Own|unboost|Attack|[from] ability: Inner Focus|[of] p1a: Own'],
    [
      'where only what Synchronize returns fails',
      '|move|p1a: Own|Thunder Wave|p2a: Foe\n|-status|p2a: Foe|par\n|-activate|p2a: Foe|ability: Synchronize\n|-fail|p1a: Own|par',
    ],
    [
      'where one dances along',
      '|move|p1a: Own|Swords Dance|p1a: Own\n|-boost|p1a: Own|atk|2\n|move|p2a: Foe|Swords Dance|p2a: Foe|[from] ability: Dancer\n|-fail|p2a: Foe',
    ],
    ['where the end of the turn fails', '|move|p1a: Own|Uproar|p2a: Foe\n|\n|-fail|p2a: Foe|slp|[from] Uproar'],
  ];
  for (const [name, text] of cases) it(name, () => assert.deepEqual(new Story().turnOf(text), NOBODY));
});

describe('it is said', () => {
  const fails = '|move|p1a: Own|Fake Out|p2a: Foe\n|-fail|p1a: Own';

  it('of the last turn alone', () => {
    const story = new Story();
    assert.deepEqual(story.turnOf(fails), OWN);
    assert.deepEqual(story.failed(NEXT), OWN, 'as often as it is asked');
    assert.deepEqual(story.turnOf('|cant|p1a: Own|par'), NOBODY);
    assert.deepEqual(story.turnOf(fails), OWN);
    assert.deepEqual(story.turnOf(fails), OWN);
  });

  it('in the middle of a turn of what has happened in it', () => {
    const story = new Story();
    story.turnOf('|move|p2a: Foe|Fake Out|p1a: Own\n|-fail|p2a: Foe');
    story.hear('|move|p1a: Own|Teleport|p1a: Own');
    assert.deepEqual(story.failed(FORCED), NOBODY, 'what the turn before has brought is over');
    assert.deepEqual(story.turnOf('|switch|p1a: Ally|Mew, L80|100/100\n|move|p2a: Foe|Fake Out|p1a: Ally\n|-fail|p2a: Foe'), THEIRS);
    assert.deepEqual(story.hear(fails).failed(WAIT), OWN);
  });

  it('of one that has fainted since, until the turn after the one in which it failed', () => {
    const story = new Story().hear(`${fails}\n|move|p2a: Foe|Tackle|p1a: Own\n|-damage|p1a: Own|0 fnt\n|faint|p1a: Own`);
    assert.deepEqual(story.failed(FORCED), OWN);
    assert.deepEqual(story.turnOf('|switch|p1a: Ally|Mew, L80|100/100'), OWN);
    assert.deepEqual(story.turnOf('|move|p1a: Ally|Tackle|p2a: Foe'), NOBODY);
  });

  it('at the end of a battle', () => {
    const story = new Story().hear(`${fails}\n|faint|p1a: Own\n|win|B`);
    assert.deepEqual(story.failed(WAIT), OWN);
  });

  it('in doubles, of who has changed places too', () => {
    const story = new Story('doubles');
    const text = '|move|p1b: Ally|Fake Out|p2b: Other\n|-fail|p1b: Ally\n|move|p1a: Own|Ally Switch|p1a: Own\n|swap|p1a: Own|1';
    assert.deepEqual(story.turnOf(text), [1, 0, 0, 0]);
    assert.deepEqual(story.turnOf('|move|p2b: Other|Helping Hand|p2a: Foe\n|-fail|p2b: Other'), [0, 0, 0, 1]);
  });
});
