'use strict';
/**
 * Vanilla: makes the id of a name anew, with a regular expression, every time anybody asks for it.
 * Instead: remembers the ids of short texts, and gives the same string each time: one that the engine knows as a property
 * name, so that what is looked up by it is found without comparing letters.
 * Same, because: the id of a text depends on nothing but the text. Players choose names, so the memory is emptied when
 * it is full, and it holds copies of the texts, not slices of whatever they came in.
 */

/** More than all names and ids of the simulator that a process meets. */
const MOST_IDS = 16384;
const LONGEST_TEXT = 40;

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'to-id',
  edits: {
    'sim/dex-data': [
      {
        site: '  return text.toLowerCase().replace(/[^a-z0-9]+/g, "");\n}',
        put: `  return ids.get(text) ?? newID(text);
}
const ids = turbo.ids = new Map();
function newID(text) {
  const id = text.toLowerCase().replace(/[^a-z0-9]+/g, "");
  if (text.length > ${LONGEST_TEXT}) return id;
  if (ids.size === ${MOST_IDS}) ids.clear();
  const known = asPropertyName(id);
  ids.set(asPropertyName(text), known);
  return known;
}
function asPropertyName(text) {
  // Made without a prototype, it is a hash table from the start: names that go through an object literal would fill the
  // engine's table of hidden classes, and leave every object made later with one of its own.
  const names = Object.create(null);
  names[text] = true;
  return Object.keys(names)[0];
}`,
      },
    ],
  },
};
