'use strict';
/** The first block of the ChaCha20 key stream, for generators of random numbers that are seeded anew by each number. */

const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
const WORDS = Array.from({ length: 16 }, (_, index) => index);
/** The words that each quarter of a double round mixes. */
const QUARTERS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];

/**
 * @param {number} into
 * @param {number} from
 * @param {number} mixed
 * @param {number} by how far this word is rotated
 */
const step = (into, from, mixed, by) =>
  `w${into} = w${into} + w${from} | 0; w${mixed} ^= w${into}; w${mixed} = w${mixed} << ${by} | w${mixed} >>> ${32 - by};`;

/** @param {number[]} words */
const quarter = ([a, b, c, d]) => step(a, b, d, 16) + step(c, d, b, 12) + step(a, b, d, 8) + step(c, d, b, 7);

/**
 * Takes the sixteen words of the state, and the array that gets those of the block. Written out, so that the words stay
 * in registers.
 * @type {(start: Int32Array, block: Int32Array) => void}
 */
const firstBlock = /** @type {any} */ (
  new Function(
    'start',
    'block',
    `let ${WORDS.map((word) => `w${word} = start[${word}]`).join(', ')};
    for (let round = 0; round < 10; round++) { ${QUARTERS.map(quarter).join('\n')} }
    ${WORDS.map((word) => `block[${word}] = w${word} + start[${word}];`).join(' ')}`,
  )
);

module.exports = { CONSTANTS, firstBlock };
