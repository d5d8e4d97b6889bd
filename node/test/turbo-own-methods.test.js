'use strict';
/** Battles with methods of their own, or with a format that changes, are with turbo what they are in vanilla. */

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { test } = require('node:test');
const { FOLDER } = require('./battles');

const REGISTER = path.join(__dirname, '..', 'turbo', 'register.js');
/** Plays battles that have something of their own, and prints how each went, and what was warned of. */
const SURVEY = `
  const { createHash } = require('node:crypto');
  const { Battle, Dex } = require(process.argv[1]);
  const warnings = [];
  process.on('warning', ({ message }) => warnings.push(message));
  Date.now = () => 0;
  const options = () => {
    const [p1, p2] = [1, 2].map((n) => ({ name: 'p' + n, seed: n + ',2,3,4' }));
    return { formatid: 'gen9randombattle', seed: '1,2,3,4', p1, p2 };
  };
  const played = (battle) => {
    for (let turn = 0; turn < 12 && !battle.ended; turn++) battle.makeChoices();
    return [createHash('sha1').update(battle.log.join()).digest('hex'), String(battle.prng.getSeed()), battle.calls];
  };
  const plain = Dex.formats.get('gen9randombattle');
  const own = {
    modify: { battle: { modify: (value) => value + 1 } },
    trunc: { battle: { trunc: Math.trunc } },
    getCallback: { battle: { getCallback: (target, effect, name) => (name === 'onResidual' ? undefined : effect[name]) } },
    getAllActive: { battle: { getAllActive: () => [] } },
    getItem: { pokemon: { getItem() { return this.battle.dex.items.get('leftovers'); } } },
    getTypes: { pokemon: { getTypes: () => ['Ghost'] } },
    getWeather: { field: { getWeather() { return this.battle.dex.conditions.get('sandstorm'); } } },
    getPseudoWeather: { field: { getPseudoWeather: () => ({}) } },
  };
  const seen = { plain: played(new Battle(options())) };
  for (const [name, methods] of Object.entries(own)) {
    const format = Object.assign(Object.create(Object.getPrototypeOf(plain)), plain, methods);
    seen['format ' + name] = played(new Battle({ ...options(), format }));
  }
  for (const name of ['getCallback', 'modify', 'findPokemonEventHandlers', 'runEvent', 'singleEvent']) {
    class Counting extends Battle {
      calls = 0;
    }
    Counting.prototype[name] = function (...args) {
      this.calls++;
      return Battle.prototype[name].apply(this, args);
    };
    class More extends Counting {}
    seen['class ' + name] = played(new More(options()));
  }
  const battle = new Battle({ ...options(), format: Object.assign(Object.create(Object.getPrototypeOf(plain)), plain) });
  battle.makeChoices();
  battle.calls = 0;
  battle.format.onDamage = () => void battle.calls++;
  seen.changed = played(battle);
  const [one] = battle.sides[0].active;
  seen.stats = ['Spe', 'toString', 'accuracy'].map((name) => String(one.getStat(name, true)));
  seen.thrown = ['runEvent', 'singleEvent', 'priorityEvent'].flatMap((name) =>
    [[null, one], [undefined, undefined], [one, null, 'nobody', null, 1, true]].map((args) => {
      try {
        return String(battle[name]('Nothing', ...args));
      } catch (error) {
        return error.message;
      }
    }),
  );
  setImmediate(() => console.log(JSON.stringify({ seen, warnings })));
`;

/** @param {string[]} options of Node @returns {Promise<{seen: Record<string, any>, warnings: string[]}>} */
async function survey(options) {
  const { stdout } = await promisify(execFile)(process.execPath, [...options, '-e', SURVEY, FOLDER]);
  return JSON.parse(stdout);
}

test('methods of a format or of a class, and a format that changes, are heeded', { timeout: 120_000 }, async () => {
  const [vanilla, turbo] = await Promise.all([survey([]), survey(['--require', REGISTER])]);
  assert.deepEqual(turbo.seen, vanilla.seen);
  const others = ['modify', 'getItem', 'getTypes', 'getWeather', 'getPseudoWeather'];
  for (const name of others) assert.notDeepEqual(vanilla.seen[`format ${name}`], vanilla.seen.plain, name);
  for (const [name, [, , calls]] of Object.entries(vanilla.seen)) {
    if (name.startsWith('class') || name === 'changed') assert.ok(calls > 0, name);
  }
});

test('what is left to vanilla for their sake is warned of, each once', { timeout: 120_000 }, async () => {
  const { warnings } = await survey(['--require', REGISTER]);
  assert.equal(new Set(warnings).size, warnings.length);
  assert.ok(warnings.some((text) => /^turbo leaves to vanilla quiet-events: .* has its own Battle\.modify$/.test(text)));
  assert.ok(warnings.every((text) => text.startsWith('turbo leaves ')));
});
