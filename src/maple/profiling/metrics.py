"""Quantities of somebody's own: values of any size and sign, counted to one percent."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from .session import Metric, Session

__all__ = ["Values", "merge_metrics", "percentile", "session_metrics"]

_MOST = sys.float_info.max
_STEPS = 128  # to a power of two: neighbours are less than a hundredth apart


class Values:
    """The values of one metric."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self._counts: Counter[float] = Counter()
        self._total = 0.0
        self._lowest, self._highest = math.inf, -math.inf
        self._last = math.nan

    def add(self, value: float) -> None:
        value = float(value)
        if not math.isfinite(value):
            raise ValueError(f"a metric counts finite numbers, and {value} is none")
        self._counts[_neighbour(value)] += 1
        self._total = max(-_MOST, min(_MOST, self._total + value))
        self._lowest, self._highest = min(self._lowest, value), max(self._highest, value)
        self._last = value

    @property
    def sums(self) -> tuple[int, float]:
        """How many values there were, and what they add up to."""
        return self._counts.total(), self._total

    def describe(self) -> Metric | None:
        """As plain data; None where there was no value."""
        count = self._counts.total()
        if not count:
            return None
        return Metric(
            unit=self.unit,
            count=count,
            total=self._total,
            lowest=self._lowest,
            highest=self._highest,
            last=self._last,
            counts=sorted(self._counts.items()),
        )


def merge_metrics(parts: Sequence[Metric]) -> Metric:
    """The values of several processes as one; `last` is NaN then, as nobody knows whose it was."""
    counts: Counter[float] = Counter()
    for part in parts:
        for value, count in part.counts:
            counts[value] += count
    return Metric(
        unit=parts[0].unit,
        count=sum(part.count for part in parts),
        total=sum(part.total for part in parts),
        lowest=min(part.lowest for part in parts),
        highest=max(part.highest for part in parts),
        last=parts[0].last if len(parts) == 1 else math.nan,
        counts=sorted(counts.items()),
    )


def session_metrics(session: Session) -> Iterator[tuple[str, Metric]]:
    """Each metric once for all processes of a role, which its name tells if there are several."""
    found: dict[tuple[str, str, str], list[Metric]] = defaultdict(list)
    for part in session.processes:
        for name, metric in part.metrics.items():
            found[part.role, name, metric.unit].append(metric)
    several = len({role for role, _, _ in found}) > 1
    for (role, name, _), parts in found.items():
        yield f"{name}, {role}" if several else name, merge_metrics(parts)


def percentile(metric: Metric, share: float) -> float:
    """The value that this share of all values, in percent, does not exceed."""
    rank = max(1, math.ceil(metric.count * share / 100))
    seen = 0
    for value, count in metric.counts:
        seen += count
        if seen >= rank:
            return min(max(value, metric.lowest), metric.highest)
    return metric.highest


def _neighbour(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    try:
        return math.ldexp(round(mantissa * 2 * _STEPS) / (2 * _STEPS), exponent)
    except OverflowError:
        # It has none above it.
        return value
