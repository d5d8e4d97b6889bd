'use strict';
/**
 * Writes down how the methods that patches replace read now: node turbo/learn.js FOLDER
 *
 * FOLDER is that of the pokemon-showdown package. Only for who has read what changed in it, and has seen `make identity`
 * pass: from then on turbo takes this version for one that it knows.
 */

const fs = require('node:fs');
const path = require('node:path');
const { patches } = require('./patches');
const { fingerprint } = require('./source');

const folder = path.resolve(process.argv[2] ?? 'node_modules/pokemon-showdown');
const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
const file = path.join(__dirname, 'known.json');
const known = JSON.parse(fs.readFileSync(file, 'utf8'));
known[version] = {};
for (const method of new Set(patches.flatMap(({ replaces = [] }) => replaces).sort())) {
  const [module, name] = method.split(' ');
  known[version][method] = fingerprint(fs.readFileSync(path.join(folder, 'dist', `${module}.js`), 'utf8'), name);
}
fs.writeFileSync(file, `${JSON.stringify(known, null, 2)}\n`);
