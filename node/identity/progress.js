'use strict';
/** How far a run is: a bar that moves on a terminal, a line now and then elsewhere. */

const WIDTH = 30;
const LINE_EVERY = 15_000;
const BAR_EVERY = 200;

class Progress {
  /**
   * @param {number} total
   * @param {NodeJS.WriteStream} stream
   */
  constructor(total, stream) {
    this.total = total;
    this.stream = stream;
    this.began = performance.now();
    this.shown = this.began;
  }

  /** @param {number} done @param {number} failures */
  show(done, failures) {
    const now = performance.now();
    if (now - this.shown < (this.stream.isTTY ? BAR_EVERY : LINE_EVERY)) return;
    this.shown = now;
    const rate = done / ((now - this.began) / 1000);
    const left = duration((this.total - done) / rate);
    const text = `${done}/${this.total} battles, ${rate.toFixed(1)}/s, ${left} left, ${failures} differ`;
    if (!this.stream.isTTY) {
      this.stream.write(`${text}\n`);
      return;
    }
    const filled = Math.round((WIDTH * done) / this.total);
    this.stream.write(`\r\x1b[K[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${text}`);
  }

  /** Takes the bar away, so that something else can be written. */
  clear() {
    if (this.stream.isTTY) this.stream.write('\r\x1b[K');
  }
}

/** @param {number} seconds */
function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

module.exports = { Progress, duration };
