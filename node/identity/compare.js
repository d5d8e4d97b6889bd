'use strict';
/** Finds where two records of the same battle part, and says so in words. */

const { ASPECTS } = require('./record');

/**
 * @typedef {import('./child').Answer} Answer
 * @typedef {import('./record').Aspect} Aspect
 */

const WIDTH = 160;
const BEFORE = 3;
const MOST_ASPECTS = 4;
/** What says most to who reads it comes first. @type {Aspect[]} */
const TELLING = ['error', 'teams', 'problems', 'log', 'requests', 'states', 'choices', 'sent', 'frames', 'input log'];

/**
 * @param {Answer | string} vanilla an answer, or why there is none
 * @param {Answer | string} turbo
 * @returns {string[]} the aspects in which they differ
 */
function differences(vanilla, turbo) {
  if (typeof vanilla === 'string' || typeof turbo === 'string') {
    return typeof vanilla === typeof turbo ? [] : ['answer'];
  }
  return ASPECTS.filter((aspect) => vanilla.digests[aspect] !== turbo.digests[aspect]);
}

/**
 * @param {Answer | string} vanilla with all lines
 * @param {Answer | string} turbo
 * @returns {string} where they part
 */
function explain(vanilla, turbo) {
  if (typeof vanilla === 'string' || typeof turbo === 'string') {
    const said = [vanilla, turbo].map((answer) => (typeof answer === 'string' ? answer : `it plays ${answer.turns} turns`));
    return `  vanilla: ${said[0]}\n  turbo:   ${said[1]}`;
  }
  const aspects = /** @type {Aspect[]} */ (differences(vanilla, turbo));
  const order = [...TELLING.filter((aspect) => aspects.includes(aspect)), ...aspects];
  const shown = [...new Set(order)].slice(0, MOST_ASPECTS);
  const parts = shown.map((aspect) => explainAspect(aspect, vanilla.lines?.[aspect] ?? [], turbo.lines?.[aspect] ?? []));
  const rest = aspects.filter((aspect) => !shown.includes(aspect));
  return [...parts, ...(rest.length ? [`  and: ${rest.join(', ')}`] : [])].join('\n');
}

/**
 * @param {Aspect} aspect
 * @param {string[]} vanilla
 * @param {string[]} turbo
 */
function explainAspect(aspect, vanilla, turbo) {
  const count = Math.max(vanilla.length, turbo.length);
  let index = 0;
  while (index < count && vanilla[index] === turbo[index]) index++;
  const before = vanilla.slice(Math.max(0, index - BEFORE), index).map((line) => `           ${shortened(line)}`);
  const [one, other] = [vanilla[index], turbo[index]];
  const where = placeInJson(one, other);
  return [
    `  ${aspect}, line ${index + 1} of ${count}${where ? `, at ${where}` : ''}:`,
    ...before,
    `  vanilla: ${excerpt(one, other)}`,
    `  turbo:   ${excerpt(other, one)}`,
  ].join('\n');
}

/** @param {string} line */
function shortened(line) {
  const text = line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line;
  return text.replaceAll('\n', '⏎');
}

/**
 * @param {string | undefined} line
 * @param {string | undefined} other
 * @returns {string} the line around the place where it parts from the other
 */
function excerpt(line, other) {
  if (line === undefined) return '(nothing)';
  let index = 0;
  while (index < line.length && line[index] === other?.[index]) index++;
  const from = line.length > WIDTH ? Math.max(0, index - WIDTH / 2) : 0;
  return `${from ? '…' : ''}${shortened(line.slice(from))}`;
}

/**
 * @param {string | undefined} one
 * @param {string | undefined} other
 * @returns {string} which member differs, where both lines hold JSON
 */
function placeInJson(one, other) {
  const [first, second] = [parsed(one), parsed(other)];
  if (!first || !second) return '';
  const path = [];
  let [a, b] = [first, second];
  while (isObject(a) && isObject(b)) {
    const [keys, others] = [Object.keys(a), Object.keys(b)];
    const key = keys.find((name, index) => others[index] !== name || JSON.stringify(a[name]) !== JSON.stringify(b[name]));
    if (key === undefined) return `${path.join('.')} (more keys in turbo: ${others.slice(keys.length).join(', ')})`;
    path.push(key);
    if (!(key in b) || others[keys.indexOf(key)] !== key) return `${path.join('.')} (keys or their order)`;
    [a, b] = [a[key], b[key]];
  }
  return path.join('.');
}

/** @param {any} value */
function isObject(value) {
  return typeof value === 'object' && value !== null;
}

/** @param {string | undefined} line */
function parsed(line) {
  const start = line?.search(/[{[]/) ?? -1;
  if (line === undefined || start < 0) return null;
  try {
    return JSON.parse(line.slice(start));
  } catch {
    return null;
  }
}

module.exports = { differences, explain };
