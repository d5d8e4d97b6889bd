'use strict';
/**
 * How a request reaches whoever hears a battle. The simulator puts it behind the name of its side and a heading, as one
 * message, which has to be cut apart again; both copy kilobytes, in every turn. A `send` that has a function under the
 * name REQUEST, as our rooms have, is given the side's id and the JSON of the request in its place.
 */

/**
 * @template {string} SideId
 * @typedef {((type: string, data: string | string[]) => void) &
 *   {[REQUEST]: (side: SideId, json: string) => void}} Receiver
 */

const REQUEST = Symbol('request');

module.exports = { REQUEST };
