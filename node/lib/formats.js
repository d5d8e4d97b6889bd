'use strict';
/** What whoever runs battles has to know of a format, and which teams it takes. */

const { Refusal } = require('./refusal');

/** @typedef {import('./simulator').Simulator} Simulator */

// The words of the simulator's own server.
const CRASHED = 'Your team crashed the validator.';

/**
 * @param {Simulator} simulator
 * @param {string} name
 * @returns {string} the id of a format for two players, with its custom rules
 */
function requireFormat({ Dex }, name) {
  let id;
  try {
    id = Dex.formats.validate(name);
  } catch (error) {
    throw new Refusal('rejected', /** @type {Error} */ (error).message);
  }
  const format = Dex.formats.get(id, true);
  if (format.playerCount !== 2) {
    throw new Refusal('rejected', `${format.name} is for ${format.playerCount} players; rooms have two sides`);
  }
  return id;
}

/**
 * @param {Simulator} simulator
 * @param {string} id
 */
function describeFormat({ Dex }, id) {
  const format = Dex.formats.get(id, true);
  const rules = Dex.formats.getRuleTable(format);
  const bestOf = rules.valueRules.get('bestof');
  return {
    id,
    name: format.name,
    game_type: format.gameType,
    needs_team: !format.team,
    best_of: bestOf === undefined ? null : Number(bestOf),
    is_ladder: Boolean(format.searchShow),
    rated: format.rated !== false,
    offers_team_sheets: rules.has('openteamsheets'),
    has_team_preview: hasTeamPreview(Dex, format, rules),
    timer: rules.timer?.[0] ?? {},
  };
}

/**
 * @param {Simulator['Dex']} Dex
 * @param {ReturnType<Simulator['Dex']['formats']['get']>} format
 * @param {ReturnType<Simulator['Dex']['formats']['getRuleTable']>} rules
 */
function hasTeamPreview(Dex, format, rules) {
  const { formats } = Dex.forFormat(format);
  const isShown = (/** @type {string} */ rule) => !'+*-!'.includes(rule.charAt(0)) && formats.get(rule).onTeamPreview;
  return Boolean(format.onTeamPreview || rules.pickedTeamSize || [...rules.keys()].some(isShown));
}

/**
 * @param {Simulator} simulator
 * @param {string} id of a format
 * @param {string | undefined} text packed or export text
 * @returns {string | null} the team as packed; null where the format makes teams by itself
 */
function validateTeam({ Dex, Teams, TeamValidator }, id, text) {
  const format = Dex.formats.get(id, true);
  if (format.team) return null;
  let team;
  let problems;
  try {
    team = text ? Teams.import(text) : null;
    problems = TeamValidator.get(format).validateTeam(team);
  } catch (error) {
    problems = [CRASHED, String(error).slice(0, 1000)];
  }
  if (problems?.length) throw new Refusal('rejected', problems.join('\n'), problems);
  return Teams.pack(team ?? null);
}

module.exports = { describeFormat, requireFormat, validateTeam };
