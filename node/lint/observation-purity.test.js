'use strict';
/** The rule that observations are made of nothing but what a side may know: their code cannot reach the simulator. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const ts = require('typescript');

const FOLDER = path.join(__dirname, '..', 'observation');
/** It writes the files that the others read, and is loaded by none of them. */
const LEARNER = 'learn.js';
/** Who may load what is not ours. @type {Record<string, string[]>} */
const ALLOWED = { 'calc.js': ['@smogon/calc'] };
/** Other ways to come by a module. */
const BACK_DOORS = new Set(['createRequire', 'getBuiltinModule', 'mainModule', '_load', '_resolveFilename', 'eval', 'Function']);

/**
 * @param {string} folder
 * @returns {string[]} what its files load that they may not
 */
function offences(folder) {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[cm]?[jt]s$/.test(file) && file !== LEARNER)
    .flatMap((file) => [...wordsOf(folder, file)].filter((word) => !isAllowed(folder, file, word)).map((word) => `${file}: ${word}`));
}

/**
 * @param {string} folder
 * @param {string} file
 * @returns {Generator<string>} what a file loads, and any other word by which it could
 */
function* wordsOf(folder, file) {
  const source = ts.createSourceFile(file, fs.readFileSync(path.join(folder, file), 'utf8'), ts.ScriptTarget.Latest, true);
  /** @type {ts.Node[]} */
  const nodes = [source];
  for (let node = nodes.pop(); node; node = nodes.pop()) {
    if (ts.isCallExpression(node) && /^(require|import)$/.test(node.expression.getText())) {
      const [name] = node.arguments;
      yield name && ts.isStringLiteral(name) ? name.text : node.getText();
    } else if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier)) {
      yield /** @type {any} */ (node.moduleSpecifier).text;
    } else if (ts.isIdentifier(node) && (BACK_DOORS.has(node.text) || isLooseRequire(node))) {
      yield `${node.text} itself`;
    }
    ts.forEachChild(node, (child) => void nodes.push(child));
  }
}

/**
 * @param {ts.Identifier} node
 * @returns {boolean} whether it is `require` anywhere but in a call, or to ask whether a file is the one that runs
 */
function isLooseRequire(node) {
  if (node.text !== 'require') return false;
  return !(ts.isCallExpression(node.parent) && node.parent.expression === node);
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {string} word
 */
function isAllowed(folder, file, word) {
  if (word.startsWith('node:')) return Module.isBuiltin(word) && !/^node:(module|vm|child_process|worker_threads)$/.test(word);
  if (ALLOWED[file]?.includes(word)) return true;
  const named = path.join(folder, path.dirname(file), word);
  return word.startsWith('.') && path.dirname(named) === folder && path.basename(named, '.js') !== path.basename(LEARNER, '.js');
}

test('the code of observations loads nothing but itself', () => {
  assert.deepEqual(offences(FOLDER), []);
});

const OFFENDERS = {
  'the simulator': "const { Dex } = require('pokemon-showdown');",
  'the simulator by its path': "const { Battle } = require('../node_modules/pokemon-showdown/dist/sim/battle');",
  'the room that has the simulator': "const { Room } = require('../lib/room');",
  'who learns from the simulator': "require('./learn');",
  'another package': "require('@smogon/calc');",
  'what is only known when it runs': "const name = 'pokemon-' + 'showdown'; require(name);",
  'an import': "import { Dex } from 'pokemon-showdown';",
  'an import that waits': "import('pokemon-showdown');",
  'another name of require': 'const load = require; load(String(1));',
  'a loader of its own': "const { createRequire } = require('node:module');",
  'the main module': "process.mainModule.require('pokemon-showdown');",
};

for (const [what, line] of Object.entries(OFFENDERS)) {
  test(`the rule finds a file that loads ${what}`, (context) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'maple-purity-'));
    context.after(() => fs.rmSync(folder, { recursive: true }));
    fs.writeFileSync(path.join(folder, 'innocent.js'), "const fs = require('node:fs');\nconst own = require('./offender');\n");
    fs.writeFileSync(path.join(folder, 'offender.js'), `'use strict';\n${line}\n`);
    const found = offences(folder);
    assert.ok(found.length > 0);
    assert.ok(found.every((offence) => offence.startsWith('offender.js: ')), found.join('\n'));
  });
}
