"""Whether two series differ by more than noise, where neighbours need not be independent.

A machine that is slow for a while makes several laps in a row slow. Such laps are worth fewer than
there are: the longer they resemble each other, the wider is the interval of what was measured.
Where both series go the same way, as while something warms up, they are judged lap by lap. So are
laps of two that took turns: the weather of the machine is the same for both of a pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "CONFIDENCE_IN_TURN",
    "DRIFT",
    "ENOUGH_LAPS",
    "LEAST_EFFECT",
    "LEAST_LAPS",
    "LEAST_PAIRS",
    "Lap",
    "Verdict",
    "Wanted",
    "interval_of_median",
    "judge",
    "judge_in_turn",
    "judge_quotients",
    "judge_ratios",
]

DRIFT = 0.05
"""By how much runs of the same code may differ as a whole."""
LEAST_EFFECT = 0.03
"""Less than that is no difference, also between two that took turns on the same machine."""
CONFIDENCE_IN_TURN = 0.90
_WIDEST = math.log(2)
"""What may be twice as much, or half, is not the same within noise: nothing was found out."""
LEAST_LAPS = 5
ENOUGH_LAPS = 10
"""Of so many that do not tell, it is not their number that is to blame."""
LEAST_PAIRS = 20
"""Of fewer differences alone, nobody knows how alike neighbours are."""
_MANY_PAIRS = 60
"""Of fewer it is not known well, so that they have to be worth more laps."""
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
    UNSTEADY = "too unsteady to tell"
    ONCE = "measured once"
    GONE = "only in the first"
    NEW = "only in the second"

    @property
    def is_undecided(self) -> bool:
        """Whether there were laps, and they did not tell."""
        return self in (Verdict.TOO_FEW, Verdict.UNSTEADY)


class Wanted(Enum):
    """What is better, and the verdicts for less and for more."""

    LESS = Verdict.BETTER, Verdict.WORSE
    MORE = Verdict.WORSE, Verdict.BETTER
    NEITHER = Verdict.LOWER, Verdict.HIGHER


class _Difference(NamedTuple):
    """Where it lies, and how many independent laps it is as good as measured in."""

    middle: float
    low: float
    high: float
    worth: float


def judge(
    first: Sequence[float],
    second: Sequence[float],
    *,
    pairs: Sequence[tuple[float, float]] = (),
    wanted: Wanted = Wanted.LESS,
    drift: float = DRIFT,
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    """The ratio of medians of two series, where it lies, and what that means.

    The interval is that of resampled medians (a bootstrap), as wide as the laps are few and alike;
    it is the same each time. Series that are not all above zero get a verdict, and no ratio.

    `pairs` are values of laps that belong together, one after the other. Where both series go the
    same way, such as while something warms up, that cancels in their ratios, whose median is told.
    """
    least = min(len(first), len(second))
    if least < LEAST_LAPS:
        return None, None, Verdict.TOO_FEW
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    together = np.asarray(pairs, np.float64).reshape(-1, 2)
    before, after = float(np.median(one)), float(np.median(other))
    limits = -drift * abs(before), drift * abs(before)
    widest = math.inf
    is_positive = bool(one.min() > 0 and other.min() > 0)
    if is_positive:
        one, other, together = np.log(one), np.log(other), np.log(together)
        limits, widest = (math.log1p(-drift), math.log1p(drift)), _WIDEST
    difference = _of_medians(one, other)
    ratio = after / before if is_positive else None
    verdict = _verdict(difference, limits, least, wanted, widest)
    if verdict is Verdict.UNSTEADY and len(together) >= LEAST_PAIRS:
        paired = _of_medians(together[:, 1] - together[:, 0])
        if paired.worth >= (LEAST_LAPS if len(together) >= _MANY_PAIRS else ENOUGH_LAPS):
            difference, verdict = paired, _verdict(paired, limits, least, wanted, widest)
            ratio = _exponential(paired.middle) if is_positive else None
    return _told(ratio, difference, verdict)


def judge_quotients(
    first: Sequence[Lap],
    second: Sequence[Lap],
    *,
    paired: bool = False,
    wanted: Wanted = Wanted.LESS,
    drift: float = DRIFT,
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    """The same of two quotients: of all laps together so much, divided by so many.

    For what is counted, such as battles, of which a lap may have one, or two, or none: medians of
    so few would jump. If they are `paired`, each lap of one belongs to that of the other.
    """
    both = [np.asarray(laps, np.float64).reshape(-1, 2) for laps in (first, second)]
    least = min(int(laps.all(axis=1).sum()) for laps in both)
    if least < LEAST_LAPS:
        return None, None, Verdict.TOO_FEW
    much, many = zip(*(laps.sum(axis=0).tolist() for laps in both), strict=True)
    quotients = much[0] / many[0], much[1] / many[1]
    ratio = quotients[1] / quotients[0]
    # By how much of a lap each differs from what its part in the quotient would be.
    one, other = (
        (laps[:, 0] - quotient * laps[:, 1]) / laps[:, 0].mean()
        for laps, quotient in zip(both, quotients, strict=True)
    )
    # What is counted hides by its own chance how alike the laps were in which that was done.
    parts = [[laps[:, n] / laps[:, n].mean() for laps in both] for n in (0, 1)]
    limits = math.log1p(-drift), math.log1p(drift)
    difference = _of_means(math.log(ratio), (one, other), *parts)
    verdict = _verdict(difference, limits, least, wanted)
    if verdict is Verdict.UNSTEADY and paired and len(one) >= LEAST_PAIRS:
        series = [(after - before,) for before, after in ((one, other), *parts)]
        together = _of_means(math.log(ratio), *series)
        if together.worth >= ENOUGH_LAPS:
            difference, verdict = together, _verdict(together, limits, least, wanted)
    return _told(ratio, difference, verdict)


def judge_in_turn(
    pairs: Sequence[tuple[float, float]],
    *,
    wanted: Wanted = Wanted.LESS,
    least: float = LEAST_EFFECT,
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    """The same of two that took turns, from their neighbouring laps, which are all above zero."""
    ratios = [after / before for before, after in pairs]
    ratio, interval, verdict = judge_ratios(ratios, wanted, least)
    return (None, None, verdict) if verdict is Verdict.TOO_FEW else (ratio, interval, verdict)


def judge_ratios(
    ratios: Sequence[float], wanted: Wanted = Wanted.LESS, least: float = LEAST_EFFECT
) -> tuple[float, tuple[float, float] | None, Verdict]:
    """The median of the ratios of neighbouring laps, where it lies, and what that means.

    The interval is exact, whatever they are spread like. They differ if it leaves out 1, and by
    more than the least that counts: it takes five pairs, all on one side.
    """
    ratio, interval = float(np.median(ratios)), interval_of_median(ratios, CONFIDENCE_IN_TURN)
    if interval is None:
        return ratio, None, Verdict.TOO_FEW
    low, high = interval
    if (low > 1 or high < 1) and abs(math.log(ratio)) > math.log1p(least):
        verdict = wanted.value[low > 1]
    elif max(math.log(high), -math.log(low)) <= _WIDEST:
        verdict = Verdict.NOISE
    else:
        verdict = Verdict.TOO_FEW if len(ratios) < ENOUGH_LAPS else Verdict.UNSTEADY
    return ratio, interval, verdict


def interval_of_median(values: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Between which of the values the true median lies, whatever they are spread like.

    None if not even the lowest and the highest are far enough apart for that.
    """
    count, ordered = len(values), sorted(values)
    left_out, below = 0, 0
    while 2 * (below + math.comb(count, left_out)) <= (1 - confidence) * 2**count:
        below += math.comb(count, left_out)
        left_out += 1
    return (ordered[left_out - 1], ordered[-left_out]) if left_out else None


def _verdict(
    difference: _Difference,
    limits: tuple[float, float],
    laps: int,
    wanted: Wanted,
    widest: float = _WIDEST,
) -> Verdict:
    """It is one only if it is for sure beyond what runs of the same code may differ by."""
    if difference.low > limits[1] or difference.high < limits[0]:
        return wanted.value[difference.low > limits[1]]
    if difference.worth >= LEAST_LAPS and max(-difference.low, difference.high) <= widest:
        return Verdict.NOISE
    return Verdict.TOO_FEW if laps < ENOUGH_LAPS else Verdict.UNSTEADY


def _told(
    ratio: float | None, difference: _Difference, verdict: Verdict
) -> tuple[float | None, tuple[float, float] | None, Verdict]:
    if ratio is None or verdict is Verdict.TOO_FEW:
        return None, None, verdict
    return ratio, (_exponential(difference.low), _exponential(difference.high)), verdict


def _of_medians(*series: _Numbers) -> _Difference:
    """Of one series of differences, or between two."""
    middles = [float(np.median(values)) for values in series]
    worth = _worth(series)
    random = np.random.default_rng(0)
    around = [
        _medians(values, random) * _unsureness(len(values), laps, random)
        for values, laps in zip(series, worth, strict=True)
    ]
    return _difference(middles[-1] - sum(middles[:-1]), around, worth)


def _of_means(
    middle: float, series: Sequence[_Numbers], *others: Sequence[_Numbers]
) -> _Difference:
    """The same about a difference that is known, of laps that the others also tell about."""
    worth = _worth(series, *others)
    random = np.random.default_rng(0)
    around = [
        _means(values, random) * _unsureness(len(values), laps, random)
        for values, laps in zip(series, worth, strict=True)
    ]
    return _difference(middle, around, worth)


def _difference(middle: float, around: Sequence[_Numbers], worth: Sequence[float]) -> _Difference:
    outside = (100 - _CONFIDENCE) / 2
    differences = middle + around[-1] - sum(around[:-1])
    low, high = np.percentile(differences, (outside, 100 - outside)).tolist()
    return _Difference(middle, low, high, min(worth))


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


def _worth(*found: Sequence[_Numbers]) -> list[float]:
    """How many independent values series are worth, by what resembles itself the most.

    Two runs of one operation are taken to be alike in this, as each is too short to tell well.
    """
    lasting = max(_lasting([_Resemblance(one) for one in series]) for series in found)
    return [len(one) / min(lasting, len(one)) for one in found[0]]


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
