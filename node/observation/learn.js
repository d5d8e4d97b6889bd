'use strict';
/**
 * Writes spec.json and tables/ from layout.js and the installed simulator: `node observation/learn.js`.
 *
 * Ids are frozen: what spec.json names already keeps its number, what is new comes after it, and what a newer simulator
 * has forgotten keeps its place. The only file of this folder that knows the simulator.
 */

const fs = require('node:fs');
const path = require('node:path');
const { CLASSES, COLUMNS, ALWAYS, MOVES, OPTIONAL, TEAM, VERSION, blocks } = require('./layout');
const { SPEC, TABLES, fingerprint } = require('./spec');

const GENERATIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const KINDS = /** @type {const} */ (['species', 'moves', 'items', 'abilities']);
const GAMES = { singles: { slots: 1, actions: 26 }, doubles: { slots: 2, actions: 107 } };
const WIDTH = { u8: 1, u16: 2 };

/**
 * @param {any} Dex
 * @param {any} known the tables of the spec as it was
 */
function nameAll(Dex, known) {
  /** @type {Record<string, {names: string[], aliases: Record<string, string>}>} */
  const tables = {};
  for (const kind of KINDS) {
    const names = [...(known?.[kind].names ?? ['unknown', 'none'])];
    const seen = new Set(names);
    for (const entry of Dex[kind].all()) {
      // All kinds of Hidden Power have the same id.
      const name = entry.realMove ? entry.name.toLowerCase().replaceAll(' ', '') : entry.id;
      if (entry.isCosmeticForme || seen.has(name)) continue;
      seen.add(name);
      names.push(name);
    }
    tables[kind] = { names, aliases: kind === 'species' ? cosmeticFormes(Dex) : {} };
  }
  return tables;
}

/** @param {any} Dex */
function cosmeticFormes(Dex) {
  /** @type {Record<string, string>} */
  const aliases = {};
  for (const species of Dex.species.all()) {
    for (const forme of species.cosmeticFormes ?? []) aliases[Dex.species.get(forme).id] = species.id;
  }
  return aliases;
}

/**
 * @param {number} slots
 * @param {number} actions
 */
function layOut(slots, actions) {
  let offset = 0;
  const placed = blocks(slots, actions).map((block) => {
    const at = offset;
    offset += block.entries * block.fields.length * WIDTH[/** @type {'u8' | 'u16'} */ (block.dtype)];
    const { group, name, dtype, entries, fields } = block;
    return { group, name, dtype, offset: at, count: entries, fields };
  });
  const optional = placed.find((block) => OPTIONAL.includes(block.group));
  return { slots, actions, bytes: optional ? optional.offset : offset, bytes_with_all: offset, blocks: placed };
}

/**
 * @param {any} dex of a generation
 * @param {any} tables
 */
function describeAll(dex, tables) {
  const types = CLASSES.types;
  const type = (/** @type {string | undefined} */ name) => (name === undefined ? 1 : Math.max(types.indexOf(name), 0));
  /** @type {Record<string, (name: string) => number[] | null>} */
  const describe = {
    species: (name) => {
      const { exists, baseStats: base, weighthg, types: own } = dex.species.get(name);
      if (!exists) return null;
      return [base.hp, base.atk, base.def, base.spa, base.spd, base.spe, Math.round(weighthg / 10), type(own[0]), type(own[1])];
    },
    moves: (name) => describeMove(dex.moves.get(name), type, dex.gen),
    items: (name) => {
      const item = dex.items.get(name);
      if (!item.exists) return null;
      const flags = [item.isBerry, item.isChoice, item.isGem, item.megaStone, item.zMove].map((is) => (is ? 1 : 0));
      return [...flags, item.fling?.basePower ?? 0];
    },
    abilities: (name) => {
      const ability = dex.abilities.get(name);
      return ability.exists ? [Math.round(ability.rating), ability.flags?.breakable ? 1 : 0] : null;
    },
  };
  const described = KINDS.map((kind) => [kind, tables[kind].names.map(describe[kind])]);
  return { ...Object.fromEntries(described), chart: chartOf(dex) };
}

/**
 * @param {any} move
 * @param {(name: string) => number} type
 * @param {number} generation
 */
function describeMove(move, type, generation) {
  if (!move.exists) return null;
  const { basePower, accuracy, priority, category, heal, drain, boosts, self, secondary, target } = move;
  const raised = { ...(target === 'self' ? boosts : {}), ...self?.boosts, ...move.selfBoost?.boosts };
  const inflicts = move.status || move.volatileStatus ? 100 : (secondary?.status || secondary?.volatileStatus) && secondary.chance;
  return [
    basePower,
    accuracy === true ? 100 : accuracy,
    priority,
    CLASSES.categories.indexOf(category),
    percent(heal) || percent(drain) || (move.flags.heal ? 50 : 0),
    Object.values(raised).reduce((sum, boost) => sum + Number(boost), 0),
    inflicts || 0,
    move.selfSwitch ? 1 : 0,
    type(move.type),
    mostPp(move, generation),
    CLASSES.targets.indexOf(target),
    move.flags.mustpressure ? 1 : 0,
  ];
}

/**
 * As many as a Pokémon has that was given all it can take, as in the simulator.
 * @param {any} move
 * @param {number} generation
 */
function mostPp(move, generation) {
  if (move.noPPBoosts || move.id === 'trumpcard') return move.pp;
  return generation <= 2 && move.pp === 40 ? 61 : Math.floor((move.pp * 8) / 5);
}

/** @param {[number, number] | null | undefined} fraction */
function percent(fraction) {
  return fraction ? Math.round((100 * fraction[0]) / fraction[1]) : 0;
}

/**
 * Twice as much as the effectiveness of each type against each other, so that it is whole; 2 for what there is not.
 * @param {any} dex
 */
function chartOf(dex) {
  const { types } = CLASSES;
  const isType = (/** @type {string} */ name) => dex.types.get(name).exists && name !== 'Stellar';
  return types.map((attack) =>
    types.map((defend) => {
      if (!isType(attack) || !isType(defend)) return 2;
      if (!dex.getImmunity(attack, defend)) return 0;
      return 2 * 2 ** dex.getEffectiveness(attack, defend);
    }),
  );
}

/**
 * @param {any} Dex
 * @param {any} tables
 * @param {number} generation
 * @returns {string} the file of its tables
 */
function tablesOf(Dex, tables, generation) {
  const described = describeAll(Dex.forGen(generation), tables);
  const list = (/** @type {unknown[]} */ rows) => rows.map((row) => JSON.stringify(row)).join(',\n');
  const lines = Object.entries(described).map(([kind, rows]) => `"${kind}":[\n${list(rows)}]`);
  return `{${lines.join(',\n')}}\n`;
}

/**
 * @param {any} tables
 * @param {Record<string, string>} data the fingerprint of each generation's tables
 */
function specOf(tables, data) {
  const groups = [...new Set(blocks(1, 1).map((block) => block.group))];
  const games = Object.entries(GAMES).map(([game, { slots, actions }]) => [game, layOut(slots, actions)]);
  const spec = {
    version: VERSION,
    team: TEAM,
    moves: MOVES,
    groups: { all: groups, always: ALWAYS, optional: OPTIONAL },
    classes: CLASSES,
    layouts: Object.fromEntries(games),
    columns: COLUMNS,
    tables,
    data,
  };
  return { hash: fingerprint(JSON.stringify(spec)), ...spec };
}

function main() {
  const { Dex } = require('pokemon-showdown');
  const known = fs.existsSync(SPEC) ? JSON.parse(fs.readFileSync(SPEC, 'utf8')) : null;
  const tables = nameAll(Dex, known?.tables);
  fs.mkdirSync(TABLES, { recursive: true });
  /** @type {Record<string, string>} */
  const data = {};
  for (const generation of GENERATIONS) {
    const text = tablesOf(Dex, tables, generation);
    fs.writeFileSync(path.join(TABLES, `gen${generation}.json`), text);
    data[`gen${generation}`] = fingerprint(text);
  }
  const spec = specOf(tables, data);
  const members = Object.entries(spec).map(([key, member]) => `"${key}":${pretty(key, member)}`);
  fs.writeFileSync(SPEC, `{${members.join(',\n')}}\n`);
  const { singles, doubles } = spec.layouts;
  console.log(`spec ${spec.hash}: ${singles.bytes} bytes in singles, ${doubles.bytes} in doubles`);
}

/**
 * One line for each block or table, so that a change reads as one.
 * @param {string} key
 * @param {unknown} member
 */
function pretty(key, member) {
  const text = JSON.stringify(member);
  return key === 'layouts' ? text.replaceAll('{"group"', '\n{"group"') : key === 'tables' ? text.replaceAll('},"', '},\n"') : text;
}

module.exports = { nameAll, specOf, tablesOf };

if (require.main === module) main();
