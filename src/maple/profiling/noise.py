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

__all__ = ["DRIFT", "LEAST_LAPS", "Lap", "Verdict", "Wanted", "judge", "judge_quotients"]

DRIFT = 0.05
"""By how much runs of the same code may differ as a whole."""
LEAST_LAPS = 5
_RESAMPLES = 2000
_CONFIDENCE = 95.0
_WINDOW = 3
"""Resemblance is added up over so many times the laps that it lasts for."""
_MOST_ALIKE = 0.99
_LARGEST_LOG = 700.0

Lap = tuple[float, float]
"""How much there was in a lap, and how many it is to be divided by."""

_Numbers = npt.NDArray[np.float64]


class Verdict(StrEnum):
    """Of the second beside the first."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    NOISE = "within noise"
    TOO_FEW = "too few laps to tell"
    ONCE = "measured once"
    GONE = "only in the first"
    NEW = "only in the second"


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
    worth = _worth((one, other))
    random = np.random.default_rng(0)
    around = [
        _medians(values, random) * _unsureness(len(values), laps, random)
        for values, laps in zip((one, other), worth, strict=True)
    ]
    difference = float(np.median(other) - np.median(one))
    low, high = _interval(difference + around[1] - around[0])
    verdict = _verdict(medians, (low, high), worth, wanted, drift)
    if verdict is Verdict.TOO_FEW or not is_positive:
        return None, None, verdict
    return medians[1] / medians[0], (_exponential(low), _exponential(high)), verdict


def judge_quotients(
    first: Sequence[Lap],
    second: Sequence[Lap],
    *,
    wanted: Wanted = Wanted.LESS,
    drift: float = DRIFT,
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    """The same of two quotients: of all laps together so much, divided by so many.

    For what is counted, such as battles, of which a lap may have one, or two, or none: medians of
    so few would jump.
    """
    both = [np.asarray(laps, np.float64).reshape(-1, 2) for laps in (first, second)]
    if min(int(laps.all(axis=1).sum()) for laps in both) < LEAST_LAPS:
        return None, None, Verdict.TOO_FEW
    much, many = zip(*(laps.sum(axis=0).tolist() for laps in both), strict=True)
    quotients = much[0] / many[0], much[1] / many[1]
    # By how much of a lap each differs from what its part in the quotient would be.
    one, other = (
        (laps[:, 0] - quotient * laps[:, 1]) / laps[:, 0].mean()
        for laps, quotient in zip(both, quotients, strict=True)
    )
    # What is counted hides by its own chance how alike the laps were in which that was done.
    worth = _worth((one, other), *(tuple(laps[:, n] for laps in both) for n in (0, 1)))
    random = np.random.default_rng(0)
    around = [
        _means(values, random) * _unsureness(len(values), laps, random)
        for values, laps in zip((one, other), worth, strict=True)
    ]
    low, high = _interval(math.log(quotients[1] / quotients[0]) + around[1] - around[0])
    verdict = _verdict(quotients, (low, high), worth, wanted, drift)
    if verdict is Verdict.TOO_FEW:
        return None, None, verdict
    return quotients[1] / quotients[0], (_exponential(low), _exponential(high)), verdict


def _verdict(
    measured: tuple[float, float],
    interval: tuple[float, float],
    worth: tuple[float, float],
    wanted: Wanted,
    drift: float,
) -> Verdict:
    """From the interval of a difference, and how many laps it was as good as measured in."""
    low, high = interval
    before, after = measured
    if (low > 0 or high < 0) and abs(after - before) > drift * abs(before):
        return wanted.value[low > 0]
    return Verdict.NOISE if min(worth) >= LEAST_LAPS else Verdict.TOO_FEW


def _interval(differences: _Numbers) -> tuple[float, float]:
    outside = (100 - _CONFIDENCE) / 2
    low, high = np.percentile(differences, (outside, 100 - outside)).tolist()
    return low, high


def _exponential(value: float) -> float:
    return math.exp(min(max(value, -_LARGEST_LOG), _LARGEST_LOG))


def _medians(values: _Numbers, random: np.random.Generator) -> _Numbers:
    """By how much medians of resampled values differ from theirs."""
    count = len(values)
    # The median of values that are drawn is the value at a place that has this distribution.
    places = random.beta((count + 1) / 2, (count + 1) / 2, _RESAMPLES) * count - 0.5
    medians: _Numbers = np.interp(places, np.arange(count), np.sort(values)) - np.median(values)
    return medians


def _means(values: _Numbers, random: np.random.Generator) -> _Numbers:
    """By how much means of as many values differ."""
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return random.normal(0.0, spread, _RESAMPLES)


def _unsureness(count: int, worth: float, random: np.random.Generator) -> _Numbers:
    """How many times as far it may be off as if values were independent, and their spread known.

    Of few, nobody knows for sure how far they spread (Student).
    """
    freedom = max(1.0, worth - 1)
    unsure: _Numbers = np.sqrt(freedom / random.chisquare(freedom, _RESAMPLES) * (count / worth))
    return unsure


# How alike neighbours are


def _worth(*pairs: Sequence[_Numbers]) -> tuple[float, float]:
    """How many independent values each of two series is worth, by what resembles itself the most.

    Two runs of one operation are taken to be alike in this, as each is too short to tell well.
    """
    lasting = max(_lasting([_Resemblance(series) for series in pair]) for pair in pairs)
    first, second = (len(series) / min(lasting, len(series)) for series in pairs[0])
    return first, second


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
