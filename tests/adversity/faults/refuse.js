'use strict';
/** Does not come up while the file that FLAG names is there; takes a file that says `once` away. */

const fs = require('node:fs');

const flag = String(process.env.FLAG);
if (fs.existsSync(flag)) {
  if (fs.readFileSync(flag, 'utf8') === 'once') fs.unlinkSync(flag);
  process.stderr.write('this process was told not to come up\n');
  process.exit(3);
}
