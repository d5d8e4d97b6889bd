'use strict';
/** Loaded before turbo: gives it one more patch, for a text that the simulator does not have. */

const { patches } = require('../../turbo/patches');

patches.push({ name: 'unfit', edits: { 'sim/battle': [{ site: 'there is no such text', put: '' }] } });
