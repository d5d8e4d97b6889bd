'use strict';
/**
 * Makes observations of recorded battles again, in a process that cannot load the simulator: reads, as JSON, what was
 * said in each of them, and writes the observations that follow from it.
 *
 * Nothing is loaded that is not Node's own, of node/observation, or, for full damage, @smogon/calc.
 */

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

/**
 * @typedef {'p1' | 'p2'} SideId
 * @typedef {{lines: string[], requests: Partial<Record<SideId, string>>, encode: SideId[]}} Frame lines that everybody
 *   sees, requests that sides are sent after them, and who observes then
 * @typedef {{wishes: Record<SideId, string[] | null>, frames: Frame[]}} Battle
 */

const OBSERVATION = path.join(__dirname, '..', 'observation') + path.sep;
/** It knows the simulator, and is no part of what runs. */
const LEARNER = path.join(OBSERVATION, 'learn.js');
const CALCULATOR = `${path.sep}node_modules${path.sep}@smogon${path.sep}calc${path.sep}`;

const modules = /** @type {any} */ (Module);
const find = modules._resolveFilename;
modules._resolveFilename = (/** @type {string} */ name, /** @type {unknown[]} */ ...rest) => {
  const file = find(name, ...rest);
  const isOurs = file.startsWith(OBSERVATION) && file !== LEARNER;
  if (isOurs || Module.isBuiltin(file) || file.includes(CALCULATOR)) return file;
  throw new Error(`${name} is not for observations: ${file}`);
};

/**
 * @param {Battle} battle
 * @returns {string[]} the observations, as base64, in the order in which they are asked for
 */
function replay({ wishes, frames }) {
  const { Observer } = require('../observation/observer');
  const observer = new Observer(wishes);
  /** @type {string[]} */
  const observations = [];
  for (const { lines, requests, encode } of frames) {
    observer.hear(lines);
    for (const [side, request] of Object.entries(requests)) observer.ask(/** @type {SideId} */ (side), JSON.parse(request));
    for (const side of encode) observations.push(observer.encode(side));
  }
  return observations;
}

function main() {
  const forbidden = process.argv[2];
  if (forbidden) require(forbidden);
  /** @type {Battle[]} */
  const battles = JSON.parse(fs.readFileSync(0, 'utf8'));
  const written = JSON.stringify(battles.map(replay));
  // All of it, however small the pipe is.
  for (let at = 0; at < written.length; ) at += fs.writeSync(1, written.slice(at, at + 65_536));
}

main();
