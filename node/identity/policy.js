'use strict';
/**
 * Chooses for any side of any battle: one slot or three, two sides or four; mostly what is legal, at times what is not.
 *
 * It knows of the battle what its request says, so that a request that differs leads to choices that differ.
 */

/**
 * @typedef {import('./random').Random} Random
 * @typedef {{width: number, sides: number}} Shape how many Pokémon stand on either half, and how many sides there are
 * @typedef {{switching: number, gimmicks: number, mischief: number}} Temper how likely each is, where it is possible
 */

const GIMMICKS = [
  ['canMegaEvo', 'mega'],
  ['canMegaEvoX', 'megax'],
  ['canMegaEvoY', 'megay'],
  ['canUltraBurst', 'ultra'],
  ['canTerastallize', 'terastallize'],
];
/** Choices that are wrong in most places. */
const NONSENSE = [
  '',
  'move',
  'move 0',
  'move 9',
  'move 1 mega zmove',
  'move 1 dynamax',
  'move 1 terastallize',
  'move 1 ultra',
  'move 1 zmove',
  'move 1 mega',
  'move 1 +3',
  'move 1 -1',
  'move 1 2 1',
  'move splash',
  'move struggle',
  'switch',
  'switch 1',
  'switch 2',
  'switch 7',
  'switch pikachu',
  'pass',
  'shift',
  'team 1',
  'team 654321',
  'team 11',
  'testfight',
  'undo',
  'move 1, move 1, move 1, move 1',
];

class Policy {
  /**
   * @param {Random} random
   * @param {Shape} shape
   * @param {Temper} [temper] else drawn
   */
  constructor(random, shape, temper) {
    this.random = random;
    this.shape = shape;
    this.temper = temper ?? {
      switching: random.pick([0.02, 0.1, 0.1, 0.3]),
      gimmicks: random.pick([0.1, 0.5, 0.9]),
      mischief: random.pick([0, 0, 0.02, 0.1]),
    };
  }

  /** @returns {Policy} one that goes on as this one does */
  copy() {
    return new Policy(this.random.copy(), this.shape, this.temper);
  }

  /** @param {any} request that is not a wait */
  choose(request) {
    if (this.random.chance(this.temper.mischief)) return this.#mischief(request);
    if (request.teamPreview) return this.#order(request);
    return this.#slots(request).join(', ');
  }

  /** @param {any} request */
  #mischief(request) {
    const { random } = this;
    if (random.chance(0.3)) return 'default';
    if (request.teamPreview || random.chance(0.5)) return random.pick(NONSENSE);
    const slots = this.#slots(request);
    slots[random.below(slots.length)] = random.pick(NONSENSE);
    return random.chance(0.2) ? slots.slice(1).join(',') : slots.join(',');
  }

  /** @param {any} request */
  #order(request) {
    const places = request.side.pokemon.map((/** @type {any} */ _, /** @type {number} */ index) => index + 1);
    const order = this.random.shuffled(places).slice(0, request.maxChosenTeamSize || places.length);
    return `team ${order.join(places.length > 9 || this.random.chance(0.5) ? ',' : '')}`;
  }

  /**
   * @param {any} request
   * @returns {string[]}
   */
  #slots(request) {
    /** What earlier slots have taken: places on the bench, and gimmicks. @type {Set<string>} */
    const taken = new Set();
    const slots = request.forceSwitch ?? request.active;
    return slots.map((/** @type {any} */ wanted, /** @type {number} */ slot) =>
      request.forceSwitch ? this.#replacement(request, slot, taken, wanted) : this.#action(request, slot, taken),
    );
  }

  /**
   * @param {any} request
   * @param {number} slot
   * @param {Set<string>} taken
   * @param {boolean} wanted
   */
  #replacement(request, slot, taken, wanted) {
    if (!wanted) return 'pass';
    return this.#switch(request, taken, Boolean(request.side.pokemon[slot]?.reviving)) ?? 'pass';
  }

  /**
   * @param {any} request
   * @param {Set<string>} taken
   * @param {boolean} fainted whether one that has fainted is wanted, or one that has not
   * @returns {string | undefined}
   */
  #switch(request, taken, fainted) {
    const places = request.side.pokemon.flatMap((/** @type {any} */ pokemon, /** @type {number} */ index) =>
      pokemon.active || pokemon.condition.endsWith(' fnt') !== fainted || taken.has(`${index + 1}`) ? [] : [index + 1],
    );
    if (!places.length) return undefined;
    const place = this.random.pick(places);
    taken.add(`${place}`);
    return `switch ${place}`;
  }

  /**
   * @param {any} request
   * @param {number} slot
   * @param {Set<string>} taken
   * @returns {string}
   */
  #action(request, slot, taken) {
    const { random } = this;
    const active = request.active[slot];
    const pokemon = request.side.pokemon[slot];
    if (!active || pokemon.condition.endsWith(' fnt') || pokemon.commanding) return 'pass';
    if (this.shape.width === 3 && slot !== 1 && random.chance(0.03)) return 'shift';
    if (!active.trapped && random.chance(this.temper.switching)) {
      const choice = this.#switch(request, taken, false);
      if (choice) return choice;
    }
    /** @type {number[]} */
    const open = [...active.moves.keys()].filter((index) => !active.moves[index].disabled);
    if (!open.length) return this.#switch(request, taken, false) ?? 'default';
    const index = random.pick(open);
    const { target, gimmick } = this.#gimmick(active, index, taken);
    const name = random.chance(0.1) ? active.moves[index].id : index + 1;
    return `move ${name}${this.#aim(target, slot)}${gimmick}`;
  }

  /**
   * @param {any} active
   * @param {number} index of the move
   * @param {Set<string>} taken
   */
  #gimmick(active, index, taken) {
    const max = active.maxMoves?.maxMoves?.[index];
    const plain = { target: max && !active.canDynamax ? max.target : active.moves[index].target, gimmick: '' };
    if (!this.random.chance(this.temper.gimmicks)) return plain;
    /** @type {{target: string, gimmick: string}[]} */
    const options = [];
    for (const [key, word] of GIMMICKS) if (active[key]) options.push({ target: plain.target, gimmick: ` ${word}` });
    const z = active.canZMove?.[index];
    if (z) options.push({ target: z.target, gimmick: ' zmove' });
    if (active.canDynamax && max) options.push({ target: max.target, gimmick: ' dynamax' });
    const left = options.filter(({ gimmick }) => !taken.has(gimmick));
    if (!left.length) return plain;
    const chosen = this.random.pick(left);
    taken.add(chosen.gimmick);
    return chosen;
  }

  /**
   * @param {string} target
   * @param {number} slot
   */
  #aim(target, slot) {
    const { width, sides } = this.shape;
    if (width === 1) return '';
    const places = aims(target, slot, width);
    if (!places.length) return '';
    // With four sides, what a place is depends on the seat; a choice that names none is aimed by the simulator.
    return this.random.pick(sides > 2 ? ['', '', ' +1', ' +2', ' -1', ' -2'] : places);
  }
}

/**
 * @param {string} target
 * @param {number} slot
 * @param {number} width
 * @returns {string[]} where a move can be aimed at, nearest first
 */
function aims(target, slot, width) {
  const places = Array.from({ length: width }, (_, index) => index);
  const foes = places
    .filter((place) => target === 'any' || Math.abs(width - 1 - place - slot) <= 1)
    .map((place) => ` +${place + 1}`);
  const allies = places
    .filter((place) => place !== slot && (target === 'any' || Math.abs(place - slot) === 1))
    .map((place) => ` -${place + 1}`);
  switch (target) {
    case 'normal':
    case 'any':
      return [...foes, ...foes, ...foes, ...allies];
    case 'adjacentFoe':
      return foes;
    case 'adjacentAlly':
      return allies;
    case 'adjacentAllyOrSelf':
      return [...allies, ` -${slot + 1}`];
    default:
      return [];
  }
}

module.exports = { Policy };
