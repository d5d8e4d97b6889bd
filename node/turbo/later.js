'use strict';
/** Properties whose value is made when somebody first asks for it. */

/**
 * @template {object} Holder
 * @param {Holder} holder
 * @param {string} name
 * @param {() => unknown} make
 */
function later(holder, name, make) {
  /** @param {unknown} value */
  const settle = (value) => Object.defineProperty(holder, name, { ...SETTLED, value });
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = make();
      settle(value);
      return value;
    },
    set: settle,
  });
}

const SETTLED = { configurable: true, enumerable: true, writable: true };

module.exports = { later };
