'use strict';
/**
 * What turbo does to the simulator: node patches.js --simulator FOLDER
 *
 * Prints a line of JSON, the patches in the order in which they are applied: [{name, on, why}], `why` if it is not on.
 */

const { parseArgs } = require('node:util');
const { loadSimulator } = require('../lib/simulator');
const { install, installed } = require('../turbo');

const { values } = parseArgs({ options: { simulator: { type: 'string' } } });
install({ warn: () => {} });
loadSimulator(String(values.simulator));
process.stdout.write(JSON.stringify(installed().flatMap(({ outcomes }) => outcomes)) + '\n');
