'use strict';

const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');

const SIMULATOR = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');

const PROGRAM = `
  const { Battle } = require(${JSON.stringify(SIMULATOR)});
  const turbo = require(${JSON.stringify(path.join(__dirname, '..', 'turbo'))});
  const warnings = [];
  turbo.install({ warn: (message) => warnings.push(message) });
  const battle = new Battle({ formatid: 'gen1randombattle', p1: { name: 'A' }, p2: { name: 'B' } });
  console.log(JSON.stringify({ turn: battle.turn, warnings, on: turbo.installed().flatMap(({ patches }) => patches) }));
`;

test('a simulator that was loaded before turbo stays as it is, with one warning', () => {
  const { turn, warnings, on } = JSON.parse(execFileSync(process.execPath, ['-e', PROGRAM], { encoding: 'utf8' }));
  assert.strictEqual(turn, 1);
  assert.deepStrictEqual(on, []);
  assert.strictEqual(warnings.length, 1);
  assert.match(warnings[0], /the simulator was loaded before turbo/);
});
