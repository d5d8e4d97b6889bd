'use strict';
/** The teams of a battle: drawn by the simulator, put together at random from everything there is, or given. */

const { given } = require('./given');
const { deal, Random } = require('./random');

/**
 * @typedef {import('./games').Simulator} Simulator
 * @typedef {import('./play').Spec} Spec
 * @typedef {import('./record').BattleRecord} BattleRecord
 * @typedef {{species: any[], abilities: any[], items: any[], moves: any[]}} Lists
 */

const SIZE = 6;
const MOVES = 4;
const THIEVERY = ['knockoff', 'trick', 'thief', 'switcheroo', 'covet', 'bestow', 'fling'];
const STATS = ['hp', 'atk', 'def', 'spa', 'spd', 'spe'];

/**
 * @param {Simulator} simulator
 * @param {Spec} spec
 * @param {any} format
 * @param {BattleRecord} record for the problems that the validator has with them
 * @returns {string[] | null} packed, one for each side; or nothing where the simulator is to draw them
 */
function drawTeams(simulator, spec, format, record) {
  if (spec.teams === 'generated') return null;
  const { Dex, Teams } = simulator;
  const dex = Dex.forFormat(format);
  const packed = [];
  for (let side = 0; side < format.playerCount; side++) {
    const number = spec.seed * format.playerCount + side;
    const team = teamOf(spec.teams, dex, format, number);
    packed.push(Teams.pack(/** @type {any} */ (team)));
    record.add('problems', ...problems(simulator, format, packed[side]));
  }
  return packed;
}

/**
 * @param {Simulator} simulator
 * @param {any} format
 * @param {string} packed
 * @returns {string[]} what the validator says of the team, and what it makes of it
 */
function problems({ Teams, TeamValidator }, format, packed) {
  const team = Teams.unpack(packed);
  try {
    return [...(TeamValidator.get(format).validateTeam(team) ?? []), Teams.pack(team)];
  } catch (error) {
    return [String(error)];
  }
}

/**
 * @param {string} kind
 * @param {any} dex
 * @param {any} format
 * @param {number} number
 * @returns {any[]}
 */
function teamOf(kind, dex, format, number) {
  switch (kind) {
    case 'scrambled':
      return scrambled(dex, `${format.id} `, number, everything(dex));
    case 'plundered':
      return plundered(dex, `${format.id} plundered `, number);
    default:
      return given(kind, dex, number);
  }
}

/** @type {WeakMap<object, Lists>} */
const known = new WeakMap();

/** @param {any} dex */
function everything(dex) {
  let lists = known.get(dex);
  if (!lists) {
    const there = (/** @type {any} */ thing) => thing.exists && thing.gen <= dex.gen && thing.isNonstandard !== 'Future';
    lists = {
      species: dex.species.all().filter(there),
      abilities: dex.abilities.all().filter(there),
      items: dex.items.all().filter(there),
      moves: dex.moves.all().filter(there),
    };
    known.set(dex, lists);
  }
  return lists;
}

/**
 * Items that know who may take them, often with whom they belong to, among thieves.
 * @param {any} dex
 * @param {string} name
 * @param {number} number
 */
function plundered(dex, name, number) {
  const lists = everything(dex);
  const items = lists.items.filter((item) => item.onTakeItem);
  const team = scrambled(dex, name, number, { ...lists, items });
  const random = new Random(`${name}${number}`);
  return team.map((set) => {
    const users = dex.items.get(set.item).itemUser ?? [];
    const species = users.length && random.chance(0.5) ? random.pick(users) : set.species;
    return { ...set, species, moves: [...random.shuffled(THIEVERY).slice(0, 3), set.moves[0]] };
  });
}

/**
 * Any species with any ability, item and moves of the generation. Teams 0, 1, 2… together have all there is.
 * @param {any} dex
 * @param {string} name of the decks
 * @param {number} number
 * @param {Lists} lists of all there is
 */
function scrambled(dex, name, number, lists) {
  const species = deal(lists.species, `${name}species`, number, SIZE);
  const abilities = lists.abilities.length ? deal(lists.abilities, `${name}abilities`, number, SIZE) : [];
  const items = lists.items.length ? deal(lists.items, `${name}items`, number, SIZE) : [];
  const moves = deal(lists.moves, `${name}moves`, number, SIZE * MOVES);
  const random = new Random(`${name}team ${number}`);
  const size = random.pick([3, 4, SIZE, SIZE]);
  return species.slice(0, size).map((kind, index) => ({
    name: '',
    species: kind.name,
    ability: random.chance(0.4) ? random.pick(Object.values(kind.abilities)) : (abilities[index]?.name ?? ''),
    item: random.chance(0.5) && kind.requiredItems ? random.pick(kind.requiredItems) : (items[index]?.name ?? ''),
    moves: moves.slice(index * MOVES, (index + 1) * MOVES).map((move) => move.id),
    nature: random.pick(['Hardy', 'Adamant', 'Timid', 'Bold', 'Careful']),
    gender: random.pick(['', '', 'M', 'F', 'N']),
    evs: spread(random, [0, 84, 252]),
    ivs: spread(random, [31, 31, 31, 0, 30]),
    level: random.pick([100, 100, 100, 50, 88, 1 + random.below(100)]),
    shiny: random.chance(0.1),
    happiness: random.pick([255, 255, 0, 120]),
    teraType: random.pick(dex.types.names()),
    gigantamax: random.chance(0.5),
    dynamaxLevel: random.below(11),
  }));
}

/**
 * @param {Random} random
 * @param {number[]} values
 */
function spread(random, values) {
  return Object.fromEntries(STATS.map((stat) => [stat, random.pick(values)]));
}

module.exports = { drawTeams };
