"""Draws one of several things that are not equally likely, by a key. Knows not what they are."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from numbers import Real
from typing import Final

from bridge.errors import ConfigError

__all__ = ["Weights"]

_WORDS: Final = 1 << 64


class Weights:
    """How likely each of several is, of any sum; all more than 0. The names are for errors."""

    __slots__ = ("_bounds",)

    def __init__(self, names: Sequence[str], weights: Sequence[float]) -> None:
        for name, weight in zip(names, weights, strict=True):
            if not _is_weight(weight):
                raise ConfigError(
                    f"the weight of {name} is {weight!r}, but must be a finite number above 0: "
                    "leave out what is never to be drawn"
                )
        self._bounds = tuple(accumulate(map(float, weights)))
        if not math.isfinite(self._bounds[-1]):
            raise ConfigError("the sum of the weights is no finite number: make them smaller")

    def draw(self, key: int) -> int:
        """The index that a key of 64 bits decides on."""
        at = bisect_right(self._bounds, key / _WORDS * self._bounds[-1])
        # The greatest keys are rounded to 1.
        return min(at, len(self._bounds) - 1)


def _is_weight(weight: object) -> bool:
    return isinstance(weight, Real) and math.isfinite(weight) and float(weight) > 0
