'use strict';
/** The reasons for which a command is refused; Python turns each code into a typed error. */

/**
 * not_json, not_object, oversize, unknown_op, bad_field: the line itself is not a command.
 * unknown_room, room_exists: the room tag does not fit.
 * rejected: the battle cannot start. stale, invalid: the choice does not fit.
 * diverged: a replay does not lead to where the battle was.
 * unforkable: the simulator cannot copy the battle, which can only be played again.
 * crashed: the simulator threw; the room is gone.
 * @typedef {'not_json' | 'not_object' | 'oversize' | 'unknown_op' | 'bad_field' | 'unknown_room'
 *   | 'room_exists' | 'rejected' | 'stale' | 'invalid' | 'diverged' | 'unforkable'
 *   | 'crashed'} Code
 */

/** A command that is refused and has changed nothing. */
class Refusal extends Error {
  /**
   * @param {Code} code
   * @param {string} message
   * @param {string[]} [problems] of a team, one by one
   */
  constructor(code, message, problems) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

module.exports = { Refusal };
