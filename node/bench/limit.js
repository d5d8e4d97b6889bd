'use strict';
/**
 * What the simulator itself takes: random battles inside one process, in Node as it comes, with no IPC.
 *
 * node limit.js --simulator FOLDER [--turbo [--off PATCH,PATCH] [--cache FOLDER]] [--observe GROUP,GROUP]
 *
 * With --observe, both sides are shown an observation of these groups for each decision and at the end, as rooms show it;
 * with none of them, nobody observes, and all else is as it is with some: what they differ in is tracking and encoding.
 * Reads a line of JSON, {"battles": [{format, seed, p1, p2, policies}]}, plays these one after another,
 * and answers with a line, a list of one: how many decisions and turns that took, and what CPU time and memory.
 */

const readline = require('node:readline');
const { parseArgs } = require('node:util');
const { Observer } = require('../observation/observer');
const { REQUEST } = require('../turbo/receiver');
const { RandomPolicy } = require('../lib/random-policy');
const { seenBy } = require('../lib/room');
const { loadSimulator } = require('../lib/simulator');

/**
 * @typedef {{format: any, seed: any, p1: any, p2: any, policies: [number, number]}} Spec
 * @typedef {'p1' | 'p2'} SideId
 */

/** What the simulator says, heard as a room hears it: by an observer, or by nobody. */
class Audience {
  /** @param {string[]} groups */
  constructor(groups) {
    this.observer = groups.length ? new Observer({ p1: groups, p2: groups }) : null;
    this.send = Object.assign((/** @type {string} */ type, /** @type {any} */ data) => this.#hear(type, data), {
      [REQUEST]: (/** @type {SideId} */ side, /** @type {object | null} */ request) => this.#ask(side, request),
    });
  }

  /**
   * @param {string} type
   * @param {any} data
   */
  #hear(type, data) {
    if (type === 'update') this.observer?.hear(seenBy('nobody', data));
    else if (type === 'sideupdate' && data.startsWith('|request|', 3)) {
      this.#ask(data.slice(0, 2), JSON.parse(data.slice(12)));
    }
  }

  /**
   * @param {SideId} side
   * @param {object | null} request nothing is asked of a battle that is over
   */
  #ask(side, request) {
    if (request) this.observer?.ask(side, request);
  }

  /** @param {SideId} side */
  look(side) {
    this.observer?.encode(side);
  }
}

const NOBODY = { send: () => {}, look: (/** @type {SideId} */ _side) => {} };

/**
 * Plays one battle as the simulator's own stream would drive it, only that nobody reads what it sends.
 * A decision is a choice that the simulator took, as it is in the pool.
 * @param {import('../lib/simulator').Simulator} simulator
 * @param {Spec} spec
 * @param {string[] | null} groups
 */
function playBattle({ Battle }, { format, seed, p1, p2, policies }, groups) {
  const audience = groups ? new Audience(groups) : NOBODY;
  const battle = new Battle({ formatid: format, seed, p1, p2, send: audience.send });
  battle.sendUpdates();
  const seats = policies.map((state) => new RandomPolicy(state));
  let decisions = 0;
  while (!battle.ended) {
    for (const [index, side] of battle.sides.entries()) {
      while (side.activeRequest && !side.activeRequest.wait && !side.isChoiceDone()) {
        /** @type {any} */
        const request = side.activeRequest;
        audience.look(/** @type {SideId} */ (side.id));
        // Of an earlier refusal; the simulator sets it when it asks again.
        request.update = false;
        if (battle.choose(side.id, seats[index].choose(request))) {
          decisions++;
          break;
        }
        // Asked again with what the refusal revealed: choose again. Otherwise let the simulator choose.
        if (!request.update && battle.choose(side.id, 'default')) decisions++;
      }
      if (battle.ended) break;
    }
    battle.sendUpdates();
  }
  for (const side of battle.sides) audience.look(/** @type {SideId} */ (side.id));
  const turns = battle.turn;
  battle.destroy();
  return { decisions, turns };
}

/**
 * @param {import('../lib/simulator').Simulator} simulator
 * @param {Spec[]} battles
 * @param {string[] | null} groups
 */
function measure(simulator, battles, groups) {
  const before = process.cpuUsage();
  const start = process.hrtime();
  let decisions = 0;
  let turns = 0;
  for (const spec of battles) {
    simulator.Dex.formats.validate(spec.format);
    const played = playBattle(simulator, spec, groups);
    decisions += played.decisions;
    turns += played.turns;
  }
  const [seconds, nanoseconds] = process.hrtime(start);
  const { user, system } = process.cpuUsage(before);
  return {
    battles: battles.length,
    decisions,
    turns,
    wall: seconds + nanoseconds / 1e9,
    node_cpu: (user + system) / 1e6,
    node_memory: process.memoryUsage().rss,
  };
}

const { values } = parseArgs({
  options: {
    simulator: { type: 'string' },
    turbo: { type: 'boolean' },
    off: { type: 'string', default: '' },
    cache: { type: 'string' },
    observe: { type: 'string' },
  },
});
const simulator = loadSimulator(String(values.simulator), {
  turbo: values.turbo,
  cache: values.cache,
  off: values.off.split(',').filter(Boolean),
});
const groups = values.observe === undefined ? null : values.observe.split(',').filter(Boolean);
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  try {
    process.stdout.write(JSON.stringify([measure(simulator, JSON.parse(line).battles, groups)]) + '\n');
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).message}\n`);
    process.exit(1);
  }
});
