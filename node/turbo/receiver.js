'use strict';
/**
 * How a request reaches whoever hears a battle. The simulator puts it behind the name of its side and a heading, as one
 * message, which has to be cut apart again; both copy kilobytes, in every turn. A `send` that has a function under the
 * name REQUEST, as our rooms have, is given the side's id, the request itself, which it must not change, and who can
 * write its JSON, in case that anybody reads it. The simulator changes a request only to send it again at once.
 */

/**
 * @template {string} SideId
 * @typedef {((type: string, data: string | string[]) => void) &
 *   {[REQUEST]: (side: SideId, request: object, writer: import('./request-json').RequestJson) => void}} Receiver
 */

const REQUEST = Symbol('request');

module.exports = { REQUEST };
