'use strict';
/**
 * What an observation holds, as it is written by hand: `learn.js` turns this into spec.json, which is all that the
 * encoder and Python read. Change it, raise VERSION, and run `node observation/learn.js`.
 */

const VERSION = 2;
/** Pokémon in a team, and moves of a Pokémon, that an observation has room for. */
const TEAM = 6;
const MOVES = 4;

/** Members of the first come first in one-hot features. New ones are only ever added at the end. */
const CLASSES = {
  types: [
    'unknown', 'none', 'Bug', 'Dark', 'Dragon', 'Electric', 'Fairy', 'Fighting', 'Fire', 'Flying', 'Ghost', 'Grass',
    'Ground', 'Ice', 'Normal', 'Poison', 'Psychic', 'Rock', 'Steel', 'Water', 'Stellar', '???',
  ],
  statuses: ['unknown', 'none', 'brn', 'par', 'slp', 'frz', 'psn', 'tox', 'fnt'],
  genders: ['unknown', 'none', 'M', 'F'],
  categories: ['Physical', 'Special', 'Status'],
  targets: [
    'normal', 'any', 'adjacentAlly', 'adjacentAllyOrSelf', 'adjacentFoe', 'self', 'all', 'allAdjacent', 'allAdjacentFoes',
    'allies', 'allySide', 'allyTeam', 'foeSide', 'randomNormal', 'scripted',
  ],
  phases: ['wait', 'move', 'switch', 'preview'],
  weathers: [
    'none', 'raindance', 'primordialsea', 'sunnyday', 'desolateland', 'sandstorm', 'hail', 'snowscape', 'deltastream',
  ],
  terrains: ['none', 'electricterrain', 'grassyterrain', 'mistyterrain', 'psychicterrain'],
};

const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];
const BOOSTS = [...STATS, 'accuracy', 'evasion'];
/** How many layers stand. */
const HAZARDS = ['spikes', 'toxicspikes', 'stealthrock', 'stickyweb', 'gmaxsteelsurge'];
/** For how many turns they have stood, this one included; never for how many more, which nobody is told. */
const SCREENS = [
  'reflect', 'lightscreen', 'auroraveil', 'safeguard', 'mist', 'tailwind', 'luckychant', 'firepledge', 'grasspledge',
  'waterpledge', 'gmaxcannonade', 'gmaxvinelash', 'gmaxvolcalith', 'gmaxwildfire',
];
const FIELDS = ['trickroom', 'gravity', 'magicroom', 'wonderroom', 'mudsport', 'watersport', 'fairylock', 'iondeluge'];
/** Conditions of an active Pokémon that the log announces: whether it has them. */
const VOLATILES = [
  'aquaring', 'attract', 'autotomize', 'bide', 'charge', 'commanded', 'commanding', 'confusion', 'curse', 'defensecurl',
  'destinybond', 'disable', 'doomdesire', 'dynamax', 'electrify', 'embargo', 'encore', 'endure', 'flashfire',
  'focusenergy', 'followme', 'foresight', 'futuresight', 'gastroacid', 'glaiverush', 'grudge', 'healblock', 'helpinghand',
  'imprison', 'ingrain', 'laserfocus', 'leechseed', 'lightscreen', 'lockon', 'magiccoat', 'magnetrise', 'minimize',
  'miracleeye', 'mist', 'mustrecharge', 'nightmare', 'noretreat', 'octolock', 'partiallytrapped', 'perish1', 'perish2',
  'perish3', 'powdered', 'powershift', 'powertrick', 'preparing', 'protect', 'protosynthesis', 'quarkdrive', 'rage',
  'reflect', 'roost', 'saltcure', 'slowstart', 'smackdown', 'snatch', 'stockpile', 'substitute', 'supremeoverlord',
  'syrupbomb', 'tarshot', 'taunt', 'telekinesis', 'throatchop', 'torment', 'transform', 'trapped', 'typeadd',
  'typechange', 'uproar', 'yawn', 'zenmode',
];

const id = (/** @type {string} */ name, /** @type {string} */ table) => ({ name, table });
const value = (/** @type {string} */ name, divisor = 1, offset = 0) => ({ name, divisor, ...(offset && { offset }) });
const flag = (/** @type {string} */ name) => value(name);
const kind = (/** @type {string} */ name, /** @type {string} */ classes) => ({ name, classes });
/** Read by whoever turns an action into a choice, and by nobody who learns. */
const plain = (/** @type {string} */ name) => ({ name });

const WHO = [id('species', 'species'), id('ability', 'abilities'), id('item', 'items')];
const CONDITION = [
  value('hp', 255),
  kind('status', 'statuses'),
  value('status_turns', 8),
  value('level', 100),
  { ...kind('gender', 'genders'), ids: true },
  value('slot', 2),
  { ...kind('tera_type', 'types'), ids: true },
  flag('terastallized'),
  flag('revealed'),
];

/**
 * A field is an `id` in a table, a value of which (value - offset) / divisor is the feature, one of several classes,
 * or plain. Classes with `ids` are too many to be one-hot for every Pokémon: like ids in tables they are for embeddings.
 * @param {number} slots that a side has on the field
 * @param {number} actions that a Pokémon has to choose from
 */
function blocks(slots, actions) {
  const each = TEAM * MOVES;
  return [
    { group: 'own_team', name: 'who', dtype: 'u16', entries: TEAM, fields: WHO },
    { group: 'own_team', name: 'stats', dtype: 'u16', entries: TEAM, fields: ['max_hp', ...STATS].map((name) => value(name, 500)) },
    { group: 'own_moves', name: 'which', dtype: 'u16', entries: each, fields: [id('move', 'moves')] },
    { group: 'opponent_team', name: 'who', dtype: 'u16', entries: TEAM, fields: WHO },
    { group: 'opponent_moves', name: 'which', dtype: 'u16', entries: each, fields: [id('move', 'moves')] },
    { group: 'actives', name: 'who', dtype: 'u16', entries: 2 * slots, fields: [id('species', 'species'), id('ability', 'abilities')] },
    { group: 'last_moves', name: 'which', dtype: 'u16', entries: 2 * slots, fields: [id('move', 'moves')] },

    { group: 'decision', name: 'asked', dtype: 'u8', entries: 1, fields: [kind('phase', 'phases'), value('turn', 255), plain('picks'), flag('reviving')] },
    {
      group: 'decision', name: 'slots', dtype: 'u8', entries: slots,
      fields: ['forced', 'trapped', 'maybe_trapped', 'maybe_locked', 'can_mega', 'can_z', 'can_dynamax', 'can_tera'].map(flag),
    },
    { group: 'decision', name: 'switches', dtype: 'u8', entries: TEAM, fields: [plain('position')] },
    { group: 'decision', name: 'moves', dtype: 'u8', entries: slots * MOVES, fields: [plain('position')] },
    { group: 'decision', name: 'mask', dtype: 'u8', entries: slots * Math.ceil(actions / 8), fields: [plain('bits')] },
    { group: 'own_team', name: 'condition', dtype: 'u8', entries: TEAM, fields: CONDITION },
    { group: 'own_moves', name: 'state', dtype: 'u8', entries: each, fields: [value('pp', 255), flag('disabled'), flag('revealed')] },
    { group: 'opponent_team', name: 'condition', dtype: 'u8', entries: TEAM, fields: CONDITION },
    { group: 'opponent_moves', name: 'state', dtype: 'u8', entries: each, fields: [value('pp', 255)] },
    {
      group: 'actives', name: 'state', dtype: 'u8', entries: 2 * slots,
      fields: [
        ...BOOSTS.map((name) => value(name, 6, 6)),
        ...['type_1', 'type_2', 'type_3'].map((name) => kind(name, 'types')),
        value('turns', 8),
        value('protects', 4),
        value('stockpiles', 3),
      ],
    },
    { group: 'actives', name: 'volatiles', dtype: 'u8', entries: 2 * slots, fields: VOLATILES.map(flag) },
    { group: 'last_moves', name: 'state', dtype: 'u8', entries: 2 * slots, fields: [flag('failed')] },
    {
      group: 'sides', name: 'conditions', dtype: 'u8', entries: 2,
      fields: [...HAZARDS.map((name) => value(name, 3)), ...SCREENS.map((name) => value(name, 8))],
    },
    {
      group: 'sides', name: 'state', dtype: 'u8', entries: 2,
      fields: [value('team_size', 6), value('left', 6), ...['used_mega', 'used_z', 'used_dynamax', 'used_tera'].map(flag)],
    },
    {
      group: 'field', name: 'state', dtype: 'u8', entries: 1,
      fields: [
        kind('weather', 'weathers'), value('weather_turns', 8), kind('terrain', 'terrains'), value('terrain_turns', 8),
        ...FIELDS.map((name) => value(name, 8)),
      ],
    },
    { group: 'damage', name: 'own', dtype: 'u8', entries: each * slots, fields: [value('estimate', 64)] },
    { group: 'damage', name: 'opponent', dtype: 'u8', entries: slots * MOVES * TEAM, fields: [value('estimate', 64)] },

    { group: 'calc', name: 'own', dtype: 'u8', entries: slots * MOVES * slots, fields: [value('least', 100), value('most', 100)] },
    { group: 'calc', name: 'opponent', dtype: 'u8', entries: slots * MOVES * slots, fields: [value('least', 100), value('most', 100)] },
  ];
}

/** What is known of the members of a table in a generation; fields as above. */
const COLUMNS = {
  species: [
    ...['hp', ...STATS].map((name) => value(name, 255)), value('weight', 500),
    { ...kind('type_1', 'types'), multi: 'type' }, { ...kind('type_2', 'types'), multi: 'type' },
  ],
  moves: [
    value('base_power', 250), value('accuracy', 100), value('priority', 5), kind('category', 'categories'), value('heals', 100),
    value('boosts', 6), value('inflicts', 100), flag('switches'), { ...kind('type', 'types'), ids: true },
    plain('pp'), plain('target'), plain('must_pressure'),
  ],
  items: [flag('berry'), flag('choice'), flag('gem'), flag('mega_stone'), flag('z_crystal'), value('fling', 130)],
  abilities: [value('rating', 5), flag('breakable')],
};

/** The groups that are encoded unless somebody chooses others. Without `decision` nobody can decide. */
const ALWAYS = ['decision'];
const OPTIONAL = ['calc'];

module.exports = { ALWAYS, CLASSES, COLUMNS, MOVES, OPTIONAL, TEAM, VERSION, blocks };
