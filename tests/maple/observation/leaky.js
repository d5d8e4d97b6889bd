'use strict';
/**
 * Observations that tell too much: what the second player of a battle hides, in the first bytes of all that the first one
 * sees. The name of the second player says what is told; with any other name, nothing is.
 */

const { Room } = require('../../../node/lib/room');

/** @type {Record<string, (side: any) => unknown>} what only the simulator knows of a side */
const SECRETS = {
  'leaks bench': (side) => side.pokemon.map((/** @type {any} */ pokemon) => pokemon.species.id),
  'leaks species': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.species.id),
  'leaks item': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.item),
  'leaks ability': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.ability),
  'leaks moves': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.moves),
  'leaks tera': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.teraType),
  'leaks stats': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.storedStats),
  'leaks sleep': (side) => side.active.map((/** @type {any} */ pokemon) => pokemon?.statusState.time),
  'leaks screens': (side) => Object.values(side.sideConditions).map((/** @type {any} */ state) => state.duration),
};

/** @param {unknown} secret */
function fingerprint(secret) {
  let value = 0x811c9dc5;
  for (const letter of JSON.stringify(secret)) value = Math.imul(value ^ letter.charCodeAt(0), 0x01000193);
  return value >>> 0;
}

/** @param {any} room */
function leak({ battle, observer }) {
  const secret = SECRETS[battle.sides[1].name];
  const { encode } = observer;
  observer.encode = (/** @type {string} */ side) => {
    const bytes = Buffer.from(encode.call(observer, side), 'base64');
    if (secret && side === 'p1') bytes.writeUInt32LE(fingerprint(secret(battle.sides[1])));
    return bytes.toString('base64');
  };
  observer.isLeaky = true;
}

const { take } = Room.prototype;

/** @this {any} */
Room.prototype.take = function () {
  if (this.observer && !this.observer.isLeaky) leak(this);
  return take.call(this);
};
