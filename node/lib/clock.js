'use strict';
/** The monotonic clock that Python reads too (CLOCK_MONOTONIC), in nanoseconds. */

/**
 * A number holds nanoseconds exactly for 104 days of uptime, and to two nanoseconds for a year.
 * @returns {number}
 */
function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e9 + nanoseconds;
}

module.exports = { now };
