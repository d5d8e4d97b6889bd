'use strict';
/** Reads spec.json, which says what an observation is, and the tables of a generation. Knows no simulator. */

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const SPEC = path.join(__dirname, 'spec.json');
const TABLES = path.join(__dirname, 'tables');

/**
 * @typedef {{name: string, table?: string, divisor?: number, offset?: number, classes?: string, ids?: boolean}} Field
 * @typedef {{group: string, name: string, dtype: 'u8' | 'u16', offset: number, count: number, fields: Field[]}} Block
 * @typedef {{slots: number, actions: number, bytes: number, bytes_with_all: number, blocks: Block[]}} Layout
 * @typedef {'species' | 'moves' | 'items' | 'abilities'} TableName
 * @typedef {{hash: string, version: number, team: number, moves: number,
 *   groups: {all: string[], always: string[], optional: string[]}, classes: Record<string, string[]>,
 *   layouts: Record<'singles' | 'doubles', Layout>,
 *   tables: Record<TableName, {names: string[], aliases: Record<string, string>}>, data: Record<string, string>}} Spec
 * @typedef {Record<TableName, (number[] | null)[]> & {chart: number[][]}} Tables what is known of each id in a generation
 */

/** @param {string} text */
function fingerprint(text) {
  return crypto.createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** @returns {Spec} */
function readSpec() {
  const { hash, ...spec } = JSON.parse(fs.readFileSync(SPEC, 'utf8'));
  const actual = fingerprint(JSON.stringify(spec));
  if (actual !== hash) throw new Error(`${path.basename(SPEC)} was changed by hand: its hash is ${actual}, not ${hash}`);
  return { hash, ...spec };
}

/** Tables by their fingerprint: each is read once, however many battles there are. @type {Map<string, Tables>} */
const read = new Map();

/**
 * @param {Spec} spec
 * @param {number} generation
 * @returns {Tables}
 */
function readTables(spec, generation) {
  const name = `gen${generation}`;
  let tables = read.get(spec.data[name]);
  if (!tables) read.set(spec.data[name], (tables = parseTables(spec, name)));
  return tables;
}

/**
 * @param {Spec} spec
 * @param {string} name
 * @returns {Tables}
 */
function parseTables(spec, name) {
  const text = fs.readFileSync(path.join(TABLES, `${name}.json`), 'utf8');
  if (fingerprint(text) !== spec.data[name]) throw new Error(`the tables of ${name} are not those that ${path.basename(SPEC)} names`);
  return JSON.parse(text);
}

/**
 * @param {Layout} layout
 * @param {string} group
 * @param {string} name
 * @returns {Block}
 */
function blockOf(layout, group, name) {
  const block = layout.blocks.find((one) => one.group === group && one.name === name);
  if (!block) throw new Error(`the spec has no block ${group}.${name}`);
  return block;
}

module.exports = { SPEC, TABLES, blockOf, fingerprint, readSpec, readTables };
