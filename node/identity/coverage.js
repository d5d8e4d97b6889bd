'use strict';
class Watch { take() { return []; } }
module.exports = { Watch };
