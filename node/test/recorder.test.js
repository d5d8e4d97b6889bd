'use strict';
/** The flight recorder: what a file says of the process that wrote it. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { FlightRecorder } = require('../lib/recorder');

test('the file holds the command in hand, in eight bytes', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'recorder-'));
  const file = path.join(folder, 'recorder');
  const descriptor = fs.openSync(file, 'w+');
  t.after(() => {
    fs.closeSync(descriptor);
    fs.rmSync(folder, { recursive: true });
  });
  const noted = () => {
    const bytes = fs.readFileSync(file);
    assert.equal(bytes.length, 8);
    return bytes.readDoubleLE();
  };

  const recorder = new FlightRecorder(descriptor);
  assert.equal(noted(), 0);
  for (const command of [1, 2, 255, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
    recorder.begin(command);
    assert.equal(noted(), command);
  }
  recorder.idle();
  assert.equal(noted(), 0);
});
