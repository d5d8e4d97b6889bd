'use strict';
/**
 * Vanilla: writes each request as JSON from end to end, most of which are Pokémon and moves that have not changed, and
 * sends it behind a heading.
 * Instead: keeps the text of each of these, and uses it while it reads the same. Who asks for requests as such, as our
 * rooms do, gets them without the heading, and writes them only for those who read them.
 * Same, because: the content of what is sent is compared each time, with its keys and their order, and everything else
 * is written by JSON.stringify. Requests themselves remain what they were: fresh objects, which anybody may change. Any
 * other `send` gets vanilla's message.
 */

const { REQUEST } = require('../receiver');
const { RequestJson } = require('../request-json');

/** @type {import('../installation').Patch} */
module.exports = {
  name: 'request-text',
  replaces: ['sim/side Side.emitRequest'],
  methods: {
    'sim/side': () => {
      /** @type {WeakMap<object, RequestJson>} by side */
      const writers = new WeakMap();
      return {
        Side: {
          /**
           * @this {any}
           * @param {any} [request]
           * @param {boolean} [updatedRequest]
           */
          emitRequest(request, updatedRequest = false) {
            const update = request === undefined ? this.activeRequest : request;
            if (updatedRequest) this.activeRequest.update = true;
            let writer = writers.get(this);
            if (!writer) {
              writer = new RequestJson();
              writers.set(this, writer);
            }
            const take = this.battle.send[REQUEST];
            if (take && update) take(this.id, update, writer);
            else this.battle.send('sideupdate', `${this.id}\n|request|${writer.of(update)}`);
            this.activeRequest = update;
          },
        },
      };
    },
  },
};
