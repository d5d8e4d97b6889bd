'use strict';
/**
 * Turbo in front of any program that uses the simulator: node --require FOLDER/turbo/register.js PROGRAM
 *
 * MAPLE_TURBO_OFF=name,name leaves patches out; the names are those of the files in patches/.
 */

const { install } = require('.');

const off = (process.env.MAPLE_TURBO_OFF ?? '').split(',').map((name) => name.trim());

install({ off: off.filter(Boolean) });
