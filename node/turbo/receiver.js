'use strict';
/**
 * How a request reaches whoever hears a battle. The simulator puts it behind the name of its side and a heading, as one
 * message, which has to be cut apart again; both copy kilobytes, in every turn. A `send` that has a function under this
 * name is given the side's id and the JSON of the request in its place.
 */

const REQUEST = Symbol('request');

module.exports = { REQUEST };
