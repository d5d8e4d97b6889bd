'use strict';
/** Lines that raise and lower the stats of Pokémon on the field. */

const { copyFocus } = require('./hear-formes');
const { creditSource, showAbility } = require('./hear-possessions');

/**
 * @typedef {import('./lines').Line} Line
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 */

const MOST = 6;

/**
 * @param {Tracker} tracker
 * @param {Line} line
 * @param {number} sign
 */
function addBoost(tracker, line, sign) {
  const slot = tracker.slot(line.part(1));
  const stat = tracker.names.boosts.get(line.part(2));
  if (!slot || stat === undefined) return;
  const sum = slot.boosts[stat] + sign * (Number(line.part(3)) || 0);
  slot.boosts[stat] = Math.max(-MOST, Math.min(MOST, sum));
  creditSource(tracker, line, line.part(1));
}

/** @type {Hear} */
function hearSetBoost(tracker, line) {
  const slot = tracker.slot(line.part(1));
  const stat = tracker.names.boosts.get(line.part(2));
  if (!slot || stat === undefined) return;
  slot.boosts[stat] = Math.max(-MOST, Math.min(MOST, Number(line.part(3)) || 0));
  creditSource(tracker, line, line.part(1));
}

/** @type {Hear} */
function hearSwapBoost(tracker, line) {
  const [one, other] = [tracker.slot(line.part(1)), tracker.slot(line.part(2))];
  if (!one || !other) return;
  const listed = line.plain(3);
  for (const [name, stat] of tracker.names.boosts) {
    if (listed && !listed.split(', ').includes(name)) continue;
    [one.boosts[stat], other.boosts[stat]] = [other.boosts[stat], one.boosts[stat]];
  }
}

/** @type {Hear} */
function hearCopyBoost(tracker, line) {
  const [copier, copied] = [tracker.slot(line.part(1)), tracker.slot(line.part(2))];
  if (!copier || !copied) return;
  copier.boosts.set(copied.boosts);
  if (tracker.gen >= 6) copyFocus(tracker, copier, copied);
  if (line.fromPart) showAbility(tracker, line.part(1), tracker.effect(line.from).ability);
}

/**
 * @param {(boost: number) => number} change
 * @returns {Hear}
 */
function changesBoosts(change) {
  return (tracker, line) => {
    const boosts = tracker.slot(line.part(1))?.boosts;
    if (!boosts) return;
    for (let stat = 0; stat < boosts.length; stat++) boosts[stat] = change(boosts[stat]);
    if (line.fromPart) creditSource(tracker, line, line.part(1));
  };
}

/** @type {Hear} */
function hearClearAll(tracker) {
  const { focusenergy } = tracker.names.volatiles;
  tracker.eachActive((slot) => {
    slot.boosts.fill(0);
    // Haze ends it, and does not say so.
    if (tracker.gen === 4) slot.volatiles[focusenergy] = 0;
  });
}

/** @type {[string, Hear][]} */
const boostLines = [
  ['-boost', (tracker, line) => addBoost(tracker, line, 1)],
  ['-unboost', (tracker, line) => addBoost(tracker, line, -1)],
  ['-setboost', hearSetBoost],
  ['-swapboost', hearSwapBoost],
  ['-copyboost', hearCopyBoost],
  ['-invertboost', changesBoosts((boost) => -boost)],
  ['-clearboost', changesBoosts(() => 0)],
  ['-clearpositiveboost', changesBoosts((boost) => Math.min(boost, 0))],
  ['-clearnegativeboost', changesBoosts((boost) => Math.max(boost, 0))],
  ['-clearallboost', hearClearAll],
];

module.exports = { boostLines };
