'use strict';
/**
 * Vanilla: a battle goes through the rules of its format four times before its first turn, and builds each rule anew
 * each time, to see whether it has something to do then.
 * Instead: each dex remembers its rules, and whether they have handlers of events.
 * Same, because: a rule is built from data that do not change once a dex is loaded, and these four places only read it:
 * they call what it has with the battle, and never give it away. Everybody else gets a new one, as ever.
 */

/** What battles and validators call by themselves, as the constructor of a battle lists them. */
const CALLED_ELSEWHERE = [
  'onBegin',
  'onTeamPreview',
  'onBattleStart',
  'onValidateRule',
  'onValidateTeam',
  'onChangeSet',
  'onValidateSet',
];
const LOOK_UP = 'const subFormat = this.dex.formats.get(rule);\n';
const REMEMBERED = 'const subFormat = turbo.ruleOf(this.dex, rule).format;\n';

/** @param {string} rest the line that tells one loop from the others */
const inLoop = (rest) => ({ site: LOOK_UP + rest, put: REMEMBERED + rest });

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'rule-formats',
  replaces: ['sim/dex-formats DexFormats.get'],
  edits: {
    'sim/battle': [
      {
        site: `${LOOK_UP}      if (subFormat.exists) {
        const hasEventHandler = Object.keys(subFormat).some(
          // skip event handlers that are handled elsewhere
          (val) => val.startsWith("on") && ![
            "onBegin",
            "onTeamPreview",
            "onBattleStart",
            "onValidateRule",
            "onValidateTeam",
            "onChangeSet",
            "onValidateSet"
          ].includes(val)
        );
        if (hasEventHandler) this.field.addPseudoWeather(rule);
      }`,
        put: 'if (turbo.ruleOf(this.dex, rule).handlesEvents) this.field.addPseudoWeather(rule);',
      },
      inLoop('      subFormat.onBegin?.call(this);'),
      inLoop('      subFormat.onTeamPreview?.call(this);'),
      inLoop('          subFormat.onBattleStart?.call(this);'),
    ],
  },
  methods: {
    'sim/dex': (_, { runtime }) => {
      /** @type {WeakMap<object, Map<string, {format: any, handlesEvents: boolean}>>} */
      const known = new WeakMap();
      /** @param {any} dex @param {string} name */
      runtime.ruleOf = (dex, name) => {
        let rules = known.get(dex);
        if (!rules) known.set(dex, (rules = new Map()));
        let rule = rules.get(name);
        if (!rule) {
          const format = dex.formats.get(name);
          rule = { format, handlesEvents: format.exists && handlesEvents(format) };
          if (format.exists) rules.set(name, rule);
        }
        return rule;
      };
      return {};
    },
  },
};

/** @param {any} format */
function handlesEvents(format) {
  return Object.keys(format).some((key) => key.startsWith('on') && !CALLED_ELSEWHERE.includes(key));
}
