'use strict';
/** Finds methods and sites in the text of the simulator's compiled files, each exactly once or not at all. */

const { createHash } = require('node:crypto');

/** A place in the simulator that turbo does not find as it knows it. */
class UnknownSite extends Error {}

/**
 * @param {string} text
 * @param {string} part
 * @returns {number} how often the part stands in the text
 */
function count(text, part) {
  return text.split(part).length - 1;
}

/**
 * The text of a class or a function of the module, or of a method of one of its classes, or of the class that its only
 * object is made of. The compiler that made these files indents by two spaces, and so ends each with a brace at the
 * depth where it began.
 * @param {string} source
 * @param {string} name `toID` or `Battle.runEvent`
 * @returns {string}
 */
function textOf(source, name) {
  const [outer, method] = name.split('.');
  const begin = new RegExp(`^(?:(?:class|(?:async )?function) ${outer}|const ${outer} = new class)\\b`, 'gm');
  const whole = between(source, begin, '\n}', name);
  return method ? between(whole, new RegExp(`^  (?:static )?(?:get )?${method}\\(`, 'gm'), '\n  }', name) : whole;
}

/**
 * @param {string} text
 * @param {RegExp} start
 * @param {string} end
 * @param {string} name
 */
function between(text, start, end, name) {
  const found = [...text.matchAll(start)];
  if (found.length !== 1) throw new UnknownSite(`${name} is there ${found.length} times`);
  const from = found[0].index;
  const to = text.indexOf(end, from);
  if (to < 0) throw new UnknownSite(`${name} has no end`);
  return text.slice(from, to + end.length);
}

/**
 * @param {string} source
 * @param {string} name
 * @returns {string} what tells this text of a method from any other
 */
function fingerprint(source, name) {
  return createHash('sha256').update(textOf(source, name)).digest('hex').slice(0, 16);
}

/**
 * @typedef {{site: string, put: string}} Edit
 */

/**
 * @param {string} source
 * @param {Edit} edit
 * @returns {string}
 */
function edited(source, { site, put }) {
  const times = count(source, site);
  if (times !== 1) throw new UnknownSite(`the site ${JSON.stringify(site.slice(0, 60))} is there ${times} times`);
  return source.replace(site, () => put);
}

module.exports = { UnknownSite, edited, fingerprint, textOf };
