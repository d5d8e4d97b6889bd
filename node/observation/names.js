'use strict';
/** What the words of the protocol stand for: ids of tables and numbers of classes. Each word is looked up once. */

const { blockOf } = require('./spec');

/**
 * @typedef {import('./spec').Spec} Spec
 * @typedef {import('./spec').TableName} TableName
 */

/** Conditions that the log calls by other names than the spec does. @type {Record<string, string>} */
const OTHER_NAMES = {
  bandedtogether: 'helpinghand',
  detect: 'protect',
  dragoncheer: 'focusenergy',
  maxguard: 'protect',
  powder: 'powdered',
  ragepowder: 'followme',
  snow: 'snowscape',
  snowscape: 'snowscape',
  spotlight: 'followme',
};
const PARTIAL_TRAPS = [
  'bind', 'clamp', 'firespin', 'gmaxcentiferno', 'gmaxsandblast', 'infestation', 'magmastorm', 'sandtomb', 'snaptrap',
  'thundercage', 'whirlpool', 'wrap',
];
/** Conditions that the log numbers, or follows by a stat. */
const NUMBERED = ['fallen', 'perish', 'stockpile', 'protosynthesis', 'quarkdrive'];
const STALLS = ['banefulbunker', 'endure', 'maxguard', 'protect', 'quickguard', 'wideguard'];

/** @type {[string, number][]} */
const LASTING = [['outrage', 3], ['petaldance', 3], ['rollout', 5], ['thrash', 3]];

/** @param {string} name */
function toId(name) {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** What an effect is, by whatever the log may mean by it; -1, or 0 for an id, where it is no such thing. */
class Effect {
  /**
   * @param {string} text such as `ability: Rough Skin`, `move: Taunt`, `Substitute` or `perish3`
   * @param {Names} names
   */
  constructor(text, names) {
    const { spec, lists } = names;
    const colon = text.indexOf(': ');
    const prefix = colon < 0 ? '' : text.slice(0, colon);
    /** @type {'' | 'ability' | 'item' | 'move'} */
    this.kind = prefix === 'ability' || prefix === 'item' || prefix === 'move' ? prefix : '';
    this.id = toId(this.kind ? text.slice(colon + 2) : text);
    this.ability = this.kind === 'ability' ? names.find('abilities', this.id) : 0;
    this.item = this.kind === 'item' ? names.find('items', this.id) : 0;
    this.move = this.kind === 'move' || !this.kind ? names.find('moves', this.id) : 0;
    const known = OTHER_NAMES[this.id] ?? this.id;
    const numbered = NUMBERED.find((name) => this.id.startsWith(name) && this.id !== name);
    /** How many, where the log says so. */
    this.count = numbered ? Number(this.id.slice(numbered.length)) || 0 : 0;
    this.isPerish = numbered === 'perish';
    this.isStockpile = this.id.startsWith('stockpile');
    this.isPartialTrap = PARTIAL_TRAPS.includes(this.id);
    this.isStall = STALLS.includes(this.id);
    const simple = this.isPerish || !numbered ? known : numbered === 'fallen' ? 'supremeoverlord' : numbered;
    this.volatile = lists.volatiles.indexOf(this.isPartialTrap ? 'partiallytrapped' : simple);
    this.hazard = lists.hazards.indexOf(known);
    this.screen = lists.screens.indexOf(known);
    this.field = lists.fields.indexOf(known);
    this.weather = spec.classes.weathers.indexOf(known);
    this.terrain = spec.classes.terrains.indexOf(known);
  }
}

class Names {
  /** @param {Spec} spec */
  constructor(spec) {
    this.spec = spec;
    this.lists = listsOf(spec);
    /** @type {Record<TableName, Map<string, number>>} */
    this.ids = { species: new Map(), moves: new Map(), items: new Map(), abilities: new Map() };
    for (const table of /** @type {TableName[]} */ (Object.keys(this.ids))) {
      spec.tables[table].names.forEach((name, id) => this.ids[table].set(name, id));
      for (const [alias, name] of Object.entries(spec.tables[table].aliases)) {
        this.ids[table].set(alias, this.find(table, name));
      }
    }
    /** @type {Record<TableName, Map<string, number>>} */
    this.words = { species: new Map(), moves: new Map(), items: new Map(), abilities: new Map() };
    /** @type {Map<string, Effect>} */
    this.effects = new Map();
    this.types = numbered(spec.classes.types);
    this.statuses = numbered(spec.classes.statuses);
    this.genders = numbered(spec.classes.genders);
    this.boosts = numbered(this.lists.boosts);
    this.volatiles = volatilesOf(this.lists.volatiles);
    this.columns = columnsOf(spec);
    this.targets = spec.classes.targets;
    /** Fields that end without a word. */
    this.brief = { deluge: this.lists.fields.indexOf('iondeluge'), lock: this.lists.fields.indexOf('fairylock') };
    /** Moves for which a Pokémon that prepares them is in the air, alone or with another. */
    this.flying = ['bounce', 'fly'].map((name) => this.find('moves', name));
    this.airborne = [...this.flying, this.find('moves', 'skydrop')];
    /** For how many turns at most a move goes on by itself. */
    this.lasting = new Map(LASTING.map(([name, turns]) => [this.find('moves', name), turns]));
    /** Moves, abilities and statuses that the tracker knows by name. */
    this.marking = {
      mimic: this.find('moves', 'mimic'),
      tox: spec.classes.statuses.indexOf('tox'),
      defensecurl: this.find('moves', 'defensecurl'),
      minimize: this.find('moves', 'minimize'),
      rage: this.find('moves', 'rage'),
      rollout: this.find('moves', 'rollout'),
      sketch: this.find('moves', 'sketch'),
      struggle: this.find('moves', 'struggle'),
      neutralizinggas: this.find('abilities', 'neutralizinggas'),
      pressure: this.find('abilities', 'pressure'),
    };
  }

  /**
   * @param {TableName} table
   * @param {string} id
   * @returns {number} 0 for what the table does not know
   */
  find(table, id) {
    return this.ids[table].get(id) ?? 0;
  }

  /**
   * @param {TableName} table
   * @param {string} name as the log writes it
   * @returns {number}
   */
  look(table, name) {
    const words = this.words[table];
    let id = words.get(name);
    if (id === undefined) words.set(name, (id = this.find(table, toId(name))));
    return id;
  }

  /** @param {string} text */
  effect(text) {
    let effect = this.effects.get(text);
    if (effect === undefined) this.effects.set(text, (effect = new Effect(text, this)));
    return effect;
  }
}

/** @param {readonly string[]} names */
function numbered(names) {
  return new Map(names.map((name, index) => [name, index]));
}

/** @param {Spec} spec */
function listsOf(spec) {
  const fields = (/** @type {string} */ group, /** @type {string} */ name) =>
    blockOf(spec.layouts.singles, group, name).fields.map((field) => field.name);
  const conditions = fields('sides', 'conditions');
  const screens = conditions.indexOf('reflect');
  return {
    boosts: fields('actives', 'state').slice(0, 7),
    volatiles: fields('actives', 'volatiles'),
    hazards: conditions.slice(0, screens),
    screens: conditions.slice(screens),
    fields: fields('field', 'state').slice(4),
  };
}

/** Volatiles that the tracker knows by name; all of them are in the spec. */
const NAMED = /** @type {const} */ ([
  'bide', 'commanded', 'commanding', 'defensecurl', 'destinybond', 'doomdesire', 'dynamax', 'focusenergy', 'futuresight',
  'gastroacid', 'glaiverush', 'grudge', 'laserfocus', 'lockon', 'magnetrise', 'minimize', 'mustrecharge',
  'partiallytrapped', 'perish1', 'perish2', 'perish3', 'preparing', 'protect', 'rage', 'stockpile', 'substitute', 'telekinesis',
  'transform', 'trapped', 'typeadd', 'typechange', 'zenmode',
]);
/** They end with the turn. */
const SINGLE_TURN = [
  'electrify', 'endure', 'followme', 'helpinghand', 'magiccoat', 'powdered', 'protect', 'roost', 'snatch',
];
/** They end with the next move. */
const SINGLE_MOVE = ['destinybond', 'glaiverush', 'grudge', 'rage'];
/** They are bound to the place on the field. */
const PLACED = ['doomdesire', 'futuresight'];
/** They are not passed on by Baton Pass. */
const KEPT = [
  'attract', 'autotomize', 'commanded', 'commanding', 'defensecurl', 'destinybond', 'disable', 'dynamax', 'encore',
  'flashfire', 'glaiverush', 'imprison', 'minimize', 'miracleeye', 'nightmare', 'preparing', 'protosynthesis',
  'quarkdrive', 'saltcure', 'slowstart', 'smackdown', 'stockpile', 'supremeoverlord', 'syrupbomb', 'torment',
  'transform', 'typeadd', 'typechange', 'yawn', 'zenmode',
];
/** Nor are these, from a generation on. */
const KEPT_SINCE = [
  { name: 'foresight', generation: 3 },
  { name: 'lockon', generation: 5 },
  { name: 'trapped', generation: 5 },
];

/** @param {readonly string[]} list of the spec */
function volatilesOf(list) {
  const at = (/** @type {string} */ name) => list.indexOf(name);
  const named = /** @type {Record<typeof NAMED[number], number>} */ (Object.fromEntries(NAMED.map((name) => [name, at(name)])));
  const placed = PLACED.map(at);
  return {
    ...named,
    singleTurn: SINGLE_TURN.map(at),
    singleMove: SINGLE_MOVE.map(at),
    placed,
    /** By generation: what whoever comes in by Baton Pass finds. */
    passed: Array.from({ length: 10 }, (_, generation) => {
      const kept = [...KEPT, ...KEPT_SINCE.filter((one) => generation >= one.generation).map(({ name }) => name)];
      return list.flatMap((name, index) => (kept.includes(name) ? [] : [index]));
    }),
    /** What whoever comes in by Shed Tail finds. */
    shed: [at('substitute'), ...placed],
  };
}

/** @param {Spec} spec */
function columnsOf(spec) {
  const columns = /** @type {Record<TableName, {name: string}[]>} */ (/** @type {any} */ (spec).columns);
  const at = (/** @type {TableName} */ table, /** @type {string} */ name) =>
    columns[table].findIndex((column) => column.name === name);
  return {
    type1: at('species', 'type_1'),
    type2: at('species', 'type_2'),
    basePower: at('moves', 'base_power'),
    category: at('moves', 'category'),
    moveType: at('moves', 'type'),
    pp: at('moves', 'pp'),
    target: at('moves', 'target'),
    mustPressure: at('moves', 'must_pressure'),
    berry: at('items', 'berry'),
  };
}

/** @type {WeakMap<Spec, Names>} */
const known = new WeakMap();

/**
 * @param {Spec} spec
 * @returns {Names} the same for all who read the same spec
 */
function namesOf(spec) {
  let names = known.get(spec);
  if (!names) known.set(spec, (names = new Names(spec)));
  return names;
}

module.exports = { Effect, Names, namesOf, toId };
