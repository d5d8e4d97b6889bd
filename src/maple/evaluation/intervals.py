"""How sure a win rate is. Knows neither agents nor battles."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["NORMAL_95", "wilson"]

NORMAL_95: Final = 1.959963984540054
"""Within so many standard deviations of its mean, a normal variable is in 95 % of all cases."""


def wilson(wins: float, battles: int) -> tuple[float, float]:
    """The lowest and the highest share that so many wins are compatible with, at 95 %.

    Wilson's score interval: it lies within 0 and 1, and is no point where all or none were won. A
    tie is half a win, which makes it a little wider than it had to be. Of no battles nothing is
    known: (0, 1).
    """
    if battles < 0 or not 0 <= wins <= battles:
        raise ValueError(f"{wins:g} wins in {battles} battles are not possible")
    if battles == 0:
        return 0.0, 1.0
    share = wins / battles
    squared = NORMAL_95**2 / battles
    middle = share + squared / 2
    reach = math.sqrt(squared * (share * (1 - share) + squared / 4))
    # The ends are exact where rounding would not be: nobody wins less than none, or more than all.
    low = 0.0 if wins == 0 else (middle - reach) / (1 + squared)
    high = 1.0 if wins == battles else (middle + reach) / (1 + squared)
    return low, high
