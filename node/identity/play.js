'use strict';
/** Plays the battle that a spec stands for, from the opening to the end, and writes down all that is compared. */

const { DirectGame, RoomGame, checkpoint, conclude } = require('./games');
const { Policy } = require('./policy');
const { Random } = require('./random');
const { BattleRecord } = require('./record');
const { drawTeams } = require('./teams');

/**
 * A battle in a few words; everything in it follows from them.
 * @typedef {object} Spec
 * @property {string} format its name, and custom rules, if any, as the simulator takes them
 * @property {string} teams generated, scrambled, plundered, or the name of given ones
 * @property {Kind} kind
 * @property {number} seed
 *
 * @typedef {'plain' | 'debug' | 'serialise' | 'fork' | 'replay' | 'together'} Kind `together` is with another battle, in turns
 * @typedef {import('./games').Simulator} Simulator
 * @typedef {DirectGame | RoomGame} Game
 */

/** @type {readonly Kind[]} */
const KINDS = ['plain', 'debug', 'serialise', 'fork', 'replay', 'together'];
/** A process plays many battles side by side: what one leaves in the simulator must not reach the other. */
const COMPANIONS = ['gen9randombattle', 'gen8randombattle', 'gen4randombattle', 'gen1randombattle', 'gen9randomdoublesbattle'];
const NAMES = ['Red', 'Blue', 'Green', 'Yellow'];
/** Battles that nobody wins end here; teams at random can be bad at winning. */
const MOST_TURNS = { generated: 300, other: 100 };
const MOST_CHOICES = 2_000;
const PRANKS = ['undo', 'undo', 'rename', 'reseed', 'sheets', 'forfeit', 'tiebreak', 'default', 'move 1'];

/**
 * @param {Simulator} simulator
 * @param {Spec} spec
 * @returns {BattleRecord}
 */
function play(simulator, spec) {
  const record = new BattleRecord();
  holdStill(simulator, spec);
  const matches = [new Match(simulator, spec, record).play()];
  if (spec.kind === 'together') {
    const format = new Random(`companion ${spec.seed}`).pick(COMPANIONS);
    matches.push(new Match(simulator, { ...spec, format, teams: 'generated' }, record).play());
  }
  while (matches.length) {
    const match = /** @type {Generator<void>} */ (matches.shift());
    try {
      if (!match.next().done) matches.push(match);
    } catch (error) {
      record.add('error', String(error));
    }
  }
  return record;
}

/**
 * Takes from the simulator what it draws outside its generators: a time of day, and seeds where it was given none.
 * @param {Simulator} simulator
 * @param {Spec} spec
 */
function holdStill(simulator, { format, seed }) {
  const random = new Random(`world ${format} ${seed}`);
  Math.random = () => random.unit();
  Date.now = () => 1_700_000_000_000;
  simulator.PRNG.generateSeed = /** @type {any} */ (() => fourNumbers(random));
}

/** @param {Random} random */
function fourNumbers(random) {
  return Array.from({ length: 4 }, () => random.below(2 ** 16)).join(',');
}

/**
 * @param {Random} random
 * @returns {string} a seed in one of the forms that the simulator takes
 */
function drawSeed(random) {
  const hex = Array.from({ length: 16 }, () => random.below(16).toString(16)).join('');
  return random.pick([fourNumbers(random), fourNumbers(random), fourNumbers(random), `gen5,${hex}`, `sodium,${hex}${hex}`]);
}

class Match {
  /**
   * @param {Simulator} simulator
   * @param {Spec} spec
   * @param {BattleRecord} record
   */
  constructor(simulator, spec, record) {
    this.simulator = simulator;
    this.spec = spec;
    this.record = record;
    this.random = new Random(`match ${spec.format} ${spec.teams} ${spec.kind} ${spec.seed}`);
    this.choices = 0;
    this.turns = spec.teams === 'generated' ? MOST_TURNS.generated : MOST_TURNS.other;
  }

  /** Plays it, a choice at a time. @returns {Generator<void>} */
  *play() {
    const opening = this.#opening();
    const inRoom = this.spec.kind === 'fork' || this.spec.kind === 'replay';
    const game = (inRoom ? RoomGame : DirectGame).start(this.simulator, opening, this.record);
    const { battle } = game;
    for (const side of battle.sides) this.record.add('teams', JSON.stringify(side.team));
    const shape = { width: battle.activePerHalf, sides: battle.sides.length };
    const policies = battle.sides.map(() => new Policy(this.#split(), shape));
    yield* this.#playOn(game, policies, MOST_CHOICES);
  }

  /** @returns {Random} one of its own for somebody */
  #split() {
    return new Random(`${this.random.below(2 ** 32)}`);
  }

  /** @returns {import('./games').Opening} */
  #opening() {
    const { Dex } = this.simulator;
    const id = Dex.formats.validate(this.spec.format);
    const format = Dex.formats.get(id, true);
    const random = this.#split();
    const teams = drawTeams(this.simulator, this.spec, format, this.record);
    /** @type {Record<string, import('./games').Player>} */
    const players = {};
    for (let n = 0; n < format.playerCount; n++) {
      players[`p${n + 1}`] = { name: NAMES[n], seed: drawSeed(random), ...(teams ? { team: teams[n] } : {}) };
    }
    const debug = this.spec.kind === 'debug';
    const luck = debug && random.chance(0.3) ? random.chance(0.5) : null;
    return { format: id, seed: drawSeed(random), players, debug, luck, rated: random.chance(0.1) };
  }

  /**
   * Plays until the battle ends, or as many choices as it may take.
   * @param {Game} start
   * @param {Policy[]} policies
   * @param {number} most
   * @returns {Generator<void>}
   */
  *#playOn(start, policies, most) {
    let game = start;
    const last = this.choices + most;
    try {
      while (!game.battle.ended && game.battle.turn < this.turns && this.choices < last && this.choices < MOST_CHOICES) {
        const owing = game.owing();
        if (!owing.length) throw new Error('nobody is asked for anything');
        const id = this.random.pick(owing);
        this.#decide(game, id, policies[Number(id[1]) - 1]);
        if (!game.battle.ended && most === MOST_CHOICES) game = yield* this.#interrupt(game, policies);
        yield;
      }
    } finally {
      conclude(game.battle, this.record);
    }
    game.destroy();
  }

  /**
   * @param {Game} game
   * @param {string} id
   * @param {Policy} policy
   */
  #decide(game, id, policy) {
    this.choices++;
    if (this.random.chance(policy.temper.mischief / 4)) {
      const prank = this.random.pick(PRANKS);
      this.record.add('choices', `${id} ${prank}!`);
      game.prank(id, prank);
      if (!game.owing().includes(id)) return;
    }
    const choices = [policy.choose(game.request(id))];
    for (let attempt = 1; attempt <= 6; attempt++) {
      const choice = choices.pop() ?? '';
      const refusal = game.choose(id, choice);
      this.record.add('choices', `${id} ${choice}: ${refusal}`);
      if (!refusal || game.battle.ended || !game.owing().includes(id)) return;
      choices.push(attempt < 4 ? policy.choose(game.request(id)) : 'default');
    }
    throw new Error(`nothing that ${id} chooses is taken`);
  }

  /**
   * Now and then: looks at the state, or goes on with a copy of the game.
   * @param {Game} game
   * @param {Policy[]} policies
   * @returns {Generator<void, Game>} the one to go on with
   */
  *#interrupt(game, policies) {
    const { random, spec } = this;
    if (!random.chance(0.06)) return game;
    if (spec.kind === 'plain' || spec.kind === 'debug' || spec.kind === 'together') {
      checkpoint(game.battle, this.record);
      return game;
    }
    if (spec.kind === 'replay') return /** @type {RoomGame} */ (game).replay();
    const copy = game.copy();
    if (!copy) return game;
    if (random.chance(0.5)) {
      // The one that is left plays on for a while: it must not disturb the one that goes on.
      yield* this.#playOn(game, policies.map((policy) => policy.copy()), 1 + random.below(20));
      return copy;
    }
    yield* this.#playOn(copy, policies.map((policy) => policy.copy()), 1 + random.below(20));
    return game;
  }
}

module.exports = { KINDS, play };
