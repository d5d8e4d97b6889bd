'use strict';
/** A line as a command: an object with a number. What it asks for is not looked at here. */

const { isUtf8 } = require('node:buffer');
const { Refusal } = require('./refusal');

/**
 * @param {Buffer | null} line null for one that was too long
 * @param {number} maximum bytes that a line may have
 * @returns {{id: number, [field: string]: unknown}}
 */
function parseCommand(line, maximum) {
  if (line === null) throw new Refusal('oversize', `a frame has at most ${maximum} bytes`);
  if (!isUtf8(line)) throw new Refusal('not_json', 'a line is not UTF-8');
  let command;
  try {
    command = JSON.parse(line.toString('utf8'));
  } catch (error) {
    throw new Refusal('not_json', /** @type {Error} */ (error).message);
  }
  if (typeof command !== 'object' || command === null || Array.isArray(command)) {
    throw new Refusal('not_object', 'a command is a JSON object');
  }
  if (!Number.isSafeInteger(command.id) || command.id <= 0) {
    throw new Refusal('bad_field', 'id is not a positive whole number');
  }
  return command;
}

module.exports = { parseCommand };
