'use strict';
/** The cache of turbo: what the next process finds in it, and that nothing which is wrong with it does any harm. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { after, before, describe, test } = require('node:test');
const { Bundle, keyOf, pieceOf, prune, stampOf, write } = require('../turbo/bundle');
const { OLD } = require('./battles');
const { Child, PATIENCE, open } = require('./child');

const DAY = 24 * 3600e3;
const JUDGEMENT = { outcomes: [], edited: [] };

/** @param {import('node:test').TestContext} t */
function newFolder(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cache-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

/** @param {string} folder */
function bundles(folder) {
  return fs.readdirSync(folder).sort();
}

/** @param {string} message */
function fail(message) {
  assert.fail(`nobody should hear of this: ${message}`);
}

/**
 * @param {string} folder
 * @param {Record<string, string>} texts by file
 * @param {{key?: string, stamps?: Record<string, string>}} [options]
 */
async function bundle(folder, texts, { key = 'key', stamps = {} } = {}) {
  const pieces = new Map(Object.entries(texts).map(([file, text]) => [file, pieceOf('stamp', text, Buffer.from(file))]));
  await write(folder, { key, judgement: JUDGEMENT, stamps, paths: {} }, pieces);
  return path.join(folder, bundles(folder)[0]);
}

test('a bundle gives back what was written into it', async (t) => {
  const folder = newFolder(t);
  const texts = { 'sim/battle': 'let é = 1;', 'data/moves': 'let name = "Farfetch’d ♂";', empty: '' };
  await bundle(folder, texts);
  const found = /** @type {Bundle} */ (Bundle.open(folder, 'key', fail));
  t.after(() => found.close());
  for (const [file, text] of Object.entries(texts)) {
    const entry = found.entry(file, 'stamp');
    assert.deepEqual([entry?.text, String(entry?.code)], [text, file]);
    assert.equal(found.entry(file, 'another stamp'), null);
  }
  assert.equal(found.entry('sim/side', 'stamp'), null);
  assert.equal([...found.pieces()].length, 3);
});

test('a bundle is for one key, and for files as they are', async (t) => {
  const [folder, file] = [newFolder(t), path.join(newFolder(t), 'file')];
  fs.writeFileSync(file, 'text');
  await bundle(folder, { a: 'a' }, { stamps: { [file]: stampOf(file) } });
  assert.equal(Bundle.open(folder, 'another key', fail), null);
  const fits = Bundle.open(folder, 'key', fail);
  assert.ok(fits);
  fits.close();
  fs.writeFileSync(file, 'TEXT');
  assert.equal(Bundle.open(folder, 'key', fail), null);
  fs.rmSync(file);
  assert.equal(Bundle.open(folder, 'key', fail), null);
});

test('keys differ by folder, by version, and by the patches that are left out', () => {
  const keys = [keyOf('/a', '1', []), keyOf('/b', '1', []), keyOf('/a', '2', []), keyOf('/a', '1', ['traits'])];
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(keyOf('/a', '1', ['x', 'y']), keyOf('/a', '1', ['y', 'x']));
});

test('keys differ by the copy of turbo that asks, since two of them may share a simulator', (t) => {
  const copy = path.join(newFolder(t), 'bundle.js');
  fs.copyFileSync(path.join(__dirname, '..', 'turbo', 'bundle.js'), copy);
  assert.notEqual(require(copy).keyOf('/a', '1', []), keyOf('/a', '1', []));
});

test('a damaged bundle is no bundle, and a damaged entry no entry, wherever the damage is', async (t) => {
  const folder = newFolder(t);
  const file = await bundle(folder, { a: 'the text of a', b: 'the text of b' });
  const whole = fs.readFileSync(file);
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole);
    damaged[at] ^= 4;
    fs.writeFileSync(file, damaged);
    const found = Bundle.open(folder, 'key', () => {});
    const entries = ['a', 'b'].map((name) => found?.entry(name, 'stamp')?.text ?? null);
    assert.notDeepEqual(entries, ['the text of a', 'the text of b']);
    for (const text of entries) assert.ok(text === null || text.startsWith('the text of '));
    found?.close();
  }
  for (const length of [0, 1, 4, 12, 20, whole.length - 1]) {
    fs.writeFileSync(file, whole.subarray(0, length));
    const found = Bundle.open(folder, 'key', () => {});
    assert.equal(found?.entry('b', 'stamp') ?? null, null);
    found?.close();
  }
});

test('who finds a bundle being written leaves it at that', async (t) => {
  const folder = newFolder(t);
  await bundle(folder, { a: 'a' });
  const [name] = bundles(folder);
  fs.renameSync(path.join(folder, name), path.join(folder, `${name}.part`));
  await bundle(folder, { a: 'a' });
  assert.deepEqual(bundles(folder), [`${name}.part`]);
});

test('bundles that are too many or too old go, and so does what was never finished', async (t) => {
  const folder = newFolder(t);
  /** @param {string} name @param {number} age in milliseconds */
  const put = (name, age) => {
    fs.writeFileSync(path.join(folder, name), '');
    const then = (Date.now() - age) / 1e3;
    fs.utimesSync(path.join(folder, name), then, then);
  };
  for (let n = 0; n < 12; n++) put(`turbo-0000000${n.toString(16)}.bundle`, n * DAY);
  put('turbo-0000000e.bundle.part', DAY);
  put('turbo-0000000f.bundle.part', 0);
  put('somebody-elses.txt', 1000 * DAY);
  await prune(folder);
  const kept = Array.from({ length: 8 }, (_, n) => `turbo-0000000${n}.bundle`);
  assert.deepEqual(bundles(folder), ['somebody-elses.txt', ...kept, 'turbo-0000000f.bundle.part']);
  put('turbo-00000003.bundle', 40 * DAY);
  await prune(folder);
  assert.equal(bundles(folder).includes('turbo-00000003.bundle'), false);
});

describe('controllers with turbo and a cache', { timeout: 3 * PATIENCE }, () => {
  /** @type {string} */
  let folder;
  /** @type {any} */
  let vanilla;
  /** @type {Buffer} */
  let whole;

  /** @param {string} cache */
  const turbo = (cache) => new Child(['--turbo', `--cache=${cache}`]);

  /**
   * Plays until a bundle is there that was not there before.
   * @param {Child} child
   * @param {string} cache
   */
  async function fill(child, cache) {
    const finished = () => {
      const names = bundles(cache).filter((name) => name.endsWith('.bundle'));
      return names.map((name) => stampOf(path.join(cache, name))).join();
    };
    const before = finished();
    await child.ask({ id: 1, op: 'warm', format: OLD.format, battles: 11 });
    while (finished() === before) await sleep(20);
  }

  /** @param {Child} child @returns {Promise<any>} what it says when a battle begins, without the time */
  async function begin(child) {
    const { t: _, ...frame } = await child.ask(open('a', 7));
    return JSON.parse(JSON.stringify(frame).replace(/\|t:\|\d+/g, '|t:|'));
  }

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cache-'));
    const [plain, child] = [new Child(), turbo(folder)];
    try {
      await Promise.all([plain.next(), child.next()]);
      vanilla = await begin(plain);
      assert.deepEqual(await begin(child), vanilla);
      await fill(child, folder);
      assert.deepEqual(child.warnings, []);
    } finally {
      await Promise.all([plain.remove(), child.remove()]);
    }
    assert.equal(bundles(folder).length, 1);
    whole = fs.readFileSync(path.join(folder, bundles(folder)[0]));
  }, { timeout: PATIENCE });
  after(() => fs.rmSync(folder, { recursive: true }));

  /**
   * A controller that starts with a bundle of these bytes.
   * @param {import('node:test').TestContext} t
   * @param {Buffer} bytes
   */
  async function startWith(t, bytes) {
    const cache = newFolder(t);
    const file = path.join(cache, bundles(folder)[0]);
    fs.writeFileSync(file, bytes);
    const child = turbo(cache);
    t.after(() => child.remove());
    const { hello } = await child.next();
    assert.deepEqual([hello.turbo, hello.left], [true, []]);
    assert.deepEqual(await begin(child), vanilla);
    return { child, cache, file };
  }

  test('the next one starts with what the first one left, and has nothing to add', async (t) => {
    const { child, cache, file } = await startWith(t, whole);
    const before = stampOf(file);
    await child.ask({ id: 1, op: 'warm', format: OLD.format, battles: 12 });
    for (let done = 0; done < 12; await sleep(50)) [done] = (await child.ask({ id: 2, op: 'ping' })).warm;
    await sleep(100);
    assert.equal(stampOf(file), before);
    assert.equal(bundles(cache).length, 1);
    assert.deepEqual(child.warnings, []);
  });

  const damages = /** @type {[string, (bytes: Buffer) => Buffer, RegExp][]} */ ([
    ['cut off in the middle', (bytes) => bytes.subarray(0, bytes.length / 2), /^$/],
    ['empty', () => Buffer.alloc(0), /^turbo's cache .* is damaged, and is written anew$/],
    ['of nonsense', (bytes) => Buffer.alloc(bytes.length, 'nonsense'), /^turbo's cache .* is damaged, and is written anew$/],
    ['changed all over', (bytes) => Buffer.from(bytes).fill(0x20, bytes.length >> 2), /^$/],
  ]);
  for (const [name, damage, said] of damages) {
    test(`a cache that is ${name} does no harm, and is written anew`, async (t) => {
      const { child, cache, file } = await startWith(t, damage(whole));
      await fill(child, cache);
      assert.match(child.warnings.join(), said);
      assert.deepEqual(bundles(cache), [path.basename(file)]);
      const next = await startWith(t, fs.readFileSync(file));
      assert.deepEqual(next.child.warnings, []);
    });
  }

  test('many may start at once', async (t) => {
    const cache = newFolder(t);
    const children = [turbo(cache), turbo(cache), turbo(cache)];
    t.after(() => Promise.all(children.map((child) => child.remove())));
    await Promise.all(children.map(async (child) => {
      await child.next();
      await child.ask({ id: 1, op: 'warm', format: OLD.format, battles: 11 });
      for (let done = 0; done < 11; await sleep(50)) [done] = (await child.ask({ id: 2, op: 'ping' })).warm;
    }));
    // Writing begins after the answer that tells of the last battle.
    while (bundles(cache).join() !== bundles(folder).join()) await sleep(20);
    assert.deepEqual(children.flatMap((child) => child.warnings), []);
    await startWith(t, fs.readFileSync(path.join(cache, bundles(cache)[0])));
  });

  test('a folder that cannot be is mentioned once', async (t) => {
    const file = path.join(newFolder(t), 'file');
    fs.writeFileSync(file, '');
    const child = turbo(path.join(file, 'cache'));
    t.after(() => child.remove());
    await child.next();
    assert.deepEqual(await begin(child), vanilla);
    await child.ask({ id: 1, op: 'warm', format: OLD.format, battles: 12 });
    for (; !child.warnings.length; await sleep(50)) await child.ask({ id: 2, op: 'ping' });
    for (let done = 0; done < 12; await sleep(50)) [done] = (await child.ask({ id: 2, op: 'ping' })).warm;
    await child.ask({ id: 3, op: 'ping' });
    assert.equal(child.warnings.length, 1);
    assert.match(child.warnings[0], /^turbo cannot write its cache: /);
  });

  test('a cache is left alone by who runs without turbo', async (t) => {
    const cache = newFolder(t);
    const child = new Child([`--cache=${cache}`]);
    t.after(() => child.remove());
    assert.equal((await child.next()).hello.turbo, false);
    assert.deepEqual(await begin(child), vanilla);
    assert.deepEqual(bundles(cache), []);
  });
});
