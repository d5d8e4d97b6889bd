'use strict';

const assert = require('node:assert');
const path = require('node:path');
const { test } = require('node:test');
const { Installation } = require('../turbo/installation');
const { UnknownSite, edited, fingerprint, textOf } = require('../turbo/source');

const ROOT = path.join(__dirname, '..', 'node_modules', 'pokemon-showdown');
const SOURCE = `function free(text) {
  return text;
}
class Battle {
  get turn() {
    return 1;
  }
  add(part) {
    if (part) {
      return;
    }
  }
}
class Side {
  add(part) {
  }
}
`;

/**
 * @param {import('../turbo/installation').Patch[]} patches
 * @param {string[]} [off]
 */
function whyNot(patches, off = []) {
  const options = { off: new Set(off), warn: assert.fail, onLeft: assert.fail };
  const { outcomes, refusals } = new Installation(ROOT, () => patches, options);
  return { refusals, why: Object.fromEntries(outcomes.map(({ name, why }) => [name, why])) };
}

test('a function, a class and a method are found by their names, from their first line to their last', () => {
  assert.strictEqual(textOf(SOURCE, 'free'), 'function free(text) {\n  return text;\n}');
  assert.strictEqual(textOf(SOURCE, 'Side.add'), '  add(part) {\n  }');
  assert.strictEqual(textOf(SOURCE, 'Battle.turn'), '  get turn() {\n    return 1;\n  }');
  assert.match(textOf(SOURCE, 'Battle.add'), /^ {2}add\(part\) \{\n {4}if [^]*\n {2}\}$/);
});

test('what is not there, is there twice or has no end is unknown', () => {
  assert.throws(() => textOf(SOURCE, 'Field'), UnknownSite);
  assert.throws(() => textOf(SOURCE, 'Battle.remove'), UnknownSite);
  assert.throws(() => textOf(SOURCE + SOURCE, 'free'), UnknownSite);
  assert.throws(() => textOf('function open() {\n', 'open'), UnknownSite);
});

test('a fingerprint changes with any letter of its method, and with nothing else', () => {
  const print = fingerprint(SOURCE, 'Battle.add');
  assert.strictEqual(fingerprint(SOURCE.replace('return text', 'return 1'), 'Battle.add'), print);
  assert.notStrictEqual(fingerprint(SOURCE.replace('if (part)', 'if (!part)'), 'Battle.add'), print);
});

test('an edit takes its text as it is, and a site that is there once', () => {
  assert.match(edited(SOURCE, { site: 'return text;', put: 'return "$&";' }), /return "\$&";/);
  assert.throws(() => edited(SOURCE, { site: 'add(part)', put: '' }), /is there 2 times/);
  assert.throws(() => edited(SOURCE, { site: 'nowhere', put: '' }), /is there 0 times/);
});

test('a patch that does not fit stays off as a whole, and so does what needs it', () => {
  const fits = { site: '    this.lastMoveLine = -1;\n    this.lastSuccessfulMoveThisTurn = null;\n', put: '' };
  const { refusals, why } = whyNot(
    [
      { name: 'fits', edits: { 'sim/battle': [fits] } },
      { name: 'twice', edits: { 'sim/battle': [{ site: 'this.', put: '' }] } },
      { name: 'half', edits: { 'sim/side': [{ site: 'class Side {', put: '' }], 'sim/field': [{ site: '?!', put: '' }] } },
      { name: 'needy', needs: ['fits', 'half'] },
      { name: 'other', replaces: ['sim/battle Battle.toString'] },
      { name: 'nowhere', edits: { 'sim/nothing': [] } },
      { name: 'unwanted' },
      { name: 'neither', needs: ['unwanted'] },
    ],
    ['unwanted'],
  );
  assert.strictEqual(why.fits, '');
  assert.match(why.twice, /is there \d+ times/);
  assert.match(why.half, /is there 0 times/);
  assert.strictEqual(why.needy, 'it needs half');
  assert.strictEqual(why.other, 'sim/battle Battle.toString is not as turbo knows it');
  assert.match(why.nowhere, /ENOENT/);
  assert.strictEqual(why.unwanted, 'switched off');
  assert.strictEqual(why.neither, 'switched off');
  assert.strictEqual(refusals.length, 5);
});

test('an edit of a patch that stays off leaves no trace in any text', () => {
  const patches = [
    { name: 'half', edits: { 'sim/side': [{ site: 'class Side {', put: '' }], 'sim/field': [{ site: '?!', put: '' }] } },
  ];
  const installation = new Installation(ROOT, () => patches, { off: new Set(), warn: assert.fail, onLeft: assert.fail });
  assert.match(installation.text('sim/side'), /^class Side \{/m);
});
