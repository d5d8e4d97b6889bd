"""Whether two series differ by more than noise, where neighbours need not be independent.

A machine that is slow for a while makes several laps in a row slow. Such laps are worth fewer than
there are: the longer they resemble each other, the wider is the interval of what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, StrEnum

import numpy as np
import numpy.typing as npt

__all__ = ["DRIFT", "LEAST_LAPS", "Verdict", "Wanted", "judge"]

DRIFT = 0.05
"""By how much runs of the same code may differ as a whole."""
LEAST_LAPS = 5
_RESAMPLES = 2000
_CONFIDENCE = 95.0
_WINDOW = 3
"""Resemblance is added up over so many times the laps that it lasts for."""
_MOST_ALIKE = 0.99
_LARGEST_LOG = 700.0

_Numbers = npt.NDArray[np.float64]


class Verdict(StrEnum):
    """Of the second beside the first."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    NOISE = "within noise"
    TOO_FEW = "too few laps to tell"
    GONE = "only in the first"
    NEW = "only in the second"
    NONE = ""
    """There is nothing to judge by."""


class Wanted(Enum):
    """What is better, and the verdicts for less and for more."""

    LESS = Verdict.BETTER, Verdict.WORSE
    MORE = Verdict.WORSE, Verdict.BETTER
    NEITHER = Verdict.LOWER, Verdict.HIGHER


def judge(
    first: Sequence[float],
    second: Sequence[float],
    *,
    wanted: Wanted = Wanted.LESS,
    drift: float = DRIFT,
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    """The ratio of medians of two series, where it lies, and what that means.

    The interval is that of resampled medians (a bootstrap), as wide as the laps are few and alike;
    it is the same each time. Series that are not all above zero get a verdict, and no ratio.
    """
    if min(len(first), len(second)) < LEAST_LAPS:
        return None, None, Verdict.TOO_FEW
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    medians = float(np.median(one)), float(np.median(other))
    is_positive = bool(one.min() > 0 and other.min() > 0)
    if is_positive:
        one, other = np.log(one), np.log(other)
    worth = _worth(one, other)
    difference = float(np.median(other) - np.median(one))
    low, high = (
        difference + outside
        for outside in _spread_of_difference((one, other), worth, np.random.default_rng(0))
    )
    if (low > 0 or high < 0) and abs(medians[1] - medians[0]) > drift * abs(medians[0]):
        verdict = wanted.value[low > 0]
    else:
        verdict = Verdict.NOISE if min(worth) >= LEAST_LAPS else Verdict.TOO_FEW
    if verdict is Verdict.TOO_FEW or not is_positive:
        return None, None, verdict
    interval = math.exp(max(low, -_LARGEST_LOG)), math.exp(min(high, _LARGEST_LOG))
    return medians[1] / medians[0], interval, verdict


def _spread_of_difference(
    series: Sequence[_Numbers], worth: Sequence[float], random: np.random.Generator
) -> tuple[float, float]:
    """How far below and above itself the difference of the two medians may lie."""
    one, other = (
        _deviations(values, laps, random) for values, laps in zip(series, worth, strict=True)
    )
    outside = (100 - _CONFIDENCE) / 2
    low, high = np.percentile(other - one, (outside, 100 - outside)).tolist()
    return low, high


def _deviations(values: _Numbers, worth: float, random: np.random.Generator) -> _Numbers:
    """By how much medians of resampled values differ from theirs, as if there were so many only."""
    count = len(values)
    # The median of values that are drawn is the value at a place that has this distribution.
    places = random.beta((count + 1) / 2, (count + 1) / 2, _RESAMPLES) * count - 0.5
    medians = np.interp(places, np.arange(count), np.sort(values))
    # So few do not tell for sure how far they spread (Student).
    freedom = max(1.0, worth - 1)
    unsure = np.sqrt(freedom / random.chisquare(freedom, _RESAMPLES))
    spread: _Numbers = (medians - np.median(values)) * unsure * math.sqrt(count / worth)
    return spread


# How alike neighbours are


def _worth(first: _Numbers, second: _Numbers) -> tuple[float, float]:
    """How many independent values each series is worth.

    Two runs of one operation are taken to be alike in this, as each is too short to tell well.
    """
    lasting = _lasting([_Resemblance(series) for series in (first, second)])
    return len(first) / min(lasting, len(first)), len(second) / min(lasting, len(second))


class _Resemblance:
    """How much values resemble those so many laps later: the correlation of their ranks."""

    def __init__(self, series: _Numbers) -> None:
        self.count = len(series)
        values, inverse, counts = np.unique(series, return_inverse=True, return_counts=True)
        self.is_known = len(values) > 1
        ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
        self._ranks = ranks - ranks.mean()
        self._whole = float(self._ranks @ self._ranks)

    def after(self, laps: int) -> float:
        return float(self._ranks[laps:] @ self._ranks[: self.count - laps]) / self._whole


def _lasting(series: Sequence[_Resemblance]) -> float:
    """Of how many laps in a row only one tells something new: 1 if they are independent.

    Resemblance to the next lap alone says it for noise that fades steadily. All that is seen, added
    up, says it for slower noise as well, but less exactly: whichever is more is believed.
    """
    known = [one for one in series if one.is_known]
    if not known:
        return 1.0
    weights = [one.count for one in known]

    # Short series look less alike than they are, since their own mean was taken from them.
    next_one = [(one.count * one.after(1) + 1) / (one.count - 3) for one in known]
    alike = min(max(float(np.average(next_one, weights=weights)), 0.0), _MOST_ALIKE)
    added, laps = 1.0, 0
    while laps < _WINDOW * added and laps + 1 < min(one.count for one in known):
        laps += 1
        seen = [one.after(laps) + added / one.count for one in known]
        added += 2 * float(np.average(seen, weights=weights))
    return max((1 + alike) / (1 - alike), added, 1.0)
