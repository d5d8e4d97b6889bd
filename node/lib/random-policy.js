'use strict';
/**
 * A seeded policy that picks a random legal choice.
 *
 * bridge/random_policy.py is its twin: the same seed and requests give the same choices in both languages,
 * so that benchmarks with and without IPC play the very same battles. Change both or neither.
 */

const TARGETED = new Map([
  ['normal', ['+1', '+2']],
  ['any', ['+1', '+2']],
  ['adjacentFoe', ['+1', '+2']],
  ['adjacentAlly', ['ally']],
  ['adjacentAllyOrSelf', ['self', 'ally']],
]);

class RandomPolicy {
  /** @param {number} seed a positive integer below 2^32 */
  constructor(seed) {
    this.state = seed;
  }

  /**
   * A number in [0, n), from a 32-bit xorshift.
   * @param {number} n
   */
  #below(n) {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state % n;
  }

  /**
   * @template T
   * @param {T[]} items
   * @returns {T}
   */
  #pick(items) {
    return items[this.#below(items.length)];
  }

  /**
   * @param {any} request that is not a wait
   * @returns {string}
   */
  choose(request) {
    if (request.teamPreview) return this.#order(request);
    const taken = new Set();
    const spent = new Set();
    const slots = request.forceSwitch || request.active;
    const chosen = [];
    for (let slot = 0; slot < slots.length; slot++) {
      const options = request.forceSwitch
        ? replacements(request, slot, taken)
        : actions(request, slot, taken, spent);
      const option = options.length ? this.#pick(options) : 'pass';
      const word = option.slice(option.lastIndexOf(' ') + 1);
      if (option.startsWith('switch')) taken.add(word);
      else if (GIMMICKS.has(word)) spent.add(word);
      chosen.push(option);
    }
    return chosen.join(', ');
  }

  /** @param {any} request */
  #order(request) {
    const slots = request.side.pokemon.map((/** @type {any} */ _, /** @type {number} */ index) => index + 1);
    for (let i = slots.length - 1; i > 0; i--) {
      const j = this.#below(i + 1);
      [slots[i], slots[j]] = [slots[j], slots[i]];
    }
    return `team ${slots.slice(0, request.maxChosenTeamSize || slots.length).join(',')}`;
  }
}

const GIMMICKS = new Set(['mega', 'megax', 'megay', 'ultra', 'zmove', 'dynamax', 'terastallize']);

/**
 * @param {any} request
 * @param {number} slot
 * @param {Set<string>} taken
 * @returns {string[]}
 */
function replacements(request, slot, taken) {
  if (!request.forceSwitch[slot]) return [];
  const reviving = Boolean(request.side.pokemon[slot].reviving);
  return bench(request, taken, reviving);
}

/**
 * @param {any} request
 * @param {Set<string>} taken
 * @param {boolean} fainted whether to list those that have fainted, or those that have not
 */
function bench(request, taken, fainted) {
  const options = [];
  for (const [index, pokemon] of request.side.pokemon.entries()) {
    if (pokemon.active || pokemon.condition.endsWith(' fnt') !== fainted) continue;
    if (!taken.has(String(index + 1))) options.push(`switch ${index + 1}`);
  }
  return options;
}

/**
 * @param {any} request
 * @param {number} slot
 * @param {Set<string>} taken
 * @param {Set<string>} spent
 */
function actions(request, slot, taken, spent) {
  const active = request.active[slot];
  const pokemon = request.side.pokemon[slot];
  if (!active || pokemon.condition.endsWith(' fnt') || pokemon.commanding) return [];
  const options = [];
  const single = request.active.length === 1;
  const max = active.maxMoves?.maxMoves;
  const maxed = max && !active.canDynamax;
  for (const [index, move] of active.moves.entries()) {
    if (move.disabled) continue;
    const name = `move ${index + 1}`;
    const target = maxed && max[index] ? max[index].target : move.target;
    for (const aim of aims(target, slot, single)) {
      options.push(name + aim);
      if (active.canMegaEvo && !spent.has('mega')) options.push(`${name}${aim} mega`);
      if (active.canMegaEvoX && !spent.has('megax')) options.push(`${name}${aim} megax`);
      if (active.canMegaEvoY && !spent.has('megay')) options.push(`${name}${aim} megay`);
      if (active.canUltraBurst && !spent.has('ultra')) options.push(`${name}${aim} ultra`);
      if (active.canTerastallize && !spent.has('terastallize')) options.push(`${name}${aim} terastallize`);
    }
    if (active.canZMove?.[index] && !spent.has('zmove')) {
      for (const aim of aims(active.canZMove[index].target, slot, single)) options.push(`${name}${aim} zmove`);
    }
    if (active.canDynamax && max?.[index] && !spent.has('dynamax')) {
      for (const aim of aims(max[index].target, slot, single)) options.push(`${name}${aim} dynamax`);
    }
  }
  if (!active.trapped) options.push(...bench(request, taken, false));
  return options;
}

/**
 * @param {string} target
 * @param {number} slot
 * @param {boolean} single
 */
function aims(target, slot, single) {
  const names = single ? undefined : TARGETED.get(target);
  if (!names) return [''];
  return names.map((name) => {
    if (name === 'ally') return ` -${2 - slot}`;
    if (name === 'self') return ` -${slot + 1}`;
    return ` ${name}`;
  });
}

module.exports = { RandomPolicy };
