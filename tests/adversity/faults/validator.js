'use strict';
/** Teams that break the validator: a Pokémon of one of the names below does what it says. */

const folder = process.argv.find((word) => word.startsWith('--simulator='))?.slice('--simulator='.length);
const { TeamValidator } = require(String(folder));

const { validateTeam } = TeamValidator.prototype;

/** @this {any} */
TeamValidator.prototype.validateTeam = function (/** @type {any} */ team, /** @type {any} */ options) {
  const name = team?.[0]?.name;
  if (name === 'fault throw') throw new Error('thrown by a test');
  if (name === 'fault exit') process.exit(7);
  return validateTeam.call(this, team, options);
};
