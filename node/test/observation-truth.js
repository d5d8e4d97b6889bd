'use strict';
/** Compares what the tracker has heard with what the simulator knows, wherever a spectator can know it too. */

/**
 * @typedef {import('../observation/tracker').Tracker} Tracker
 * @typedef {import('../observation/tracker').TrackedPokemon} TrackedPokemon
 * @typedef {import('../observation/tracker').Slot} Slot
 */

/** Volatiles of the simulator that have other names in the spec. @type {Record<string, string>} */
const ALSO = {
  banefulbunker: 'protect', burningbulwark: 'protect', kingsshield: 'protect', maxguard: 'protect', obstruct: 'protect',
  silktrap: 'protect', spikyshield: 'protect', ragepowder: 'followme', spotlight: 'followme', twoturnmove: 'preparing',
  powder: 'powdered', dragoncheer: 'focusenergy',
};
/** They follow from what the log does not say, or are none of the simulator's. */
const NOT_COMPARED = [
  'autotomize', 'doomdesire', 'futuresight', 'perish1', 'perish2', 'perish3', 'supremeoverlord', 'slowstart', 'typechange', 'typeadd',
  'transform', 'zenmode',
];

class Truth {
  /**
   * @param {Tracker} tracker
   * @param {any} battle
   */
  constructor(tracker, battle) {
    this.tracker = tracker;
    this.battle = battle;
    this.names = tracker.names;
    /** @type {string[]} */
    this.differences = [];
  }

  /**
   * @param {string} what
   * @param {unknown} tracked
   * @param {unknown} actual
   */
  check(what, tracked, actual) {
    if (tracked !== actual) this.differences.push(`${what}: ${tracked}, but it is ${actual}`);
  }

  /** @returns {string[]} */
  compare() {
    this.#field();
    this.battle.sides.forEach((/** @type {any} */ side) => this.#side(side));
    return this.differences;
  }

  #field() {
    const { tracker, battle, names } = this;
    const { classes } = tracker.spec;
    const { field } = battle;
    this.check('turn', tracker.turn, battle.turn);
    this.check('ended', tracker.ended, battle.ended);
    this.check('weather', classes.weathers[tracker.weather], field.weather || 'none');
    this.check('terrain', classes.terrains[tracker.terrain], field.terrain || 'none');
    names.lists.fields.forEach((name, index) => {
      this.check(name, tracker.fields[index] >= 0, name in field.pseudoWeather);
    });
  }

  /** @param {any} side */
  #side(side) {
    const { tracker, names } = this;
    const tracked = tracker.sides[/** @type {'p1' | 'p2'} */ (side.id)];
    this.check(`${side.id} left`, tracked.left, side.pokemonLeft);
    this.check(`${side.id} has no more than it brings`, tracked.pokemon.length <= Math.max(6, tracked.size), true);
    names.lists.hazards.forEach((name, index) => {
      const condition = side.sideConditions[name];
      this.check(`${side.id} ${name}`, tracked.conditions.hazards[index], condition ? (condition.layers ?? 1) : 0);
    });
    names.lists.screens.forEach((name, index) => {
      this.check(`${side.id} ${name}`, tracked.conditions.screens[index] >= 0, name in side.sideConditions);
    });
    side.active.forEach((/** @type {any} */ pokemon, /** @type {number} */ place) => {
      const slot = tracked.slots[place];
      const isThere = Boolean(pokemon && !pokemon.fainted && pokemon.isActive);
      const where = `${side.id}${'abc'[place]} ${pokemon?.species.id}`;
      this.check(`${where} there`, slot.pokemon !== null, isThere);
      if (isThere && slot.pokemon && !this.battle.ended) this.#active(where, slot, pokemon);
      for (const name of ['futuresight', 'doomdesire']) {
        const future = side.slotConditions[place].futuremove;
        const index = /** @type {number} */ (names.lists.volatiles.indexOf(name));
        if (this.battle.ended) continue;
        const isComing = future?.move === name || (future && name in side.slotConditions[place]);
        this.check(`${where} ${name}`, slot.volatiles[index] === 1, Boolean(isComing));
      }
    });
    for (const pokemon of side.pokemon) if (!pokemon.isActive) this.#benched(side, tracked, pokemon);
  }

  /**
   * @param {string} where
   * @param {Slot} slot
   * @param {any} pokemon
   */
  #active(where, slot, pokemon) {
    const { names, tracker } = this;
    const tracked = /** @type {TrackedPokemon} */ (slot.pokemon);
    const looks = pokemon.illusion ?? pokemon;
    this.check(`${where} name`, tracked.name, looks.name);
    this.#condition(where, tracked, pokemon);
    names.lists.boosts.forEach((stat, index) => this.check(`${where} ${stat}`, slot.boosts[index], pokemon.boosts[stat]));
    if (!pokemon.illusion) {
      const species = names.find('species', pokemon.species.id.replace(/^(greninja)bond|(rockruff)dusk$/, '$1$2'));
      this.check(`${where} species`, nameIn(this.tracker, 'species', slot.species), nameIn(this.tracker, 'species', species));
      this.#types(where, slot, pokemon);
      this.#moves(where, tracked, pokemon);
      if (slot.ability && this.battle.gen > 2 && isAlone(pokemon)) this.check(`${where} ability`, nameIn(tracker, 'abilities', slot.ability), abilityOf(pokemon.ability));
      if (tracked.ability && this.battle.gen > 2 && isAlone(pokemon)) {
        this.check(`${where} own ability`, nameIn(tracker, 'abilities', tracked.ability), abilityOf(pokemon.baseAbility));
      }
    }
    this.check(`${where} turns`, slot.turns, Math.max(0, pokemon.activeTurns - 1));
    this.#volatiles(where, slot, pokemon);
  }

  /**
   * @param {string} where
   * @param {Slot} slot
   * @param {any} pokemon
   */
  #types(where, slot, pokemon) {
    // They show what their item makes of them when the turn ends.
    const isPlated = ['Arceus', 'Silvally'].includes(pokemon.species.baseSpecies);
    if (isPlated && (this.battle.requestState !== 'move' || this.battle.gen < 7)) return;
    const { types } = this.tracker.spec.classes;
    const tracked = [...slot.types].filter((type) => type !== 1).map((type) => types[type]).sort().join('/');
    this.check(`${where} types`, tracked, [...new Set(pokemon.getTypes())].sort().join('/'));
  }

  /**
   * @param {any} side
   * @param {string} ability
   * @returns {boolean} whether somebody of the team has it
   */
  #has(side, ability) {
    return side.pokemon.some((/** @type {any} */ one) => one.baseAbility === ability || one.set.ability === ability);
  }

  /**
   * @param {string} where
   * @param {TrackedPokemon} tracked
   * @param {any} pokemon
   */
  #condition(where, tracked, pokemon) {
    const { classes } = this.tracker.spec;
    const { maxhp, hp } = pokemon;
    const shared = pokemon.getHealth().shared;
    const [now, most] = shared.split(' ')[0].split('/').map((/** @type {string} */ number) => parseInt(number, 10));
    this.check(`${where} hp`, tracked.hp, hp ? Math.max(1, Math.round((255 * now) / most)) : 0);
    const status = pokemon.fainted || !maxhp ? 'fnt' : pokemon.status || 'none';
    this.check(`${where} status`, classes.statuses[tracked.status], status);
    this.check(`${where} fainted`, tracked.fainted === 1, pokemon.fainted);
    this.check(`${where} level`, tracked.level, pokemon.illusion ? tracked.level : pokemon.level);
    // Sticky Barb changes hands without a word.
    if (tracked.item > 0 && pokemon.item !== 'stickybarb' && nameIn(this.tracker, 'items', tracked.item) !== 'stickybarb' && !this.#has(pokemon.side, 'illusion') && isAlone(pokemon)) {
      this.check(`${where} item`, nameIn(this.tracker, 'items', tracked.item), pokemon.item || 'none');
    }
    if (status === 'tox' && this.battle.gen > 2) this.check(`${where} tox`, tracked.statusTurns, pokemon.statusState.stage);
    if (tracked.terastallized !== (pokemon.terastallized ? 1 : 0)) {
      this.check(`${where} tera`, tracked.terastallized, pokemon.terastallized);
    }
  }

  /**
   * @param {string} where
   * @param {TrackedPokemon} tracked
   * @param {any} pokemon
   */
  #moves(where, tracked, pokemon) {
    // What somebody did who looked like it is put down to it, unless it is found out.
    if (this.#has(pokemon.side, 'illusion') || !isAlone(pokemon)) return;
    tracked.moves.forEach((move, index) => {
      const id = nameIn(this.tracker, 'moves', move);
      const slot = pokemon.baseMoveSlots.find((/** @type {any} */ one) => one.id === id || (id === 'hiddenpower' && one.id.startsWith(id)));
      this.check(`${where} has ${id}`, true, Boolean(slot));
      if (!slot) return;
      const [used, actual] = [Math.min(tracked.used[index], slot.maxpp), slot.maxpp - slot.pp];
      if (!this.#hidesCosts(pokemon.side) || used > actual) this.check(`${where} ${id} used`, used, actual);
    });
  }

  /**
   * Nobody is told which move a Z-Move or a Max Move was, nor of Pressure in generation 3, nor at whom among several a
   * move was aimed that fails.
   * @param {any} side
   */
  #hidesCosts(side) {
    const { usedDynamax, usedZ } = this.tracker.sides[/** @type {'p1' | 'p2'} */ (side.id)];
    const isAimHidden = this.battle.gameType !== 'singles' && (this.#has(side.foe, 'pressure') || this.#has(side, 'pressure'));
    return usedDynamax || usedZ || this.battle.gen === 3 || isAimHidden;
  }

  /**
   * @param {string} where
   * @param {Slot} slot
   * @param {any} pokemon
   */
  #volatiles(where, slot, pokemon) {
    const actual = new Set();
    for (const name of Object.keys(pokemon.volatiles)) actual.add(ALSO[name] ?? name);
    if (pokemon.transformed) actual.add('transform');
    this.names.lists.volatiles.forEach((name, index) => {
      if (NOT_COMPARED.includes(name)) return;
      // The simulator keeps it until the turn ends.
      if (name === 'preparing' && this.battle.requestState !== 'move') return;
      // Generation 2 of the simulator ends it with the turn, and so before it is of use.
      if (name === 'lockon' && this.battle.gen === 2) return;
      // Nobody is told when it ends, until it does not go on.
      if (name === 'partiallytrapped' && this.battle.gen === 1 && slot.volatiles[index]) return;
      this.check(`${where} ${name}`, slot.volatiles[index] === 1, actual.has(name));
    });
    const layers = pokemon.volatiles.stockpile?.layers ?? 0;
    this.check(`${where} stockpiles`, slot.stockpiles, layers);
    const perish = pokemon.volatiles.perishsong?.duration ?? 0;
    const counted = [1, 2, 3].find((count) => slot.volatiles[this.names.lists.volatiles.indexOf(`perish${count}`)]) ?? 0;
    this.check(`${where} perish`, counted, perish > 3 ? 3 : perish);
    if (this.battle.requestState !== 'move') return;
    this.check(`${where} protects`, slot.protects > 0, 'stall' in pokemon.volatiles);
  }

  /**
   * @param {any} side
   * @param {import('../observation/tracker').TrackedSide} tracked
   * @param {any} pokemon
   */
  #benched(side, tracked, pokemon) {
    const named = tracked.pokemon.filter((one) => one.name === pokemon.name && !one.slot);
    if (named.length !== 1 || !isAlone(pokemon) || !named[0].revealed || this.#has(side, 'illusion')) return;
    const where = `${side.id} ${pokemon.species.id} on the bench`;
    this.#moves(where, named[0], pokemon);
    this.check(`${where} fainted`, named[0].fainted === 1, pokemon.fainted);
  }
}

/**
 * @param {Tracker} tracker
 * @param {import('../observation/spec').TableName} table
 * @param {number} id
 */
function nameIn(tracker, table, id) {
  return tracker.spec.tables[table].names[id];
}

/**
 * @param {any} pokemon
 * @returns {boolean} whether no other of its team has its name
 */
function isAlone({ name, side }) {
  return side.pokemon.filter((/** @type {any} */ one) => one.name === name).length === 1;
}

/** @param {string} id */
function abilityOf(id) {
  return id && id !== 'noability' ? id : 'none';
}

/**
 * @param {Tracker} tracker
 * @param {string[]} log
 * @param {number} from
 * @returns {number} how much of it has been heard
 */
function hearLog(tracker, log, from) {
  for (let i = from; i < log.length; i++) {
    if (log[i].startsWith('|split|')) tracker.hear(log[(i += 2)]);
    else tracker.hear(log[i]);
  }
  return log.length;
}

module.exports = { Truth, hearLog };
