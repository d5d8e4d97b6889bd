'use strict';

const { describe, it } = require('node:test');
const assert = require('node:assert/strict');
const { readSpec } = require('../observation/spec');
const { Tracker } = require('../observation/tracker');
const { simulator } = require('./battles');
const { hearLog } = require('./observation-truth');

/**
 * @typedef {import('../observation/spec').TableName} TableName
 * @typedef {import('../observation/tracker').Slot} Slot
 * @typedef {import('../observation/tracker').TrackedPokemon} TrackedPokemon
 */

const spec = readSpec();

/**
 * @param {number} generation
 * @param {string} text lines as the simulator has written them
 * @param {string} [game]
 */
function heard(generation, text, game = 'singles') {
  const tracker = new Tracker(spec);
  for (const line of [`|gametype|${game}`, `|gen|${generation}`, '|teamsize|p1|6', '|teamsize|p2|6', '|start']) tracker.hear(line);
  return hearMore(tracker, text);
}

/**
 * @param {Tracker} tracker
 * @param {string} text
 */
function hearMore(tracker, text) {
  for (const line of text.split('\n')) tracker.hear(line.trim());
  return tracker;
}

/**
 * @param {TableName} table
 * @param {number} id
 */
const nameOf = (table, id) => spec.tables[table].names[id];
const species = (/** @type {{species: number}} */ { species: id }) => nameOf('species', id);
const item = (/** @type {TrackedPokemon} */ pokemon) => nameOf('items', pokemon.item);
const ability = (/** @type {{ability: number}} */ { ability: id }) => nameOf('abilities', id);
const status = (/** @type {TrackedPokemon} */ pokemon) => spec.classes.statuses[pokemon.status];
const types = (/** @type {Slot} */ slot) => slot.types.map((type) => spec.classes.types[type]).filter((type) => type !== 'none');

/**
 * @param {TrackedPokemon} pokemon
 * @returns {Record<string, number>} PP used, by move
 */
function used({ moves, used: costs }) {
  return Object.fromEntries(moves.map((move, index) => [nameOf('moves', move), costs[index]]));
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @returns {string[]} what it has
 */
function volatiles({ names }, slot) {
  return names.lists.volatiles.filter((_, index) => slot.volatiles[index]);
}

/**
 * @param {Tracker} tracker
 * @param {Slot} slot
 * @returns {Record<string, number>} the boosts that are none of 0
 */
function boosts({ names }, slot) {
  return Object.fromEntries(names.lists.boosts.map((name, index) => [name, slot.boosts[index]]).filter(([, value]) => value));
}

/** @param {Tracker} tracker */
function actives({ sides: { p1, p2 } }) {
  const [own, other] = [p1.slots[0], p2.slots[0]];
  return { own, other, pokemon: /** @type {TrackedPokemon} */ (own.pokemon), foe: /** @type {TrackedPokemon} */ (other.pokemon) };
}

/**
 * @param {import('../observation/tracker').TrackedSide} side
 * @param {string} name
 */
function named(side, name) {
  return /** @type {TrackedPokemon} */ (side.pokemon.find((pokemon) => pokemon.name === name));
}

const LEADS = `|switch|p1a: Mew|Mew, L50|100/100
  |switch|p2a: Ditto|Ditto, L60|100/100
  |turn|1`;

describe('the tracker of a battle', () => {
  it('knows the teams of a preview before they are sent out, and who comes in by their looks', () => {
    const tracker = new Tracker(spec);
    hearMore(tracker, `|gametype|doubles
      |gen|9
      |clearpoke
      |poke|p1|Urshifu-*, L50, M|
      |poke|p1|Zacian-*, L50|
      |poke|p2|Pelipper, L50, F|
      |poke|p2|Pelipper, L50, M|`);
    const { p1, p2 } = tracker.sides;
    assert.deepEqual(p1.pokemon.map(species), ['urshifu', 'zacian']);
    assert.deepEqual([p1.size, p1.left], [2, 2]);
    assert.equal(p1.pokemon[0].revealed, 0);
    hearMore(tracker, `|teamsize|p1|2
      |teamsize|p2|2
      |start
      |switch|p1a: Fist|Urshifu-Rapid-Strike, L50, M, shiny|100/100
      |switch|p1b: Dog|Zacian-Crowned, L50|100/100
      |switch|p2a: Gull|Pelipper, L50, M, shiny|100/100
      |switch|p2b: Gull|Pelipper, L50, F|100/100`);
    assert.deepEqual(p1.pokemon.map(species), ['urshifurapidstrike', 'zaciancrowned']);
    assert.deepEqual(p2.pokemon.map(({ slot }) => slot), [2, 1]);
    assert.deepEqual([p1.pokemon.length, p2.pokemon.length], [2, 2]);
  });

  it('reads open team sheets', () => {
    const { Battle, Teams } = simulator;
    const sets = Teams.unpack('Pawmot||focussash|ironfist|machpunch,nuzzle||||||50|,,,,,Fire]Ditto|||limber|transform||||||60|,,,,,Ghost');
    const team = Teams.pack(sets);
    const battle = new Battle(/** @type {any} */ ({ formatid: 'gen9customgame', seed: [1, 2, 3, 4] }));
    for (const id of /** @type {const} */ (['p1', 'p2'])) battle.setPlayer(id, { name: id, team });
    battle.showOpenTeamSheets();
    const tracker = new Tracker(spec);
    hearLog(tracker, battle.log, 0);
    const [pawmot, ditto] = tracker.sides.p2.pokemon;
    assert.deepEqual([species(pawmot), item(pawmot), ability(pawmot), used(pawmot)], ['pawmot', 'focussash', 'ironfist', { machpunch: 0, nuzzle: 0 }]);
    assert.deepEqual([item(ditto), spec.classes.types[ditto.teraType], ditto.revealed], ['none', 'Ghost', 0]);
  });

  it('tells those of one name apart by their details, and else by the condition they are in', () => {
    const tracker = heard(9, `|switch|p1a: Twin|Gengar, M|100/100
      |switch|p2a: Ditto|Ditto|100/100
      |turn|1
      |-damage|p1a: Twin|40/100
      |switch|p1a: Twin|Gengar, F|100/100
      |-damage|p1a: Twin|70/100
      |switch|p1a: Twin|Gengar, M, shiny|100/100
      |switch|p1a: Twin|Gengar, M|40/100
      |switch|p1a: Twin|Gengar, F|70/100`);
    const { pokemon } = tracker.sides.p1;
    assert.equal(pokemon.length, 3);
    assert.deepEqual(pokemon.map(({ hp }) => hp), [102, 179, 255]);
    assert.deepEqual(pokemon.map(({ slot }) => slot), [0, 1, 0]);
  });

  it('takes hit points from percentages, pixels and exact numbers, and statuses with them', () => {
    const tracker = heard(5, `${LEADS}
      |-damage|p1a: Mew|24/48g par
      |-damage|p2a: Ditto|1/361 brn`);
    const { pokemon, foe } = actives(tracker);
    assert.deepEqual([pokemon.hp, status(pokemon)], [128, 'par']);
    assert.deepEqual([foe.hp, status(foe)], [1, 'brn']);
  });

  it('counts the fainted and the revived', () => {
    const tracker = heard(9, `|switch|p1a: Pawmot|Pawmot, F|100/100
      |switch|p2a: Ditto|Ditto|100/100
      |-damage|p1a: Pawmot|0 fnt
      |faint|p1a: Pawmot`);
    const { p1 } = tracker.sides;
    assert.deepEqual([p1.left, p1.slots[0].pokemon, status(p1.pokemon[0]), p1.pokemon[0].hp], [5, null, 'fnt', 0]);
    hearMore(tracker, `|switch|p1a: Rabsca|Rabsca, M|100/100
      |move|p1a: Rabsca|Revival Blessing|p1a: Rabsca
      |-heal|p1: Pawmot|50/100|[from] move: Revival Blessing`);
    assert.deepEqual([p1.left, status(p1.pokemon[0]), p1.pokemon[0].hp, p1.pokemon[0].slot], [6, 'none', 128, 0]);
  });

  it('survives lines that are cut short anywhere', () => {
    const { Battle, Teams } = simulator;
    const team = Teams.pack(Teams.generate('gen9randombattle', { seed: /** @type {any} */ ([1, 2, 3, 4]) }));
    const battle = new Battle(/** @type {any} */ ({ formatid: 'gen9customgame', seed: [1, 2, 3, 4] }));
    for (const id of /** @type {const} */ (['p1', 'p2'])) battle.setPlayer(id, { name: id, team });
    while (!battle.ended && battle.turn < 40) battle.makeChoices();
    for (let kept = 0; kept < 8; kept++) {
      const tracker = new Tracker(spec);
      for (const [index, line] of battle.log.entries()) {
        const isCut = index % 8 === kept;
        assert.doesNotThrow(() => tracker.hear(isCut ? line.slice(0, (line.length * (kept + 1)) / 9) : line), line);
      }
    }
  });

  it('makes a Pokémon that it has never heard of from its details, and ignores what it does not know', () => {
    const tracker = heard(9, LEADS);
    for (const line of [
      '', '|', '||', 'no bar', '|move', '|move|', '|move|p1a: Mew', '|switch|p9a: X|Y|1/1', '|switch|p1z: X|Y|1/1', '|-boost|p1a: Mew|luck|9',
      '|-damage|p1b: Nobody|5/100', '|-start|p2: Nobody|confusion', '|-curestatus|p1: Nobody|slp', '|swap|p1a: Mew|7', '|replace|p1b: X|Y',
      '|-sidestart|p3: Q|Spikes', '|-weather|Fog', '|-unheard|of', '|turn|soon', '|-heal', '|detailschange|p1: Nobody|Mew', '|faint|p2: Nobody',
      '|-transform|p1a: Mew|p2b: Nobody', '|-item||Leftovers|[from] ability: Frisk|[of] p1a: Mew', '|-swapboost|p1a: Mew|p2: Nobody',
    ]) assert.doesNotThrow(() => tracker.hear(line), line);
    tracker.hear('|switch|p1a: New|Farfetch’d-Nowhere, L3, F|7/9 psn');
    const { pokemon } = actives(tracker);
    assert.deepEqual([pokemon.level, pokemon.hp, status(pokemon), pokemon.species], [3, 198, 'psn', 0]);
  });
});

describe('Illusion', () => {
  const ENTERS = `|switch|p1a: Garchomp|Garchomp, L80, M|60/100 par
    |switch|p2a: Ditto|Ditto, L60|100/100
    |turn|1
    |move|p1a: Garchomp|Earthquake|p2a: Ditto
    |switch|p1a: Mew|Mew, L50|100/100
    |turn|2
    |switch|p1a: Garchomp|Garchomp, L80, M|100/100
    |move|p1a: Garchomp|Earthquake|p2a: Ditto
    |move|p1a: Garchomp|Dark Pulse|p2a: Ditto
    |-damage|p1a: Garchomp|90/100|[from] item: Life Orb`;

  it('gives back to whom it looked like all that was put down to it, and hands it to the one that it was', () => {
    const tracker = heard(9, `${ENTERS}
      |-damage|p1a: Garchomp|30/100
      |replace|p1a: Zoroark|Zoroark, L84, F
      |-end|p1a: Zoroark|Illusion
      |turn|3`);
    const { p1 } = tracker.sides;
    const [garchomp, , zoroark] = p1.pokemon;
    assert.deepEqual([garchomp.hp, status(garchomp), item(garchomp), garchomp.slot], [153, 'par', 'unknown', 0]);
    assert.deepEqual(used(garchomp), { earthquake: 1 });
    assert.deepEqual([zoroark.hp, status(zoroark), item(zoroark), zoroark.slot], [77, 'none', 'lifeorb', 1]);
    assert.deepEqual(used(zoroark), { earthquake: 1, darkpulse: 1 });
    assert.deepEqual([species(zoroark), ability(zoroark), zoroark.level, zoroark.revealed], ['zoroark', 'illusion', 84, 1]);
    assert.deepEqual([species(p1.slots[0]), types(p1.slots[0])], ['zoroark', ['Dark']]);
  });

  it('has the right one faint', () => {
    const tracker = heard(9, `${ENTERS}
      |-damage|p1a: Garchomp|0 fnt
      |replace|p1a: Zoroark|Zoroark, L84, F
      |-end|p1a: Zoroark|Illusion
      |faint|p1a: Zoroark`);
    const { p1 } = tracker.sides;
    assert.deepEqual(p1.pokemon.map(({ fainted }) => fainted), [0, 0, 1]);
    assert.equal(p1.left, 5);
  });

  it('leaves one that has never been on the field unseen', () => {
    const tracker = heard(9, `|switch|p1a: Garchomp|Garchomp, L80, M|100/100
      |switch|p2a: Ditto|Ditto, L60|100/100
      |-terastallize|p1a: Garchomp|Ghost
      |replace|p1a: Zoroark|Zoroark, L84, F`);
    const [garchomp, zoroark] = tracker.sides.p1.pokemon;
    assert.deepEqual([garchomp.revealed, garchomp.terastallized, garchomp.hp], [0, 0, 255]);
    assert.deepEqual([zoroark.revealed, zoroark.terastallized, types(tracker.sides.p1.slots[0])], [1, 1, ['Ghost']]);
  });

  it('may take the place of whom it looks like', () => {
    const tracker = heard(9, `|switch|p1a: Garchomp|Garchomp, L80, M|50/100
      |switch|p2a: Ditto|Ditto, L60|100/100
      |switch|p1a: Garchomp|Garchomp, L80, M|100/100
      |replace|p1a: Zoroark|Zoroark, L84, F`);
    const { pokemon } = tracker.sides.p1;
    assert.deepEqual(pokemon.map(({ hp, slot }) => [hp, slot]), [[128, 0], [255, 1]]);
  });

  it('of two who look the same is found out for the one, and so for the other', () => {
    const tracker = heard(9, `|switch|p1a: Garchomp|Garchomp, L80, M|100/100
      |switch|p1b: Mew|Mew, L50|100/100
      |switch|p1b: Garchomp|Garchomp, L80, M|60/100
      |move|p1b: Garchomp|Earthquake|p2a: Ditto
      |-damage|p1a: Garchomp|50/100`, 'doubles');
    const { p1 } = tracker.sides;
    assert.deepEqual([p1.pokemon.length, p1.slots[1].pokemon?.hp], [2, 153]);
    hearMore(tracker, `|replace|p1a: Zoroark|Zoroark, L84, F
      |-end|p1a: Zoroark|Illusion`);
    const [garchomp, , zoroark] = p1.pokemon;
    assert.deepEqual(p1.pokemon.map(({ slot }) => slot), [2, 0, 1]);
    assert.deepEqual([garchomp.hp, used(garchomp), zoroark.hp, used(zoroark)], [153, { earthquake: 1 }, 128, {}]);
    assert.equal(p1.slots[1].pokemon, garchomp);
  });

  it('does not make a team larger than it is, by a level that is not that of its looks', () => {
    const tracker = new Tracker(spec);
    hearMore(tracker, `|gametype|singles
      |gen|5
      |clearpoke
      |poke|p1|Garchomp, L80, M|
      |poke|p1|Zoroark, L50, F|
      |teamsize|p1|2
      |switch|p1a: Garchomp|Garchomp, L50, M|100/100`);
    const [garchomp, zoroark] = tracker.sides.p1.pokemon;
    assert.deepEqual([tracker.sides.p1.pokemon.length, garchomp.slot], [2, 1]);
    hearMore(tracker, '|replace|p1a: Zoroark|Zoroark, L50, F');
    assert.deepEqual([garchomp.level, garchomp.slot, zoroark.slot], [80, 0, 1]);
  });

  it('is found out when the one who was seen to faint comes in', () => {
    const tracker = heard(9, `|switch|p1a: Garchomp|Garchomp, L80, M|100/100
      |switch|p2a: Ditto|Ditto, L60|100/100
      |-damage|p1a: Garchomp|0 fnt|[from] psn
      |faint|p1a: Garchomp
      |switch|p1a: Garchomp|Garchomp, L80, M|100/100`);
    const { p1 } = tracker.sides;
    assert.deepEqual([p1.left, p1.pokemon[0].fainted, p1.pokemon[0].hp], [5, 0, 255]);
  });
});

describe('looks', () => {
  it('are those of whom a Pokémon transforms into, with boosts, types and ability, but its moves stay secret', () => {
    const tracker = heard(9, `|switch|p1a: Ditto|Ditto|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |-ability|p2a: Zapdos|Pressure
      |-boost|p2a: Zapdos|spa|2
      |-transform|p1a: Ditto|p2a: Zapdos|[from] ability: Imposter
      |-ability|p1a: Ditto|Pressure
      |turn|1
      |move|p1a: Ditto|Thunder Wave|p2a: Zapdos`);
    const { own, pokemon } = actives(tracker);
    assert.deepEqual([species(own), species(pokemon), types(own)], ['zapdos', 'ditto', ['Electric', 'Flying']]);
    assert.deepEqual([boosts(tracker, own), used(pokemon)], [{ spa: 2 }, {}]);
    assert.deepEqual([ability(own), ability(pokemon)], ['pressure', 'imposter']);
    hearMore(tracker, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p1a: Ditto|Ditto|100/100`);
    assert.deepEqual([species(own), volatiles(tracker, own)], ['ditto', []]);
  });

  it('change with formes, for good or for as long as it stays on the field', () => {
    const tracker = heard(9, `|switch|p1a: Aegislash|Aegislash, M|100/100
      |switch|p2a: Palafin|Palafin, M|100/100
      |-formechange|p1a: Aegislash|Aegislash-Blade||[from] ability: Stance Change`);
    const { own, pokemon } = actives(tracker);
    assert.deepEqual([species(own), species(pokemon), ability(pokemon)], ['aegislashblade', 'aegislashblade', 'stancechange']);
    hearMore(tracker, `|detailschange|p2a: Palafin|Palafin-Hero, M
      |switch|p2a: Ditto|Ditto|100/100
      |switch|p1a: Mew|Mew, L50|100/100
      |switch|p2a: Palafin|Palafin-Hero, M|100/100`);
    assert.deepEqual([species(pokemon), species(tracker.sides.p2.pokemon[0])], ['aegislash', 'palafinhero']);
    assert.equal(tracker.sides.p2.pokemon.length, 2);
  });

  it('tell the stone of who mega evolves, and not its new ability', () => {
    const tracker = heard(7, `|switch|p1a: Zard|Charizard, F|100/100
      |switch|p2a: Necrozma|Necrozma-Dusk-Mane|100/100
      |-ability|p1a: Zard|Blaze
      |detailschange|p1a: Zard|Charizard-Mega-X, F
      |-mega|p1a: Zard|Charizard|Charizardite X
      |detailschange|p2a: Necrozma|Necrozma-Ultra
      |-burst|p2a: Necrozma|Necrozma|Ultranecrozium Z`);
    const { own, pokemon, foe } = actives(tracker);
    assert.deepEqual([species(pokemon), item(pokemon), ability(pokemon), types(own)], ['charizardmegax', 'charizarditex', 'unknown', ['Fire', 'Dragon']]);
    assert.deepEqual([species(foe), item(foe)], ['necrozmaultra', 'ultranecroziumz']);
    assert.deepEqual([tracker.sides.p1.usedMega, tracker.sides.p2.usedMega], [1, 0]);
    hearMore(tracker, `|-damage|p1a: Zard|0 fnt
      |faint|p1a: Zard
      |detailschange|p1: Zard|Charizard, F|[silent]`);
    assert.equal(species(pokemon), 'charizard');
  });

  it('follow the type that a Pokémon terastallizes to, and the forme that comes with it', () => {
    const tracker = heard(9, `|switch|p1a: Ogerpon|Ogerpon, L50, F|100/100
      |switch|p2a: Dragonite|Dragonite, M|100/100
      |-ability|p1a: Ogerpon|Defiant
      |-terastallize|p1a: Ogerpon|Grass
      |detailschange|p1a: Ogerpon|Ogerpon-Teal-Tera, L50, F, tera:Grass
      |-ability|p1a: Ogerpon|Embody Aspect (Teal)|boost
      |-boost|p1a: Ogerpon|spe|1
      |-terastallize|p2a: Dragonite|Stellar`);
    const { own, other, pokemon, foe } = actives(tracker);
    assert.deepEqual([species(pokemon), pokemon.terastallized, types(own)], ['ogerpontealtera', 1, ['Grass']]);
    assert.equal(ability(pokemon), 'embodyaspectteal');
    assert.deepEqual([spec.classes.types[foe.teraType], types(other)], ['Stellar', ['Dragon', 'Flying']]);
    assert.deepEqual([tracker.sides.p1.usedTera, tracker.sides.p2.usedTera], [1, 1]);
    hearMore(tracker, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p1a: Ogerpon|Ogerpon-Teal-Tera, L50, F, tera:Grass|100/100`);
    assert.deepEqual([tracker.sides.p1.pokemon.length, pokemon.terastallized, types(own)], [2, 1, ['Grass']]);
  });

  it('have types that moves change, add, take for a turn, and copy', () => {
    const tracker = heard(9, `|switch|p1a: Hawlucha|Hawlucha, M|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |turn|1
      |-singleturn|p1a: Hawlucha|move: Roost`);
    const { own, other } = actives(tracker);
    assert.deepEqual([types(own), volatiles(tracker, own)], [['Fighting'], ['roost']]);
    hearMore(tracker, `|upkeep
      |turn|2
      |-start|p1a: Hawlucha|typeadd|Ghost|[from] move: Trick-or-Treat`);
    assert.deepEqual([types(own), volatiles(tracker, own)], [['Fighting', 'Flying', 'Ghost'], ['typeadd']]);
    hearMore(tracker, `|-start|p2a: Zapdos|typechange|[from] move: Reflect Type|[of] p1a: Hawlucha
      |-start|p1a: Hawlucha|typechange|Water`);
    assert.deepEqual([types(own), types(other)], [['Water'], ['Fighting', 'Flying', 'Ghost']]);
    assert.deepEqual(volatiles(tracker, own), ['typechange']);
  });
});

describe('PP', () => {
  it('are counted once for each move that is chosen, whatever it leads to', () => {
    const tracker = heard(7, `${LEADS}
      |move|p1a: Mew|Outrage|p2a: Ditto
      |turn|2
      |move|p1a: Mew|Outrage|p2a: Ditto|[from] lockedmove
      |turn|3
      |move|p1a: Mew|Metronome|p1a: Mew
      |move|p1a: Mew|Fury Swipes|p2a: Ditto|[from] move: Metronome
      |move|p1a: Mew|Swords Dance|p1a: Mew|[from] ability: Dancer
      |move|p1a: Mew|Confuse Ray||[from] ability: Magic Bounce|[still]
      |turn|4
      |cant|p1a: Mew|slp
      |move|p1a: Mew|Sleep Talk|p1a: Mew
      |move|p1a: Mew|Psychic|p2a: Ditto|[from] move: Sleep Talk
      |turn|5
      |move|p1a: Mew|Struggle|p2a: Ditto`);
    const { own, pokemon } = actives(tracker);
    assert.deepEqual(used(pokemon), { outrage: 1, metronome: 1, sleeptalk: 1, psychic: 0 });
    assert.equal(nameOf('moves', own.lastMove), 'struggle');
  });

  it('are not counted for Z-Moves and Max Moves, of which nobody knows what they were before', () => {
    const tracker = heard(7, `${LEADS}
      |-zpower|p1a: Mew
      |move|p1a: Mew|Genesis Supernova|p2a: Ditto|[zeffect]
      |-zpower|p2a: Ditto
      |move|p2a: Ditto|Z-Splash|p2a: Ditto|[anim]Splash
      |turn|2
      |move|p1a: Mew|Psychic|p2a: Ditto`);
    assert.deepEqual(used(actives(tracker).pokemon), { psychic: 1 });
    assert.deepEqual(used(actives(tracker).foe), { splash: 1 });
    assert.deepEqual([tracker.sides.p1.usedZ, tracker.sides.p2.usedZ], [1, 1]);
    const max = heard(8, `${LEADS}
      |-start|p1a: Mew|Dynamax|
      |-heal|p1a: Mew|100/100|[silent]
      |move|p1a: Mew|Max Flare|p2a: Ditto
      |-singleturn|p1a: Mew|Max Guard`);
    assert.deepEqual([used(actives(max).pokemon), volatiles(max, actives(max).own)], [{}, ['dynamax', 'protect']]);
    hearMore(max, `|-end|p1a: Mew|Dynamax
      |-heal|p1a: Mew|100/100|[silent]`);
    assert.deepEqual([max.sides.p1.usedDynamax, volatiles(max, actives(max).own)], [1, ['protect']]);
  });

  it('are counted twice under Pressure that has shown itself, if the move is aimed at it', () => {
    const tracker = heard(9, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |-ability|p2a: Zapdos|Pressure
      |turn|1
      |move|p1a: Mew|Psychic|p2a: Zapdos
      |move|p1a: Mew|Roost|p1a: Mew
      |move|p1a: Mew|Encore||[still]
      |move|p1a: Mew|Rain Dance|p1a: Mew
      |move|p1a: Mew|Stealth Rock|p2a: Zapdos
      |move|p1a: Mew|Reflect|p1a: Mew`);
    assert.deepEqual(used(actives(tracker).pokemon), { psychic: 2, roost: 1, encore: 2, raindance: 2, stealthrock: 2, reflect: 1 });
    const disguised = heard(9, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |-ability|p2a: Zapdos|Pressure
      |switch|p2a: Ditto|Ditto|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |turn|1
      |move|p1a: Mew|Psychic|p2a: Zapdos`);
    assert.deepEqual(used(actives(disguised).pokemon), { psychic: 1 });
  });

  it('are counted under the Pressure of every foe that a move hits', () => {
    const tracker = heard(9, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p1b: Abra|Abra|100/100
      |switch|p2a: Zapdos|Zapdos|100/100
      |-ability|p2a: Zapdos|Pressure
      |switch|p2b: Suicune|Suicune|100/100
      |-ability|p2b: Suicune|Pressure
      |turn|1
      |move|p1a: Mew|Icy Wind|p2a: Zapdos|[spread] p2a,p2b
      |move|p1a: Mew|Psychic|p2b: Suicune
      |move|p1a: Mew|Helping Hand|p1b: Abra
      |faint|p2a: Zapdos
      |move|p1a: Mew|Icy Wind|p2b: Suicune
      |move|p1a: Mew|Tackle|p2: Zapdos|[notarget]
      |switch|p2a: Ditto|Ditto|100/100
      |move|p1a: Mew|Aura Sphere|p2a: Ditto`, 'doubles');
    assert.deepEqual(used(actives(tracker).pokemon), { icywind: 5, psychic: 2, helpinghand: 1, tackle: 1, aurasphere: 1 });
  });

  it('are taken by Spite and Grudge, and given back by berries and Lunar Dance', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Psychic|p2a: Ditto
      |-activate|p1a: Mew|move: Spite|Psychic|4
      |-activate|p1a: Mew|move: Grudge|Psychic`);
    const { pokemon } = actives(tracker);
    assert.equal(used(pokemon).psychic, 1 + 4 + 16);
    hearMore(tracker, `|-enditem|p1a: Mew|Leppa Berry|[eat]
      |-activate|p1a: Mew|item: Leppa Berry|Psychic|[consumed]`);
    assert.deepEqual([used(pokemon).psychic, item(pokemon)], [11, 'none']);
    hearMore(tracker, '|-heal|p1a: Mew|100/100|[from] move: Lunar Dance');
    assert.equal(used(pokemon).psychic, 0);
  });

  it('of moves that Mimic lends are nobody’s, and Sketch keeps what it learns', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Mimic|p2a: Ditto
      |-start|p1a: Mew|Mimic|Disable
      |move|p1a: Mew|Disable|p2a: Ditto
      |move|p2a: Ditto|Sketch|p1a: Mew
      |-activate|p2a: Ditto|move: Sketch|Disable
      |move|p2a: Ditto|Disable|p1a: Mew`);
    assert.deepEqual([used(actives(tracker).pokemon), used(actives(tracker).foe)], [{ mimic: 1 }, { disable: 1 }]);
    const old = heard(3, `${LEADS}
      |cant|p1a: Mew|slp
      |move|p1a: Mew|Sleep Talk|p1a: Mew
      |move|p1a: Mew|Sketch|p2a: Ditto|[from] Sleep Talk
      |-activate|p1a: Mew|move: Mimic|Assist`);
    assert.deepEqual(used(actives(old).pokemon), { sleeptalk: 1, assist: 0 });
  });

  it('are paid for in the second turn in generation 1, and by whatever called the move', () => {
    const tracker = heard(1, `${LEADS}
      |move|p1a: Mew|Fly||[still]
      |-prepare|p1a: Mew|Fly`);
    const { own, pokemon } = actives(tracker);
    assert.deepEqual([used(pokemon), volatiles(tracker, own)], [{ fly: 0 }, ['preparing']]);
    hearMore(tracker, `|turn|2
      |move|p1a: Mew|Fly|p2a: Ditto|[from] Fly
      |turn|3
      |move|p1a: Mew|Metronome|p1a: Mew
      |move|p1a: Mew|Solar Beam||[from] Metronome|[still]
      |-prepare|p1a: Mew|Solar Beam`);
    assert.deepEqual(used(pokemon), { fly: 1, metronome: 0 });
    hearMore(tracker, '|move|p1a: Mew|Solar Beam|p2a: Ditto|[from] Solar Beam');
    assert.deepEqual([used(pokemon), volatiles(tracker, own)], [{ fly: 1, metronome: 1 }, []]);
  });

  it('are not paid again for what goes on by itself in generation 2, which does not say so', () => {
    const tracker = heard(2, `${LEADS}
      |move|p1a: Mew|Rollout|p2a: Ditto
      |-damage|p2a: Ditto|90/100
      |turn|2
      |move|p1a: Mew|Rollout|p2a: Ditto|[miss]
      |turn|3
      |move|p1a: Mew|Rollout|p2a: Ditto
      |turn|4
      |move|p2a: Ditto|Solar Beam||[still]
      |-prepare|p2a: Ditto|Solar Beam
      |turn|5
      |move|p2a: Ditto|Solar Beam|p1a: Mew`);
    assert.deepEqual([used(actives(tracker).pokemon), used(actives(tracker).foe)], [{ rollout: 2 }, { solarbeam: 1 }]);
  });
});

describe('leaving the field', () => {
  const BUILT = `|switch|p1a: Celebi|Celebi|100/100
    |switch|p2a: Ditto|Ditto, L60|100/100
    |turn|1
    |-boost|p1a: Celebi|spa|2
    |-start|p1a: Celebi|Substitute
    |-start|p1a: Celebi|move: Leech Seed
    |-start|p1a: Celebi|confusion
    |-start|p1a: Celebi|Encore`;

  it('takes all that a Pokémon had with it', () => {
    const tracker = heard(9, `${BUILT}
      |switch|p1a: Mew|Mew, L50|100/100`);
    const { own } = actives(tracker);
    assert.deepEqual([volatiles(tracker, own), boosts(tracker, own), own.lastMove], [[], {}, 0]);
  });

  it('by Baton Pass passes on what the simulator passes on', () => {
    const tracker = heard(8, `${BUILT}
      |move|p1a: Celebi|Baton Pass|p1a: Celebi
      |switch|p1a: Mew|Mew, L50|100/100|[from] Baton Pass`);
    const { own } = actives(tracker);
    assert.deepEqual([volatiles(tracker, own), boosts(tracker, own)], [['confusion', 'leechseed', 'substitute'], { spa: 2 }]);
  });

  it('by Shed Tail leaves the substitute', () => {
    const tracker = heard(9, `${BUILT}
      |switch|p1a: Mew|Mew, L50|100/100|[from] Shed Tail`);
    const { own } = actives(tracker);
    assert.deepEqual([volatiles(tracker, own), boosts(tracker, own)], [['substitute'], {}]);
  });

  it('frees whom a Pokémon has kept there', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Mean Look|p2a: Ditto
      |-activate|p2a: Ditto|trapped`);
    assert.deepEqual(volatiles(tracker, actives(tracker).other), ['trapped']);
    hearMore(tracker, '|switch|p1a: Abra|Abra|100/100');
    assert.deepEqual(volatiles(tracker, actives(tracker).other), []);
  });

  it('is not what Ally Switch does, but Future Sight stays where it was aimed at', () => {
    const tracker = heard(9, `|switch|p1a: Mew|Mew, L50|100/100
      |switch|p1b: Abra|Abra|100/100
      |switch|p2a: Ditto|Ditto|100/100
      |switch|p2b: Natu|Natu, M|100/100
      |turn|1
      |-boost|p1b: Abra|spe|1
      |move|p2b: Natu|Future Sight|p1b: Abra
      |-start|p2b: Natu|move: Future Sight
      |swap|p1b: Abra|0|[from] move: Ally Switch`, 'doubles');
    const [first, second] = tracker.sides.p1.slots;
    assert.deepEqual([first.pokemon?.name, first.pokemon?.slot, second.pokemon?.slot], ['Abra', 1, 2]);
    assert.deepEqual([boosts(tracker, first), volatiles(tracker, first), volatiles(tracker, second)], [{ spe: 1 }, [], ['futuresight']]);
    hearMore(tracker, `|upkeep
      |turn|2
      |upkeep
      |turn|3`);
    assert.deepEqual(volatiles(tracker, second), ['futuresight']);
    hearMore(tracker, '|-end|p1b: Mew|move: Future Sight');
    assert.deepEqual(volatiles(tracker, second), []);
  });

  it('does not save whoever comes from what was aimed there, and it ends unheard if nobody is there', () => {
    const tracker = heard(9, `${LEADS}
      |move|p2a: Ditto|Future Sight|p1a: Mew
      |-start|p2a: Ditto|move: Future Sight
      |upkeep
      |turn|2
      |switch|p1a: Abra|Abra|100/100
      |upkeep
      |turn|3
      |faint|p1a: Abra`);
    assert.deepEqual(volatiles(tracker, tracker.sides.p1.slots[0]), ['futuresight']);
    hearMore(tracker, `|upkeep
      |switch|p1a: Mew|Mew, L50|100/100
      |turn|4`);
    assert.deepEqual(volatiles(tracker, tracker.sides.p1.slots[0]), []);
  });
});

describe('boosts', () => {
  it('are raised, lowered, set, swapped, copied, inverted and cleared', () => {
    const tracker = heard(9, `${LEADS}
      |-boost|p1a: Mew|atk|2
      |-unboost|p1a: Mew|spe|1
      |-boost|p2a: Ditto|def|1
      |-swapboost|p1a: Mew|p2a: Ditto|atk, spa|[from] move: Power Swap`);
    const { own, other } = actives(tracker);
    assert.deepEqual([boosts(tracker, own), boosts(tracker, other)], [{ spe: -1 }, { atk: 2, def: 1 }]);
    hearMore(tracker, '|-swapboost|p1a: Mew|p2a: Ditto|[from] move: Heart Swap');
    assert.deepEqual([boosts(tracker, own), boosts(tracker, other)], [{ atk: 2, def: 1 }, { spe: -1 }]);
    hearMore(tracker, `|-copyboost|p2a: Ditto|p1a: Mew|[from] move: Psych Up
      |-invertboost|p1a: Mew
      |-setboost|p2a: Ditto|spa|12|[from] ability: Anger Point`);
    assert.deepEqual([boosts(tracker, own), boosts(tracker, other)], [{ atk: -2, def: -1 }, { atk: 2, def: 1, spa: 6 }]);
    hearMore(tracker, `|-clearnegativeboost|p1a: Mew|[silent]
      |-clearpositiveboost|p2a: Ditto|p1a: Mew|move: Spectral Thief
      |-unboost|p2a: Ditto|evasion|1`);
    assert.deepEqual([boosts(tracker, own), boosts(tracker, other)], [{}, { evasion: -1 }]);
    hearMore(tracker, '|-clearallboost');
    assert.deepEqual(boosts(tracker, other), {});
  });
});

describe('statuses', () => {
  it('count turns asleep, and how far poison has got', () => {
    const tracker = heard(9, `${LEADS}
      |-status|p1a: Mew|slp|[from] move: Spore
      |cant|p1a: Mew|slp
      |-status|p2a: Ditto|tox
      |upkeep
      |turn|2
      |cant|p1a: Mew|slp
      |upkeep
      |turn|3`);
    const { pokemon, foe, own } = actives(tracker);
    assert.deepEqual([pokemon.statusTurns, foe.statusTurns, own.lastMove], [2, 2, 1]);
    hearMore(tracker, `|-curestatus|p1a: Mew|slp|[msg]
      |-status|p1a: Mew|tox|[from] item: Toxic Orb
      |upkeep
      |switch|p2a: Abra|Abra|100/100
      |switch|p2a: Ditto|Ditto, L60|80/100 tox
      |turn|4`);
    assert.deepEqual([pokemon.statusTurns, foe.statusTurns, item(pokemon)], [0, 0, 'toxicorb']);
  });

  it('are cured on the bench too', () => {
    const tracker = heard(9, `${LEADS}
      |-status|p1a: Mew|par
      |-curestatus|p1a: Mew|par|[from] ability: Natural Cure|[silent]
      |switch|p1a: Abra|Abra|100/100
      |-status|p1a: Abra|brn
      |switch|p1a: Natu|Natu, M|100/100
      |-status|p1a: Natu|psn`);
    const [mew, abra, natu] = tracker.sides.p1.pokemon;
    assert.deepEqual([status(mew), ability(mew), status(abra)], ['none', 'naturalcure', 'brn']);
    hearMore(tracker, '|-curestatus|p1: Abra|brn|[silent]');
    assert.deepEqual([status(abra), status(natu)], ['none', 'psn']);
    hearMore(tracker, '|-cureteam|p1a: Natu|[from] move: Heal Bell');
    assert.equal(status(natu), 'none');
  });
});

describe('items', () => {
  it('are known when they show themselves, and known to be gone when they are', () => {
    const tracker = heard(9, `${LEADS}
      |-heal|p1a: Mew|100/100|[from] item: Leftovers
      |-damage|p1a: Mew|90/100|[from] item: Rocky Helmet|[of] p2a: Ditto`);
    const { pokemon, foe } = actives(tracker);
    assert.deepEqual([item(pokemon), item(foe)], ['leftovers', 'rockyhelmet']);
    hearMore(tracker, `|-enditem|p1a: Mew|Leftovers|[from] move: Knock Off|[of] p2a: Ditto
      |-enditem|p2a: Ditto|Sitrus Berry|[eat]
      |-heal|p2a: Ditto|100/100|[from] item: Sitrus Berry`);
    assert.deepEqual([item(pokemon), item(foe)], ['none', 'none']);
  });

  it('change hands', () => {
    const tracker = heard(9, `${LEADS}
      |-activate|p1a: Mew|move: Trick|[of] p2a: Ditto
      |-item|p2a: Ditto|Choice Scarf|[from] move: Trick
      |-item|p1a: Mew|Leftovers|[from] move: Trick`);
    const { pokemon, foe } = actives(tracker);
    assert.deepEqual([item(pokemon), item(foe)], ['leftovers', 'choicescarf']);
    hearMore(tracker, '|-item|p1a: Mew|Choice Scarf|[from] ability: Magician|[of] p2a: Ditto');
    assert.deepEqual([item(pokemon), item(foe), ability(pokemon)], ['choicescarf', 'none', 'magician']);
    hearMore(tracker, '|-item|p1a: Mew|Choice Scarf|[from] ability: Frisk|[of] p2a: Ditto');
    assert.deepEqual([ability(pokemon), ability(foe)], ['magician', 'frisk']);
  });

  it('that are used up before the log says whose they are are gone', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Trick|p2a: Ditto
      |-activate|p1a: Mew|move: Trick|[of] p2a: Ditto
      |-item|p2a: Ditto|Ring Target|[from] move: Trick
      |-enditem|p1a: Mew|White Herb
      |-clearnegativeboost|p1a: Mew|[silent]
      |-item|p1a: Mew|White Herb|[from] move: Trick`);
    assert.equal(item(actives(tracker).pokemon), 'none');
  });

  it('that somebody else eats are not its own', () => {
    const tracker = heard(9, `${LEADS}
      |move|p2a: Ditto|Fling|p1a: Mew
      |-boost|p1a: Mew|spe|2|[from] item: Starf Berry
      |-enditem|p2a: Ditto|Starf Berry|[from] move: Fling`);
    assert.deepEqual([item(actives(tracker).pokemon), item(actives(tracker).foe)], ['unknown', 'none']);
  });

  it('stay when a berry of before is eaten again', () => {
    const tracker = heard(9, `${LEADS}
      |-enditem|p1a: Mew|Sitrus Berry|[eat]
      |-item|p1a: Mew|Leftovers|[from] move: Trick
      |-activate|p1a: Mew|ability: Cud Chew
      |-enditem|p1a: Mew|Sitrus Berry|[eat]`);
    assert.equal(item(actives(tracker).pokemon), 'leftovers');
  });

  it('and abilities there are none before there were any', () => {
    const old = heard(1, LEADS);
    const { pokemon } = actives(old);
    assert.deepEqual([item(pokemon), ability(pokemon), spec.classes.types[pokemon.teraType]], ['none', 'none', 'none']);
    const now = heard(9, LEADS);
    assert.deepEqual([item(actives(now).pokemon), spec.classes.types[actives(now).pokemon.teraType]], ['unknown', 'unknown']);
  });
});

describe('abilities', () => {
  it('belong to whom a line names for them', () => {
    const tracker = heard(9, `${LEADS}
      |-damage|p1a: Mew|90/100|[from] ability: Rough Skin|[of] p2a: Ditto
      |-heal|p1a: Mew|100/100|[from] ability: Water Absorb|[of] p2a: Ditto`);
    assert.deepEqual([ability(actives(tracker).pokemon), ability(actives(tracker).foe)], ['waterabsorb', 'roughskin']);
    hearMore(tracker, '|-weather|RainDance|[from] ability: Drizzle|[of] p2a: Ditto');
    assert.equal(ability(actives(tracker).foe), 'drizzle');
    hearMore(tracker, '|cant|p2a: Ditto|ability: Damp|Explosion|[of] p1a: Mew');
    assert.deepEqual([ability(actives(tracker).foe), actives(tracker).own.lastMove], ['damp', 0]);
  });

  it('that are swapped, traced or caught last until the Pokémon leaves', () => {
    const tracker = heard(9, `${LEADS}
      |-activate|p1a: Mew|Skill Swap|Limber|Synchronize|[of] p2a: Ditto`);
    const { own, other, pokemon, foe } = actives(tracker);
    assert.deepEqual([own, other, pokemon, foe].map(ability), ['limber', 'synchronize', 'synchronize', 'limber']);
    hearMore(tracker, `|switch|p1a: Porygon2|Porygon2|100/100
      |-ability|p1a: Porygon2|Synchronize|Trace|[from] ability: Trace|[of] p2a: Ditto
      |-activate|p1a: Porygon2|ability: Mummy|p2a: Ditto|[ability] Synchronize`);
    assert.deepEqual([own, other, named(tracker.sides.p1, 'Porygon2'), foe, pokemon].map(ability), ['mummy', 'mummy', 'trace', 'limber', 'synchronize']);
    hearMore(tracker, `|switch|p2a: Abra|Abra|100/100
      |switch|p2a: Ditto|Ditto, L60|100/100`);
    assert.equal(ability(other), 'limber');
  });

  it('that are suppressed are so until the Pokémon leaves', () => {
    const tracker = heard(9, `${LEADS}
      |-endability|p1a: Mew`);
    assert.deepEqual(volatiles(tracker, actives(tracker).own), ['gastroacid']);
  });

  it('of Tatsugiri command Dondozo until it faints', () => {
    const tracker = heard(9, `|switch|p2a: Tatsugiri|Tatsugiri, L50, F|100/100
      |switch|p2b: Dondozo|Dondozo, F|100/100
      |-activate|p2a: Tatsugiri|ability: Commander|[of] p2b: Dondozo`, 'doubles');
    const [tatsugiri, dondozo] = tracker.sides.p2.slots;
    assert.deepEqual([volatiles(tracker, tatsugiri), volatiles(tracker, dondozo)], [['commanding'], ['commanded']]);
    hearMore(tracker, '|faint|p2b: Dondozo');
    assert.deepEqual(volatiles(tracker, tatsugiri), []);
  });
});

describe('volatiles', () => {
  it('begin and end as the log says, by whatever name', () => {
    const tracker = heard(9, `${LEADS}
      |-start|p1a: Mew|move: Taunt
      |-start|p1a: Mew|protosynthesisatk
      |-start|p1a: Mew|fallen2|[silent]
      |-start|p1a: Mew|ability: Flash Fire
      |-start|p1a: Mew|move: Dragon Cheer
      |-start|p1a: Mew|Disable|Psychic
      |-activate|p1a: Mew|move: Bind|[of] p2a: Ditto`);
    const { own } = actives(tracker);
    const all = ['disable', 'flashfire', 'focusenergy', 'partiallytrapped', 'protosynthesis', 'supremeoverlord', 'taunt'];
    assert.deepEqual(volatiles(tracker, own), all);
    hearMore(tracker, `|-end|p1a: Mew|move: Taunt
      |-end|p1a: Mew|Protosynthesis
      |-end|p1a: Mew|fallen2|[silent]
      |-end|p1a: Mew|ability: Flash Fire|[silent]
      |-end|p1a: Mew|Disable
      |-end|p1a: Mew|Bind|[partiallytrapped]`);
    assert.deepEqual(volatiles(tracker, own), ['focusenergy']);
  });

  it('count what is counted', () => {
    const tracker = heard(9, `${LEADS}
      |-start|p1a: Mew|perish3|[silent]
      |-start|p1a: Mew|stockpile1
      |-start|p1a: Mew|perish2
      |-start|p1a: Mew|stockpile2`);
    const { own } = actives(tracker);
    assert.deepEqual([volatiles(tracker, own), own.stockpiles], [['perish2', 'stockpile'], 2]);
    hearMore(tracker, `|-start|p1a: Mew|perish0
      |-end|p1a: Mew|Stockpile`);
    assert.deepEqual([volatiles(tracker, own), own.stockpiles], [[], 0]);
  });

  it('of one turn end with it, of one move with the next', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Protect|p1a: Mew
      |-singleturn|p1a: Mew|Protect
      |move|p2a: Ditto|Destiny Bond|p2a: Ditto
      |-singlemove|p2a: Ditto|Destiny Bond`);
    const { own, other } = actives(tracker);
    assert.deepEqual([volatiles(tracker, own), volatiles(tracker, other)], [['protect'], ['destinybond']]);
    hearMore(tracker, `|upkeep
      |turn|2`);
    assert.deepEqual([volatiles(tracker, own), volatiles(tracker, other)], [[], ['destinybond']]);
    hearMore(tracker, '|move|p2a: Ditto|Tackle|p1a: Mew');
    assert.deepEqual(volatiles(tracker, other), []);
  });

  it('tell who prepares, who must recharge, and how often protection has worked', () => {
    const tracker = heard(9, `${LEADS}
      |move|p1a: Mew|Protect|p1a: Mew
      |-singleturn|p1a: Mew|Protect
      |move|p2a: Ditto|Fly||[still]
      |-prepare|p2a: Ditto|Fly
      |upkeep
      |turn|2
      |move|p1a: Mew|Detect|p1a: Mew
      |-singleturn|p1a: Mew|Protect`);
    const { own, other } = actives(tracker);
    assert.deepEqual([own.protects, own.turns, volatiles(tracker, other)], [2, 1, ['preparing']]);
    hearMore(tracker, `|move|p2a: Ditto|Fly|p1a: Mew|[from] lockedmove
      |upkeep
      |turn|3
      |move|p1a: Mew|Hyper Beam|p2a: Ditto
      |-mustrecharge|p1a: Mew
      |move|p2a: Ditto|Solar Beam||[still]
      |-prepare|p2a: Ditto|Solar Beam
      |-anim|p2a: Ditto|Solar Beam|p1a: Mew
      |upkeep
      |turn|4`);
    assert.deepEqual([own.protects, volatiles(tracker, own), volatiles(tracker, other)], [0, ['mustrecharge'], []]);
    hearMore(tracker, '|cant|p1a: Mew|recharge');
    assert.deepEqual([own.lastMove, volatiles(tracker, own)], [1, []]);
  });

  it('are what Reflect, Light Screen and Mist are in generation 1', () => {
    const tracker = heard(1, `${LEADS}
      |-start|p1a: Mew|Reflect
      |-start|p1a: Mew|Light Screen
      |-start|p1a: Mew|Mist
      |move|p2a: Ditto|Wrap|p1a: Mew
      |-damage|p1a: Mew|90/100
      |cant|p1a: Mew|partiallytrapped`);
    assert.deepEqual(volatiles(tracker, actives(tracker).own), ['lightscreen', 'mist', 'partiallytrapped', 'reflect']);
    hearMore(tracker, '|move|p2a: Ditto|Tackle|p1a: Mew');
    assert.deepEqual(volatiles(tracker, actives(tracker).own), ['lightscreen', 'mist', 'reflect']);
  });
});

describe('the field', () => {
  it('has weather, terrain and rooms, and remembers since when', () => {
    const tracker = heard(9, `${LEADS}
      |-weather|SunnyDay|[from] ability: Drought|[of] p1a: Mew
      |-fieldstart|move: Electric Terrain|[from] ability: Electric Surge|[of] p2a: Ditto
      |turn|2
      |-weather|SunnyDay|[upkeep]
      |-fieldstart|move: Trick Room|[of] p1a: Mew
      |turn|3`);
    const { weathers, terrains } = spec.classes;
    assert.deepEqual([weathers[tracker.weather], tracker.weatherSince], ['sunnyday', 1]);
    assert.deepEqual([terrains[tracker.terrain], tracker.terrainSince, tracker.fields[0]], ['electricterrain', 1, 2]);
    hearMore(tracker, `|-weather|none
      |-fieldend|move: Electric Terrain
      |-fieldend|move: Trick Room`);
    assert.deepEqual([tracker.weather, tracker.terrain, tracker.fields[0]], [0, 0, -1]);
  });

  it('has hazards in layers, and screens', () => {
    const tracker = heard(9, `${LEADS}
      |-sidestart|p1: Ash|Spikes
      |-sidestart|p1: Ash|Spikes
      |-sidestart|p2: Gary|Reflect`);
    const { lists } = tracker.names;
    const layers = (/** @type {'p1' | 'p2'} */ id) => tracker.sides[id].conditions.hazards[lists.hazards.indexOf('spikes')];
    const reflect = (/** @type {'p1' | 'p2'} */ id) => tracker.sides[id].conditions.screens[lists.screens.indexOf('reflect')];
    assert.deepEqual([layers('p1'), layers('p2'), reflect('p1'), reflect('p2')], [2, 0, -1, 1]);
    hearMore(tracker, '|-swapsideconditions');
    assert.deepEqual([layers('p1'), layers('p2'), reflect('p1'), reflect('p2')], [0, 2, 1, -1]);
    hearMore(tracker, `|-sideend|p2: Gary|Spikes|[from] move: Rapid Spin|[of] p2a: Ditto
      |-sideend|p1: Ash|Reflect`);
    assert.deepEqual([layers('p2'), reflect('p1')], [0, -1]);
  });

  it('knows when it is over', () => {
    assert.equal(heard(9, LEADS).ended, false);
    assert.equal(heard(9, '|win|Ash').ended, true);
    assert.equal(heard(9, '|tie').ended, true);
  });
});
