'use strict';
/** Lines that tell of the field and of what lies around the sides: weather, terrain, rooms, hazards, screens. */

const { creditSource } = require('./hear-possessions');

/**
 * @typedef {import('./tracker').Hear} Hear
 * @typedef {import('./tracker').Tracker} Tracker
 */

/** Hazards of which more than one layer can lie. @type {Record<string, number>} */
const MOST_LAYERS = { spikes: 3, toxicspikes: 2 };

/** @type {Hear} */
function hearWeather(tracker, line) {
  const { weather } = tracker.effect(line.part(1));
  if (weather < 0) return;
  creditSource(tracker, line, '');
  if (weather === tracker.weather && line.has('[upkeep]')) return;
  tracker.weather = weather;
  tracker.weatherSince = tracker.turn;
}

/** @type {Hear} */
function hearFieldStart(tracker, line) {
  const effect = tracker.effect(line.part(1));
  creditSource(tracker, line, '');
  if (effect.terrain > 0) {
    tracker.terrain = effect.terrain;
    tracker.terrainSince = tracker.turn;
  } else if (effect.field >= 0) {
    tracker.fields[effect.field] = tracker.turn;
  }
}

/** @type {Hear} */
function hearFieldEnd(tracker, line) {
  const effect = tracker.effect(line.part(1));
  if (effect.terrain > 0) {
    if (effect.terrain === tracker.terrain) tracker.terrain = 0;
  } else if (effect.field >= 0) {
    tracker.fields[effect.field] = -1;
  }
}

/** Fields that end with the turn, or with the next one, are not said to start. @type {Hear} */
function hearFieldActivate(tracker, line) {
  const { field } = tracker.effect(line.part(1));
  if (field >= 0) tracker.fields[field] = tracker.turn;
}

/** @type {Hear} */
function hearSideStart(tracker, line) {
  const conditions = tracker.side(line.part(1))?.conditions;
  const effect = tracker.effect(line.part(2));
  if (!conditions) return;
  const { hazards, screens } = conditions;
  if (effect.hazard >= 0) hazards[effect.hazard] = Math.min(hazards[effect.hazard] + 1, MOST_LAYERS[effect.id] ?? 1);
  else if (effect.screen >= 0) screens[effect.screen] = tracker.turn;
}

/** @type {Hear} */
function hearSideEnd(tracker, line) {
  const conditions = tracker.side(line.part(1))?.conditions;
  const effect = tracker.effect(line.part(2));
  if (!conditions) return;
  if (effect.hazard >= 0) conditions.hazards[effect.hazard] = 0;
  else if (effect.screen >= 0) conditions.screens[effect.screen] = -1;
}

/** @type {Hear} */
function hearCourtChange({ sides: { p1, p2 } }) {
  [p1.conditions, p2.conditions] = [p2.conditions, p1.conditions];
}

/** @type {[string, Hear][]} */
const fieldLines = [
  ['-weather', hearWeather],
  ['-fieldstart', hearFieldStart],
  ['-fieldend', hearFieldEnd],
  ['-fieldactivate', hearFieldActivate],
  ['-sidestart', hearSideStart],
  ['-sideend', hearSideEnd],
  ['-swapsideconditions', hearCourtChange],
];

module.exports = { fieldLines };
