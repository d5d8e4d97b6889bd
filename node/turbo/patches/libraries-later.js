'use strict';
/**
 * Vanilla: the simulator loads libraries of the server: its console, its HTTP client, its databases, its processes; and
 * with them large parts of Node.
 * Instead: loads each when somebody first asks for what it exports.
 * Same, because: the exports were getters before, these libraries do nothing but define classes as they load, and no
 * battle uses them.
 */

/**
 * @param {string} variable
 * @param {string} file
 * @param {string} name of the one thing that is taken from it
 */
function loadedLater(variable, file, name) {
  return {
    site: `var ${variable} = require("./${file}");`,
    put: `var ${variable} = { get ${name}() { return require("./${file}").${name}; } };`,
  };
}

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'libraries-later',
  edits: {
    'lib/index': [
      loadedLater('import_repl', 'repl', 'Repl'),
      loadedLater('import_net', 'net', 'Net'),
      loadedLater('import_sql', 'sql', 'SQL'),
      {
        site: 'var ProcessManager = __toESM(require("./process-manager"));',
        put: 'var ProcessManager;',
      },
      {
        site: 'ProcessManager: () => ProcessManager,',
        put: 'ProcessManager: () => ProcessManager ??= __toESM(require("./process-manager")),',
      },
    ],
  },
};
