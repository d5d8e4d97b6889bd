'use strict';
/** Something other than turbo that makes battles differ. */

const { floor } = Math;
Math.floor = (value) => (value === 100 ? 99 : floor(value));
