'use strict';
// Makes turbo forget every version of the simulator that it knows.
const path = require('node:path');

const known = require(path.join(path.dirname(process.argv[1]), 'turbo', 'known.json'));
for (const version of Object.keys(known)) delete known[version];
