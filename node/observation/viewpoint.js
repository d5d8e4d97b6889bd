'use strict';
/**
 * Turns what a player is shown of a battle into what a spectator is shown: observations are made of that. Knows lines
 * alone, as a server sends them.
 *
 * The simulator writes some lines twice, one for a player's own eyes. These have the exact HP of the player's Pokémon, where
 * everybody else sees percents or pixels, or are about something that nobody else is told.
 */

const { Line, sideOf } = require('./lines');

/** @typedef {'p1' | 'p2'} SideId */

/** Where the condition of a Pokémon stands in a line that has one, and in two wordings. @type {Map<string, number>} */
const CONDITIONS = new Map([
  ['switch', 3],
  ['drag', 3],
  ['-damage', 2],
  ['-heal', 2],
  ['-sethp', 2],
]);
const CONDITION = /^(\d+)\/(\d+)(.*)$/;
/** From then on there are no pixels, whatever the rules. */
const PERCENTS_SINCE = 7;
/** From then on two colours tell apart what is as many pixels. */
const COLOURS_SINCE = 5;
const PIXELS = 48;
/** Until then a player alone is told of its own Pressure. */
const PRESSURE_IS_QUIET_UNTIL = 3;

class Viewpoint {
  /** @param {SideId} side whose player is shown the lines */
  constructor(side) {
    this.side = side;
    this.gen = 9;
    /** How everybody sees HP. @type {'exact' | 'percent' | 'champions' | ''} */
    this.rule = '';
    /** Whether the opponent's Pokémon are shown in a team preview, and so the own ones to everybody. */
    this.isPreviewOpen = false;
    /** Own Pokémon of a preview of which that is not known yet. @type {string[]} */
    this.held = [];
    this.line = new Line();
  }

  /**
   * @param {string} text one line of the protocol, as the player is shown it
   * @param {(text: string) => void} tell called for each line that a spectator is shown by now
   */
  show(text, tell) {
    const end = text.indexOf('|', 1);
    const command = end < 0 ? text.slice(1) : text.slice(1, end);
    const at = CONDITIONS.get(command);
    if (at !== undefined) {
      tell(this.#isOwn(text, end) ? this.#withSharedCondition(text, at) : text);
      return;
    }
    switch (command) {
      case 'gen':
        this.gen = Number(text.slice(end + 1)) || this.gen;
        break;
      case 'tier':
        this.#hearTier(text.slice(end + 1));
        break;
      case 'rule':
        this.#hearRule(text.slice(end + 1));
        break;
      case 'poke':
        if (this.#isOwn(text, end) && !this.isPreviewOpen) {
          this.held.push(text);
          return;
        }
        this.isPreviewOpen = true;
        this.held.forEach(tell);
        this.held.length = 0;
        break;
      case 'clearpoke':
        this.isPreviewOpen = false;
        this.held.length = 0;
        break;
      case '-ability':
        if (this.#isQuietPressure(text, end)) return;
        break;
    }
    tell(text);
  }

  /**
   * @param {string} text
   * @param {number} end of its command
   */
  #isOwn(text, end) {
    return sideOf(text.slice(end + 1, end + 3)) === this.side;
  }

  /** @param {string} tier the name of the format */
  #hearTier(tier) {
    // These show exact HP and have no rule that says so.
    if (tier.includes('Custom Game')) this.rule = 'exact';
    else if (tier.includes('Champions]')) this.rule = 'champions';
  }

  /** @param {string} rule */
  #hearRule(rule) {
    if (rule.startsWith('Exact HP Mod')) this.rule = 'exact';
    else if (rule.startsWith('HP Percentage Mod')) this.rule ||= 'percent';
  }

  /**
   * @param {string} text
   * @param {number} at the part that is a condition
   */
  #withSharedCondition(text, at) {
    if (this.rule === 'exact') return text;
    const { line } = this;
    line.read(text);
    const found = CONDITION.exec(line.part(at));
    if (!found) return text;
    const [, now, most, rest] = found;
    const shared = this.#shared(Number(now), Number(most));
    return `${text.slice(0, line.bars[at] + 1)}${shared}${rest}${text.slice(line.bars[at + 1])}`;
  }

  /**
   * As Pokemon.getHealth of the simulator has it.
   * @param {number} now
   * @param {number} most
   */
  #shared(now, most) {
    if (this.rule === 'champions') {
      const percent = Math.floor((100 * now) / most) || 1;
      return `${percent}/100${colourOf(percent, 100, now, most)}`;
    }
    if (this.rule === 'percent' || this.gen >= PERCENTS_SINCE) {
      const percent = Math.ceil((100 * now) / most);
      return `${percent === 100 && now < most ? 99 : percent}/100`;
    }
    const pixels = Math.floor((PIXELS * now) / most) || 1;
    return `${pixels}/${PIXELS}${this.gen >= COLOURS_SINCE ? colourOf(pixels, PIXELS, now, most) : ''}`;
  }

  /**
   * @param {string} text
   * @param {number} end of its command
   */
  #isQuietPressure(text, end) {
    return this.gen <= PRESSURE_IS_QUIET_UNTIL && text.endsWith('|Pressure|[silent]') && this.#isOwn(text, end);
  }
}

/**
 * Where as many pixels, or percents, can be more and less than a fifth or a half, a letter says which.
 * @param {number} shown
 * @param {number} outOf
 * @param {number} now
 * @param {number} most
 */
function colourOf(shown, outOf, now, most) {
  if (shown === Math.floor(outOf / 5)) return now * 5 > most ? 'y' : 'r';
  if (shown === Math.floor(outOf / 2)) return now * 2 > most ? 'g' : 'y';
  return '';
}

module.exports = { Viewpoint };
