'use strict';
/**
 * What one process found out about a copy of the simulator, for the next one: which patches fit, the edited text of its
 * files, and the code that V8 made of them. One file in the user's cache folder for each combination of versions.
 *
 * It begins with the length and the checksum of an index, which is JSON; then come texts and code. Whatever is wrong
 * with it, the process starts as if it were not there.
 */

const fs = require('node:fs');
const path = require('node:path');
const v8 = require('node:v8');
const zlib = require('node:zlib');

/**
 * @typedef {import('./installation').Judgement} Judgement
 * @typedef {{stamp: string, at: number, text: number, wide: boolean, code: number, checksum: number}} Place
 *   where a file's text and code are, how many bytes they have, and how the file looked when they were taken
 * @typedef {{key: string, judgement: Judgement, stamps: Record<string, string>, paths: Record<string, string>,
 *   places: Record<string, Place>}} Index
 * @typedef {{text: string, code: Buffer | undefined}} Entry
 * @typedef {{place: Place, parts: Buffer[]}} Piece an entry as it is written
 */

const HEADER = 12;
const LAYOUT = 'MPL1';
const SUFFIX = '.bundle';
/** In milliseconds. Nobody needs that long to write a bundle, or uses one that seldom. */
const LONGEST_WRITE = 60e3;
const LONGEST_REST = 30 * 24 * 3600e3;
const NEWS = 24 * 3600e3;
/** Bundles that are kept, of whatever versions. */
const MOST = 8;

/** @type {(data: Buffer) => number} */
const checksum = zlib.crc32 ?? ((data) => require('node:crypto').createHash('sha1').update(data).digest().readUInt32LE());

/**
 * @param {string} file
 * @returns {string} what changes whenever somebody writes to the file, or puts another in its place
 */
function stampOf(file) {
  const found = fs.statSync(file, { throwIfNoEntry: false });
  return found ? `${found.size} ${found.mtimeMs} ${found.ctimeMs} ${found.ino}` : '';
}

/**
 * @param {string} root of the simulator
 * @param {string} version of it
 * @param {Iterable<string>} off patches that are left out
 * @returns {string} what has to be the same for a bundle to be of use
 */
function keyOf(root, version, off) {
  const { version: node, arch, platform } = process;
  const engine = [node, arch, platform, v8.cachedDataVersionTag()];
  // Another copy of turbo, of another age, may edit the same simulator.
  return JSON.stringify([LAYOUT, ...engine, __dirname, root, version, ...[...off].sort()]);
}

/** @param {string} folder @param {string} key */
function fileOf(folder, key) {
  return path.join(folder, `turbo-${checksum(Buffer.from(key)).toString(16).padStart(8, '0')}${SUFFIX}`);
}

/** A bundle that was found and fits. */
class Bundle {
  /**
   * @param {number} descriptor
   * @param {Index} index
   * @param {number} start of what the index points to
   */
  constructor(descriptor, index, start) {
    this.descriptor = descriptor;
    this.index = index;
    this.start = start;
    this.scratch = Buffer.allocUnsafeSlow(1 << 20);
  }

  /**
   * @param {string} folder
   * @param {string} key
   * @param {(message: string) => void} warn
   * @returns {Bundle | null} nothing if there is none that fits
   */
  static open(folder, key, warn) {
    const file = fileOf(folder, key);
    let descriptor = -1;
    try {
      descriptor = fs.openSync(file, 'r');
      const bundle = Bundle.#read(descriptor);
      if (bundle?.index.key === key && isUnchanged(bundle.index.stamps)) {
        keepInUse(file, descriptor);
        return bundle;
      }
      if (!bundle) warn(`turbo's cache ${file} is damaged, and is written anew`);
    } catch (error) {
      const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (!['ENOENT', 'ENOTDIR'].includes(code)) warn(`turbo cannot read its cache: ${error}`);
    }
    if (descriptor >= 0) fs.closeSync(descriptor);
    return null;
  }

  /** @param {number} descriptor @returns {Bundle | null} nothing if it is damaged */
  static #read(descriptor) {
    const header = readInto(Buffer.alloc(HEADER), descriptor, 0);
    if (header?.toString('latin1', 0, 4) !== LAYOUT) return null;
    const length = header.readUInt32LE(4);
    if (length > fs.fstatSync(descriptor).size) return null;
    const text = readInto(Buffer.alloc(length), descriptor, HEADER);
    if (!text || checksum(text) !== header.readUInt32LE(8)) return null;
    return new Bundle(descriptor, JSON.parse(text.toString()), HEADER + length);
  }

  /**
   * @param {string} file such as `sim/battle`
   * @param {string} stamp how it looks now
   * @returns {Entry | null} good until the next one is asked for; nothing if it is not here, or no longer so, or damaged
   */
  entry(file, stamp) {
    const place = this.index.places[file];
    if (place?.stamp !== stamp) return null;
    const length = place.code + place.text;
    // One piece of memory for all of them: fresh memory costs more than what is done with it.
    if (this.scratch.length < length) this.scratch = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.scratch.length));
    const data = this.#data(place, this.scratch.subarray(0, length));
    if (!data) return null;
    return {
      text: data.toString(place.wide ? 'utf16le' : 'latin1', place.code),
      code: place.code ? data.subarray(0, place.code) : undefined,
    };
  }

  /** @returns {Generator<[string, Piece]>} entries by file, as they are in this bundle */
  *pieces() {
    for (const [file, place] of Object.entries(this.index.places)) {
      const data = this.#data(place, Buffer.allocUnsafeSlow(place.code + place.text));
      if (data) yield [file, { place, parts: [data] }];
    }
  }

  close() {
    fs.closeSync(this.descriptor);
  }

  /** @param {Place} place @param {Buffer} into */
  #data(place, into) {
    const data = readInto(into, this.descriptor, this.start + place.at);
    return data && checksum(data) === place.checksum ? data : null;
  }
}

/**
 * @param {Buffer} data to fill
 * @param {number} descriptor
 * @param {number} at
 * @returns {Buffer | null} nothing if the file ends before
 */
function readInto(data, descriptor, at) {
  return fs.readSync(descriptor, data, 0, data.length, at) === data.length ? data : null;
}

/** @param {Record<string, string>} stamps by file name */
function isUnchanged(stamps) {
  for (const file in stamps) if (stampOf(file) !== stamps[file]) return false;
  return true;
}

/** A bundle's age is counted from its last use, to the day. @param {string} file @param {number} descriptor */
function keepInUse(file, descriptor) {
  const now = Date.now();
  if (now - fs.fstatSync(descriptor).mtimeMs < NEWS) return;
  try {
    fs.utimesSync(file, now / 1e3, now / 1e3);
  } catch {
    // It may belong to somebody else.
  }
}

/**
 * @param {string} stamp of the file
 * @param {string} text
 * @param {Buffer | undefined} code
 * @returns {Piece}
 */
function pieceOf(stamp, text, code = Buffer.alloc(0)) {
  const wide = /[^\0-\xff]/.test(text);
  const encoded = Buffer.from(text, wide ? 'utf16le' : 'latin1');
  // Code comes first, where it is aligned as V8 wants it.
  const data = Buffer.concat([code, encoded]);
  const place = { stamp, at: 0, text: encoded.length, wide, code: code.length, checksum: checksum(data) };
  return { place, parts: [data] };
}

/**
 * Writes a bundle beside the one that is there, and then puts it in its place, unless somebody else is about to.
 * @param {string} folder
 * @param {Omit<Index, 'places'>} head
 * @param {Map<string, Piece>} pieces by file
 */
async function write(folder, head, pieces) {
  const file = fileOf(folder, head.key);
  const part = `${file}.part`;
  await fs.promises.mkdir(folder, { recursive: true, mode: 0o700 });
  let handle;
  try {
    handle = await fs.promises.open(part, 'wx', 0o600);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    return;
  }
  try {
    await handle.writev(layOut(head, pieces));
    await handle.close();
    await fs.promises.rename(part, file);
  } catch (error) {
    await handle.close().catch(() => {});
    await fs.promises.rm(part, { force: true });
    throw error;
  }
}

/**
 * @param {Omit<Index, 'places'>} head
 * @param {Map<string, Piece>} pieces
 * @returns {Buffer[]}
 */
function layOut(head, pieces) {
  /** @type {Record<string, Place>} */
  const places = {};
  const body = [];
  let at = 0;
  for (const [file, { place, parts }] of pieces) {
    places[file] = { ...place, at };
    at += place.text + place.code;
    body.push(...parts);
  }
  const index = Buffer.from(JSON.stringify({ ...head, places }));
  const header = Buffer.alloc(HEADER);
  header.write(LAYOUT, 'latin1');
  header.writeUInt32LE(index.length, 4);
  header.writeUInt32LE(checksum(index), 8);
  return [header, index, ...body];
}

/**
 * Removes what nobody has used for long, what is too much, and what somebody began to write and never finished.
 * @param {string} folder
 */
async function prune(folder) {
  const now = Date.now();
  const found = [];
  for (const name of await fs.promises.readdir(folder)) {
    if (!/^turbo-[0-9a-f]+\.bundle(\.part)?$/.test(name)) continue;
    const file = path.join(folder, name);
    const { mtimeMs } = fs.statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: now };
    found.push({ file, age: now - mtimeMs, isPart: !name.endsWith(SUFFIX) });
  }
  const bundles = found.filter(({ isPart }) => !isPart).sort((one, other) => one.age - other.age);
  const old = bundles.filter(({ age }, index) => index >= MOST || age > LONGEST_REST);
  const unfinished = found.filter(({ age, isPart }) => isPart && age > LONGEST_WRITE);
  for (const { file } of [...old, ...unfinished]) await fs.promises.rm(file, { force: true });
}

module.exports = { Bundle, keyOf, pieceOf, prune, stampOf, write };
