'use strict';
/**
 * Vanilla: for every event, each effect of each Pokémon, side and the field is asked for up to five callbacks, by names
 * that are put together anew each time; 97 of 100 events find nobody.
 * Instead: an event has a number and its five names are made once. An effect has a byte per event, with a bit per kind
 * of callback; whoever holds effects has the OR of theirs. Only those are asked who have the bit.
 * Same, because: a bit is set wherever vanilla finds a callback. What somebody holds is compared with what the bits were
 * made of on every query, so that it does not matter who writes to volatiles, and how. Effects are frozen; a format, which
 * is not, is asked itself each time, and rules, which are not either, are looked at anew for every battle.
 */

/** Kinds of callbacks: of the target, its allies, anybody, its foes, the source. */
const ON = 1;
const ALLY = 2;
const ANY = 4;
const FOE = 8;
const SOURCE = 16;

/** More events than there are. Whichever comes beyond these is number 0, which everybody hears. */
const MOST_EVENTS = 512;
const HEARD_BY_ALL = 0;
/** Vanilla asks nobody but the target and the field about these. */
const UNPREFIXED = new Set(['BeforeTurn', 'Update', 'Weather', 'WeatherChange', 'TerrainChange']);
const LISTENERS = Symbol('listeners');
/** @type {string[]} */
const NO_KEYS = [];

/** An event and the names of its callbacks. */
class Event {
  /** @param {string} name @param {number} id */
  constructor(name, id) {
    this.id = id;
    this.prefixed = !UNPREFIXED.has(name);
    this.on = `on${name}`;
    this.onAlly = `onAlly${name}`;
    this.onAny = `onAny${name}`;
    this.onFoe = `onFoe${name}`;
    this.onSource = `onSource${name}`;
  }
}

/** Who listens to what. */
class Listeners {
  constructor() {
    this.bits = new Uint8Array(MOST_EVENTS);
    this.words = new Uint32Array(this.bits.buffer);
    this.generation = -1;
    this.clear();
  }

  clear() {
    this.words.fill(0);
    this.bits[HEARD_BY_ALL] = ON | ALLY | ANY | FOE | SOURCE;
  }

  /** @param {Listeners} other */
  add(other) {
    const { words } = this;
    const more = other.words;
    for (let i = 0; i < words.length; i++) words[i] |= more[i];
  }
}

/** What a Pokémon's effects listen to, and what these effects were when that was last looked up. */
class PokemonListeners extends Listeners {
  constructor() {
    super();
    this.status = '';
    this.ability = '';
    this.item = '';
    /** @type {object | null} */
    this.species = null;
    this.volatiles = NO_KEYS;
    this.slots = NO_KEYS;
  }
}

/** The same for a side. */
class SideListeners extends Listeners {
  constructor() {
    super();
    this.conditions = NO_KEYS;
  }
}

/** The same for the field. */
class FieldListeners extends Listeners {
  constructor() {
    super();
    this.weather = '';
    this.terrain = '';
    this.pseudoWeather = NO_KEYS;
  }
}

/**
 * @param {object} holder
 * @param {string[]} keys
 * @returns {boolean} whether the holder has just these keys, in this order
 */
function hasKeys(holder, keys) {
  let n = 0;
  for (const key in holder) {
    if (n >= keys.length || keys[n] !== key) return false;
    n++;
  }
  return n === keys.length;
}

/** @param {object} holder */
function keysOf(holder) {
  const keys = [];
  for (const key in holder) keys.push(key);
  return keys.length ? keys : NO_KEYS;
}

class Index {
  /** @param {any} Pokemon the class */
  constructor(Pokemon) {
    this.Pokemon = Pokemon;
    /** @type {Map<string, Event>} */
    this.events = new Map();
    /** Which bits a callback of this name sets. @type {Map<string, {id: number, bit: number}[]>} */
    this.meanings = new Map();
    /** Grows with the events, so that whoever was looked up before the last one is looked up again. */
    this.generation = 0;
    /** @type {WeakMap<object, Listeners>} */
    this.effects = new WeakMap();
  }

  /** @param {string} name @returns {Event} */
  event(name) {
    return this.events.get(name) ?? this.#learn(name);
  }

  /** @param {string} name */
  #learn(name) {
    const number = this.events.size + 1;
    const event = new Event(name, number < MOST_EVENTS ? number : HEARD_BY_ALL);
    this.events.set(name, event);
    const { id } = event;
    if (id !== HEARD_BY_ALL) {
      this.#mean(event.on, id, ON);
      this.#mean(event.onAlly, id, ALLY);
      this.#mean(event.onAny, id, ANY);
      this.#mean(event.onFoe, id, FOE);
      this.#mean(event.onSource, id, SOURCE);
      // An ability or item that does something as it starts does so when its Pokémon switches in.
      if (name === 'SwitchIn') this.#mean('onStart', id, ON);
    }
    this.generation++;
    return event;
  }

  /** @param {string} callback @param {number} id @param {number} bit */
  #mean(callback, id, bit) {
    const meanings = this.meanings.get(callback) ?? [];
    meanings.push({ id, bit });
    this.meanings.set(callback, meanings);
  }

  /**
   * Adds what an effect listens to.
   * @param {Listeners} listeners
   * @param {any} effect
   */
  #include(listeners, effect) {
    if (!Object.isFrozen(effect)) {
      this.#read(listeners, effect);
      return;
    }
    let known = this.effects.get(effect);
    if (!known || known.generation !== this.generation) {
      known ??= new Listeners();
      known.generation = this.generation;
      this.#read(known, effect);
      this.effects.set(effect, known);
    }
    listeners.add(known);
  }

  /** @param {Listeners} listeners @param {any} effect */
  #read({ bits }, effect) {
    for (const key in effect) {
      const meanings = this.meanings.get(key);
      if (meanings && effect[key] !== undefined) for (const { id, bit } of meanings) bits[id] |= bit;
    }
  }

  /** @param {any} pokemon @returns {PokemonListeners} */
  pokemon(pokemon) {
    /** @type {PokemonListeners} */
    const listeners = pokemon[LISTENERS];
    if (
      listeners !== null &&
      listeners.generation === this.generation &&
      listeners.status === pokemon.status &&
      listeners.ability === pokemon.ability &&
      listeners.item === pokemon.item &&
      listeners.species === pokemon.baseSpecies &&
      hasKeys(pokemon.volatiles, listeners.volatiles) &&
      hasKeys(pokemon.side.slotConditions[pokemon.position], listeners.slots)
    ) {
      return listeners;
    }
    return this.#lookUpPokemon(pokemon);
  }

  /** @param {any} pokemon */
  #lookUpPokemon(pokemon) {
    /** @type {PokemonListeners} */
    const listeners = (pokemon[LISTENERS] ??= new PokemonListeners());
    const { conditions } = pokemon.battle.dex;
    listeners.generation = this.generation;
    listeners.status = pokemon.status;
    listeners.ability = pokemon.ability;
    listeners.item = pokemon.item;
    listeners.species = pokemon.baseSpecies;
    listeners.volatiles = keysOf(pokemon.volatiles);
    listeners.slots = keysOf(pokemon.side.slotConditions[pokemon.position]);
    listeners.clear();
    this.#include(listeners, pokemon.getStatus());
    this.#include(listeners, pokemon.getAbility());
    this.#include(listeners, pokemon.getItem());
    this.#include(listeners, pokemon.baseSpecies);
    for (const id of listeners.volatiles) this.#include(listeners, conditions.getByID(id));
    for (const id of listeners.slots) this.#include(listeners, conditions.getByID(id));
    return listeners;
  }

  /** @param {any} side @returns {SideListeners} */
  side(side) {
    /** @type {SideListeners} */
    let listeners = side[LISTENERS];
    if (
      listeners !== null &&
      listeners.generation === this.generation &&
      hasKeys(side.sideConditions, listeners.conditions)
    ) {
      return listeners;
    }
    listeners = side[LISTENERS] ??= new SideListeners();
    listeners.generation = this.generation;
    listeners.conditions = keysOf(side.sideConditions);
    listeners.clear();
    for (const id of listeners.conditions) {
      this.#include(listeners, side.battle.dex.conditions.getByID(id));
    }
    return listeners;
  }

  /** @param {any} field @returns {FieldListeners} */
  field(field) {
    /** @type {FieldListeners} */
    let listeners = field[LISTENERS];
    if (
      listeners !== null &&
      listeners.generation === this.generation &&
      listeners.weather === field.weather &&
      listeners.terrain === field.terrain &&
      hasKeys(field.pseudoWeather, listeners.pseudoWeather)
    ) {
      return listeners;
    }
    listeners = field[LISTENERS] ??= new FieldListeners();
    listeners.generation = this.generation;
    listeners.weather = field.weather;
    listeners.terrain = field.terrain;
    listeners.pseudoWeather = keysOf(field.pseudoWeather);
    listeners.clear();
    this.#include(listeners, field.getWeather());
    this.#include(listeners, field.getTerrain());
    for (const id of listeners.pseudoWeather) {
      this.#include(listeners, field.battle.dex.conditions.getByID(id));
    }
    return listeners;
  }

  /**
   * Whether `findEventHandlers` would find anybody. It may say so and be wrong, but not the other way round.
   * @param {any} battle
   * @param {Event} event
   * @param {any} target
   * @param {any} source a Pokémon, or nothing
   * @returns {boolean}
   */
  isHeard(battle, event, target, source) {
    const { prefixed } = event;
    if (target instanceof this.Pokemon) {
      if (target.isActive || source?.isActive) {
        if (this.#isHeardOnField(battle, event, target, source)) return true;
        if (this.#isHeardBySides(battle, event, target.side)) return true;
      } else if (source && prefixed && hears(this.pokemon(source), event, SOURCE)) {
        return true;
      }
    } else if (target !== battle || source) {
      return true;
    }
    return (
      hears(this.field(battle.field), event, ON) ||
      battle.format[event.on] !== undefined ||
      (battle.events !== null && battle.events[event.on] !== undefined)
    );
  }

  /**
   * Asks everybody on the field once, and the target and the source also if they are not.
   * @param {any} battle @param {Event} event @param {any} target @param {any} source
   */
  #isHeardOnField(battle, event, target, source) {
    const { prefixed } = event;
    const { gameType, sides } = battle;
    const { side } = target;
    let isTargetMet = false;
    let isSourceMet = !source || !prefixed;
    for (let i = 0; i < sides.length; i++) {
      const other = sides[i];
      const { active } = other;
      // Who counts as a foe among four depends on the kind of battle; here, whoever is no ally does.
      const isAlly = other === side || (gameType === 'multi' && other === side.allySide);
      const prefixes = prefixed ? (isAlly ? ALLY | ANY : FOE | ANY) : 0;
      for (let slot = 0; slot < active.length; slot++) {
        const pokemon = active[slot];
        if (!pokemon) continue;
        let bits = pokemon.hp ? prefixes : 0;
        if (pokemon === target) {
          bits |= ON;
          isTargetMet = true;
        }
        if (pokemon === source && prefixed) {
          bits |= SOURCE;
          isSourceMet = true;
        }
        if (bits !== 0 && hears(this.pokemon(pokemon), event, bits)) return true;
      }
    }
    if (!isTargetMet && hears(this.pokemon(target), event, ON)) return true;
    return !isSourceMet && hears(this.pokemon(source), event, SOURCE);
  }

  /** @param {any} battle @param {Event} event @param {any} target the target's side */
  #isHeardBySides(battle, event, target) {
    const { sides } = battle;
    for (let i = 0; i < sides.length; i++) {
      const side = sides[i];
      if (side.n >= 2 && side.allySide) continue;
      const isOwn = side === target || side === target.allySide;
      const bits = event.prefixed ? (isOwn ? ON | ANY : FOE | ANY) : isOwn ? ON : 0;
      if (hears(this.side(side), event, bits)) return true;
    }
    return false;
  }
}

/**
 * @param {Listeners} listeners
 * @param {Event} event
 * @param {number} bits
 * @returns {boolean}
 */
function hears(listeners, event, bits) {
  return (listeners.bits[event.id] & bits) !== 0;
}

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'listeners',
  needs: ['traits'],
  replaces: [
    'sim/battle Battle.findEventHandlers',
    'sim/battle Battle.findPokemonEventHandlers',
    'sim/battle Battle.findBattleEventHandlers',
    'sim/battle Battle.findFieldEventHandlers',
    'sim/battle Battle.findSideEventHandlers',
    'sim/battle Battle.getCallback',
    'sim/field Field.getTerrain',
    'sim/field Field.getWeather',
    'sim/pokemon Pokemon.alliesAndSelf',
    'sim/pokemon Pokemon.foes',
    'sim/pokemon Pokemon.getAbility',
    'sim/pokemon Pokemon.getItem',
    'sim/pokemon Pokemon.getStatus',
    'sim/side Side.activeTeam',
    'sim/side Side.allies',
    'sim/side Side.foes',
  ],
  inlines: [
    'Battle.findEventHandlers',
    'Battle.findPokemonEventHandlers',
    'Battle.findBattleEventHandlers',
    'Battle.findFieldEventHandlers',
    'Battle.findSideEventHandlers',
    'Battle.getCallback',
    'Field.getTerrain',
    'Field.getWeather',
    'Pokemon.alliesAndSelf',
    'Pokemon.foes',
    'Pokemon.getAbility',
    'Pokemon.getItem',
    'Pokemon.getStatus',
    'Side.activeTeam',
    'Side.allies',
    'Side.foes',
  ],
  edits: {
    'sim/pokemon': [{ site: '    this.m = {};\n', put: '    this.m = {};\n    this[turbo.LISTENERS] = null;\n' }],
    'sim/side': [
      { site: '    this.slotConditions = [];\n', put: '    this.slotConditions = [];\n    this[turbo.LISTENERS] = null;\n' },
    ],
    'sim/field': [
      { site: '    this.pseudoWeather = {};\n', put: '    this.pseudoWeather = {};\n    this[turbo.LISTENERS] = null;\n' },
    ],
  },
  methods: {
    'sim/battle': ({ Battle }, { use, runtime }) => {
      const { Pokemon } = use('sim/pokemon');
      const index = new Index(Pokemon);
      const vanilla = Battle.prototype.findEventHandlers;
      const { TRAITS } = runtime;
      Object.assign(runtime, { LISTENERS, ON, ANY, index, hears });
      return {
        Battle: {
          /** @this {any} @param {any} target @param {string} name @param {any} source */
          findEventHandlers(target, name, source) {
            if (!this[TRAITS].listeners || Array.isArray(target) || !(target instanceof Pokemon)) {
              return vanilla.call(this, target, name, source);
            }
            return find(this, index.event(name), target, source);
          },
        },
      };

      /**
       * In vanilla's order: target, allies, foes, source, sides, field, battle.
       * @param {any} battle
       * @param {Event} event
       * @param {any} target a Pokémon
       * @param {any} source
       * @returns {any[]}
       */
      function find(battle, event, target, source) {
        /** @type {any[]} */
        const handlers = [];
        const { prefixed } = event;
        let side = null;
        if (target.isActive || source?.isActive) {
          side = target.side;
          ask(battle, handlers, target, event, ON, event.on);
          if (prefixed) {
            for (const ally of target.alliesAndSelf()) {
              ask(battle, handlers, ally, event, ALLY, event.onAlly);
              ask(battle, handlers, ally, event, ANY, event.onAny);
            }
            for (const foe of target.foes()) {
              ask(battle, handlers, foe, event, FOE, event.onFoe);
              ask(battle, handlers, foe, event, ANY, event.onAny);
            }
          }
        }
        if (source && prefixed) ask(battle, handlers, source, event, SOURCE, event.onSource);
        if (side) {
          for (const other of battle.sides) {
            if (other.n >= 2 && other.allySide) continue;
            const isOwn = other === side || other === side.allySide;
            if (isOwn) askSide(battle, handlers, other, event, ON, event.on);
            else if (prefixed) askSide(battle, handlers, other, event, FOE, event.onFoe);
            if (prefixed) askSide(battle, handlers, other, event, ANY, event.onAny);
          }
        }
        if (hears(index.field(battle.field), event, ON)) {
          handlers.push(...battle.findFieldEventHandlers(battle.field, event.on));
        }
        handlers.push(...battle.findBattleEventHandlers(event.on));
        return handlers;
      }

      /**
       * @param {any} battle @param {any[]} handlers @param {any} pokemon @param {Event} event @param {number} bit
       * @param {string} callback
       */
      function ask(battle, handlers, pokemon, event, bit, callback) {
        if (hears(index.pokemon(pokemon), event, bit)) {
          handlers.push(...battle.findPokemonEventHandlers(pokemon, callback));
        }
      }

      /**
       * @param {any} battle @param {any[]} handlers @param {any} side @param {Event} event @param {number} bit
       * @param {string} callback
       */
      function askSide(battle, handlers, side, event, bit, callback) {
        if (hears(index.side(side), event, bit)) {
          handlers.push(...battle.findSideEventHandlers(side, callback));
        }
      }
    },
  },
};
