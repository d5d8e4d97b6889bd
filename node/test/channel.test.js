'use strict';
/** Splitting a stream into lines. The channel as a whole is tested with the controller. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { LineSplitter, wellFormed } = require('../lib/channel');
const { RandomPolicy } = require('../lib/random-policy');

/**
 * @param {LineSplitter} splitter
 * @param {string | Buffer} data
 * @param {() => number} size of the next chunk
 */
function feed(splitter, data, size) {
  const bytes = Buffer.from(data);
  const lines = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + size();
    lines.push(...splitter.push(bytes.subarray(start, end)));
    start = end;
  }
  return lines.map((line) => line && line.toString());
}

/** @param {number} seed */
function dice(seed) {
  const policy = new RandomPolicy(seed);
  const request = { forceSwitch: [true], side: { pokemon: new Array(64).fill({ active: false, condition: '1/1' }) } };
  return () => Number(policy.choose(request).slice('switch '.length));
}

test('however a stream is cut, its lines are the same', () => {
  const lines = ['', 'a', '{"id":1}', 'é🐉'.repeat(50), '', '\r\u2028', 'x'.repeat(999), 'end'];
  for (let seed = 1; seed <= 100; seed++) {
    assert.deepEqual(feed(new LineSplitter(1000), lines.join('\n') + '\n', dice(seed)), lines);
  }
  assert.deepEqual(feed(new LineSplitter(1000), lines.join('\n') + '\n', () => 1), lines);
  assert.deepEqual(feed(new LineSplitter(1000), lines.join('\n') + '\n', () => 1e6), lines);
});

test('a line without its newline is not a line yet', () => {
  const splitter = new LineSplitter(100);
  assert.deepEqual(splitter.push(Buffer.from('half')), []);
  assert.deepEqual(splitter.push(Buffer.from(' a line')), []);
  assert.deepEqual(splitter.push(Buffer.from('\n')).map(String), ['half a line']);
});

test('a line of exactly the maximum is taken, and one byte more is not', () => {
  for (const size of [1, 3, 100]) {
    const lines = feed(new LineSplitter(10), `${'a'.repeat(10)}\n${'b'.repeat(11)}\n${'c'.repeat(10)}\n`, () => size);
    assert.deepEqual(lines, ['a'.repeat(10), null, 'c'.repeat(10)]);
  }
});

test('the maximum counts bytes, not characters', () => {
  assert.deepEqual(feed(new LineSplitter(10), `${'é'.repeat(5)}\n${'é'.repeat(6)}\n`, () => 4), ['é'.repeat(5), null]);
});

test('a line that is too long is reported once, whatever its length, and the stream goes on', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const stream = `before\n${'x'.repeat(5000)}\nafter\n\n${'y'.repeat(17)}\nlast\n`;
    const lines = feed(new LineSplitter(16), stream, dice(seed));
    assert.deepEqual(lines, ['before', null, 'after', '', null, 'last']);
  }
});

test('a line that is too long is not kept', () => {
  const splitter = new LineSplitter(1000);
  const chunk = Buffer.alloc(100_000, 'x');
  for (let n = 0; n < 1000; n++) assert.deepEqual(splitter.push(chunk), []);
  assert.deepEqual(splitter.parts, []);
  assert.deepEqual(splitter.push(Buffer.from('\nnext\n')).map(String), ['null', 'next']);
});

test('of several frames those without such an escape are left as they are', () => {
  const whole = ['{"a": "\\\\ud83d", "spaces":  1}', '{"a":"\\ud83d\\ude00"}', '{"a":"Flabébé"}'];
  const broken = '{"id":1,"b":["\\ud83d"]}';
  assert.equal(wellFormed(`${broken}\n`), '{"id":1,"b":["\ufffd"]}\n');
  const [first, second, third] = whole;
  const lines = wellFormed(`${first}\n${broken}\n${second}\n${third}\n`).split('\n');
  assert.deepEqual(lines.map((line) => line && JSON.parse(line)), [
    { a: '\\ud83d', spaces: 1 },
    { id: 1, b: ['\ufffd'] },
    { a: '\u{1f600}' },
    { a: 'Flabébé' },
    '',
  ]);
  assert.equal(lines[3], third);
});
