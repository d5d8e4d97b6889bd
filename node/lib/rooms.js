'use strict';
/** The rooms of this process, and the commands that act on them. */

const { Background } = require('./background');
const { describeFormat, requireFormat, validateTeam } = require('./formats');
const { Refusal } = require('./refusal');
const { Room, SIDES } = require('./room');
const {
  requireAnswer,
  requireFlag,
  requireMoves,
  requirePlayer,
  requireRated,
  requireReason,
  requireSeed,
  requireSide,
  requireTeam,
  requireText,
  requireViews,
  requireWhole,
  requireWords,
} = require('./fields');
const { WarmUp } = require('./warm-up');
const { readSpec } = require('../observation/spec');

/**
 * @typedef {import('./room').SideId} SideId
 * @typedef {{id: number, op: string, room?: string, [field: string]: unknown}} Command
 * @typedef {() => string} Report encodes what a command led to as JSON members of the frame that answers it
 */

/**
 * Battles after which most of the code that a battle needs is compiled, and kept for the next process; and between two
 * times when that is done for what has been loaded since.
 */
const FIRST_COMPILED = 10;
const COMPILED = 100;
/** The games that there are observations of. */
const OBSERVED = ['singles', 'doubles'];

/** @type {Report} */
const NOTHING = () => '';

class Rooms {
  /**
   * @param {import('./simulator').Simulator} simulator
   * @param {Background} [background] where warm-up battles are played
   */
  constructor(simulator, background = new Background(() => false)) {
    this.simulator = simulator;
    this.background = background;
    this.spec = readSpec();
    this.warmUp = new WarmUp(simulator);
    this.warmUp.onBattle = (battles) => {
      if (battles === FIRST_COMPILED || battles % COMPILED === 0) background.addFirst(simulator.remember());
    };
    /** @type {Map<string, Room>} */
    this.rooms = new Map();
    /** @type {Record<string, (command: Command) => Report>} */
    this.operations = {
      open: (command) => this.#open(command),
      choose: (command) => this.#choose(command),
      play: (command) => this.#play(command),
      undo: (command) => this.#undo(command),
      forfeit: (command) => this.#forfeit(command),
      tie: (command) => this.#tie(command),
      sheets: (command) => this.#showTeamSheets(command),
      fork: (command) => this.#fork(command),
      close: (command) => this.#close(command),
      warm: (command) => this.#warm(command),
      describe: (command) => this.#describe(command),
      validate: (command) => this.#validate(command),
    };
  }

  /**
   * Does what a command says. Throws `Refusal` if it does not fit; anything else that is thrown is the
   * simulator's doing, and its room is gone.
   * @param {Command} command
   * @returns {Report}
   */
  run(command) {
    const { op } = command;
    if (typeof op !== 'string' || !Object.hasOwn(this.operations, op)) {
      throw new Refusal('unknown_op', `unknown op ${JSON.stringify(op)?.slice(0, 100)}`);
    }
    return this.operations[op](command);
  }

  /**
   * What a refused command made its room say all the same: a choice that cannot be may reveal why.
   * @param {string | undefined} tag
   * @returns {string}
   */
  take(tag) {
    return (tag !== undefined && this.rooms.get(tag)?.take()) || '';
  }

  /** @param {string | undefined} tag */
  drop(tag) {
    if (tag !== undefined) this.rooms.delete(tag);
  }

  /** @param {Command} command */
  #open(command) {
    const tag = requireText(command, 'room', 200);
    if (this.rooms.has(tag)) throw new Refusal('room_exists', `there is a room ${tag} already`);
    const format = this.#format(command);
    const seed = requireSeed(command);
    const rated = requireRated(command);
    const replay = command.replay === undefined ? null : requireMoves(command.replay);
    const expected = command.rqid === undefined ? 0 : requireWhole(command, 'rqid');
    const ask = command.ask !== undefined && requireFlag(command, 'ask');
    const view = this.#views(command, format);
    const valid = SIDES.filter((id) => isMarkedValid(command, id));
    const players = {
      p1: requirePlayer(command, 'p1'),
      p2: requirePlayer(command, 'p2'),
    };
    if (players.p1.name === players.p2.name) {
      throw new Refusal('rejected', `both players are called ${JSON.stringify(players.p1.name)}`);
    }
    const room = new Room(this.simulator, tag, view);
    if (replay) {
      for (const id of SIDES) this.#packTeam(players[id]);
      room.start({ format, seed, players, rated });
      resume(room, replay);
      room.take();
      const { newestTold } = room;
      if (expected && expected !== newestTold) {
        throw new Refusal('diverged', `the replay leads to request ${newestTold}, but the battle was at ${expected}`);
      }
      if (ask) room.askAgain();
    } else {
      // What the simulator throws before there is a battle says why there cannot be one.
      orReject(() => this.#admitTeams(format, players, valid));
      orReject(() => room.start({ format, seed, players, rated }));
    }
    this.rooms.set(tag, room);
    const teams = [players.p1.team ?? null, players.p2.team ?? null];
    return () => `,"teams":${JSON.stringify(teams)}${this.#report(room)}`;
  }

  /** @param {Command} command */
  #format(command) {
    return requireFormat(this.simulator, requireText(command, 'format', 2000));
  }

  /**
   * @param {Command} command
   * @param {string} id of the format
   */
  #views(command, id) {
    const view = requireViews(command, this.spec.groups);
    const { name, gameType } = this.simulator.Dex.formats.get(id, true);
    if (SIDES.some((side) => view[side].observe) && !OBSERVED.includes(gameType)) {
      throw new Refusal('rejected', `${name} is ${gameType}; there are observations of ${OBSERVED.join(' and ')}`);
    }
    return view;
  }

  /**
   * Validates given teams and replaces them with their packed form, as the battle will use them.
   * @param {string} formatId
   * @param {Record<SideId, import('./room').Player>} players
   * @param {SideId[]} valid whose team was validated before
   */
  #admitTeams(formatId, players, valid) {
    const { Dex, Teams, TeamValidator } = this.simulator;
    const format = Dex.formats.get(formatId, true);
    for (const id of SIDES) {
      const player = players[id];
      if (player.team === undefined) {
        if (!format.team) throw new Refusal('rejected', `${format.name} needs a team for ${id}`);
        continue;
      }
      if (valid.includes(id)) {
        this.#packTeam(player);
        continue;
      }
      const team = Teams.import(player.team);
      if (!team || !team.length) throw new Refusal('rejected', `the team of ${id} cannot be read`);
      const problems = TeamValidator.get(format).validateTeam(team);
      if (problems) throw new Refusal('rejected', `the team of ${id} is not legal:\n${problems.join('\n')}`, problems);
      player.team = Teams.pack(team);
    }
  }

  /**
   * Packs a team that is not: a battle that broke as it started is replayed with its teams as they were given.
   * @param {import('./room').Player} player
   */
  #packTeam(player) {
    const { Teams } = this.simulator;
    const { team } = player;
    if (team === undefined) return;
    const isPacked = !team.startsWith('[') && Teams.unpack(team) !== null;
    if (!isPacked) player.team = Teams.pack(Teams.import(team));
  }

  /** @param {Command} command */
  #choose(command) {
    const room = this.#room(command);
    room.choose(requireSide(command), requireWords(command), requireWhole(command, 'rqid'));
    return () => this.#report(room);
  }

  /** @param {Command} command */
  #play(command) {
    const room = this.#room(command);
    const refusals = room.play({ p1: requireAnswer(command, 'p1'), p2: requireAnswer(command, 'p2') });
    return () => `${refusedMembers(refusals)}${this.#report(room)}`;
  }

  /** @param {Command} command */
  #undo(command) {
    const room = this.#room(command);
    room.undo(requireSide(command), requireWhole(command, 'rqid'));
    return () => this.#report(room);
  }

  /** @param {Command} command */
  #forfeit(command) {
    const room = this.#room(command);
    room.apply({ op: 'forfeit', side: requireSide(command), reason: requireReason(command) });
    return () => this.#report(room);
  }

  /** @param {Command} command */
  #tie(command) {
    const room = this.#room(command);
    room.apply({ op: 'tie', reason: requireReason(command) });
    return () => this.#report(room);
  }

  /** @param {Command} command */
  #showTeamSheets(command) {
    const room = this.#room(command);
    room.apply({ op: 'sheets' });
    return () => this.#report(room);
  }

  /** @param {Command} command */
  #fork(command) {
    const tag = requireText(command, 'as', 200);
    if (this.rooms.has(tag)) throw new Refusal('room_exists', `there is a room ${tag} already`);
    const room = this.#room(command);
    let copy;
    try {
      copy = room.fork(tag);
    } catch (error) {
      // The battle itself is sound; it is only that the simulator cannot serialise every format.
      throw new Refusal('unforkable', String(error));
    }
    copy.askAgain();
    this.rooms.set(tag, copy);
    return () => this.#report(copy);
  }

  /** @param {Command} command */
  #close(command) {
    const room = this.#room(command);
    this.rooms.delete(room.tag);
    room.destroy();
    return NOTHING;
  }

  /** @returns {string} how the process is, as JSON members of a frame */
  vitals() {
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const cpu = (user + system) / 1e6;
    const warmth = JSON.stringify(this.warmUp.warmth);
    const left = JSON.stringify(this.simulator.left);
    return `,"rooms":${this.rooms.size},"rss":${rss},"heap":${heapUsed},"cpu":${cpu},"warm":${warmth},"left":${left}`;
  }

  /**
   * Asks for warm-up battles, which are played once nothing else is to be done.
   * @param {Command} command
   */
  #warm(command) {
    const id = this.#format(command);
    const battles = requireWhole(command, 'battles');
    const format = this.simulator.Dex.formats.get(id, true);
    if (!format.team) throw new Refusal('rejected', `${format.name} has no random teams to warm up with`);
    const task = this.warmUp.want(id, battles);
    if (task) this.background.add(task);
    return () => this.vitals();
  }

  /** @param {Command} command */
  #describe(command) {
    const facts = describeFormat(this.simulator, this.#format(command));
    return () => `,"facts":${JSON.stringify(facts)}`;
  }

  /** @param {Command} command */
  #validate(command) {
    const team = validateTeam(this.simulator, this.#format(command), requireTeam(command, 'the team'));
    return () => `,"team":${JSON.stringify(team)}`;
  }

  /** @param {Command} command */
  #room(command) {
    const tag = requireText(command, 'room', 200);
    const room = this.rooms.get(tag);
    if (!room) throw new Refusal('unknown_room', `there is no room ${tag}`);
    return room;
  }

  /**
   * Encodes what a room has to say, and forgets the room if that was the last of it.
   * @param {Room} room
   */
  #report(room) {
    const members = room.take();
    if (room.ended) {
      this.rooms.delete(room.tag);
      room.destroy();
      this.warmUp.count();
    }
    return members;
  }
}

/**
 * @param {Command} command
 * @param {SideId} side
 * @returns {boolean} whether the player's team was validated before
 */
function isMarkedValid(command, side) {
  const player = command[side];
  if (typeof player !== 'object' || player === null || !('valid' in player)) return false;
  return requireFlag(/** @type {Record<string, unknown>} */ (player), 'valid');
}

/**
 * What was refused is told side by side; what was not refused has been done.
 * @param {Partial<Record<SideId, Refusal>>} refusals
 * @returns {string} them as a JSON member of a frame, if there are any
 */
function refusedMembers(refusals) {
  const refused = Object.values(refusals);
  if (!refused.length) return '';
  const code = refused.find((refusal) => refusal.code !== 'stale')?.code ?? 'stale';
  const message = refused.map((refusal) => refusal.message).join('; ');
  const sides = Object.fromEntries(Object.entries(refusals).map(([id, { code, message }]) => [id, { code, message }]));
  return `,"error":${JSON.stringify({ code, message, sides })}`;
}

/** @param {() => void} attempt */
function orReject(attempt) {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('rejected', `the simulator cannot start this: ${String(error).slice(0, 1000)}`);
  }
}

/**
 * Plays a journal again, silently: what it produced was delivered the first time.
 * @param {Room} room
 * @param {import('./room').Move[]} moves
 */
function resume(room, moves) {
  for (const move of moves) {
    try {
      room.apply(move);
    } catch (error) {
      // A refused choice that made the simulator ask again is part of the journal, and is refused again.
      if (!(error instanceof Refusal)) throw error;
    }
  }
}

module.exports = { Rooms };
