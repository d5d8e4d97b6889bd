"""An HDR histogram of nanoseconds that takes its values by the array."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

__all__ = ["Histogram", "record_rows"]

_LONGEST = 600_000_000_000
_DIGITS = 2
_SUB_BUCKETS = 256  # the power of two that _DIGITS need
_MANTISSA, _BIAS = 52, 1023  # of a float of 64 bits
PERCENTILES = (50.0, 90.0, 99.0, 99.9)


class Histogram:
    """Counts of durations from one nanosecond to ten minutes, or longer, each to one percent.

    The counts live in a `HdrHistogram`, so their layout, merging and encoded form are those of the
    HDR family. Recording and reading are done here, on whole arrays: the library does both in
    plain Python, value by value, which would cost more than a promise of one percent allows.
    """

    __slots__ = ("_counts", "_hdr")

    def __init__(self, hdr: HdrHistogram | None = None, *, longest: int = _LONGEST) -> None:
        self._hdr = hdr or HdrHistogram(1, longest, _DIGITS)
        self._counts: npt.NDArray[np.int64] = np.frombuffer(self._hdr.counts, dtype=np.int64)

    def __repr__(self) -> str:
        return f"<Histogram: {self.count} values, max {self.max} ns>"

    @classmethod
    def decode(cls, encoded: str) -> Histogram:
        """The histogram that `encode` made a text of."""
        return cls(HdrHistogram.decode(encoded))

    def encode(self) -> str:
        """The counts as base64 text that every HDR implementation reads."""
        encoded: bytes = self._hdr.encode()
        return encoded.decode("ascii")

    def record(self, values: npt.NDArray[np.int64]) -> None:
        """Adds values; what is below zero or above the longest counts as the limit."""
        record_rows([self], values[np.newaxis])

    def _count(self, cells: npt.NDArray[np.int64], smallest: int, largest: int) -> None:
        counted = np.bincount(cells)
        self._counts[: counted.size] += counted
        hdr = self._hdr
        hdr.total_count += cells.size
        hdr.min_value = min(hdr.min_value, smallest)
        hdr.max_value = max(hdr.max_value, largest)

    def add(self, other: Histogram) -> None:
        """Adds the counts of another histogram to this one."""
        hdr, added = self._hdr, other._hdr
        # The library would round the limits, and take those of an empty histogram for zero.
        limits = min(hdr.min_value, added.min_value), max(hdr.max_value, added.max_value)
        hdr.add(added)
        hdr.min_value, hdr.max_value = limits

    def since(self, earlier: Histogram) -> Histogram:
        """What was recorded after `earlier`, an older state of this histogram, was taken."""
        later = Histogram(longest=self.longest)
        later._counts[:] = self._counts - earlier._counts
        recorded = np.flatnonzero(later._counts)
        if recorded.size:
            # The exact limits of the part are not known; those of its cells are, to one percent.
            upper = _upper_bounds(self._counts.size)
            later._hdr.total_count = self.count - earlier.count
            later._hdr.max_value = min(int(upper[recorded[-1]]), self.max)
            first = int(recorded[0])
            later._hdr.min_value = max(int(upper[first - 1]) + 1 if first else 0, self.min)
        return later

    def counts_up_to(self, values: Sequence[int]) -> list[int]:
        """For each value, how many recorded ones do not exceed it, to one percent."""
        cells = np.searchsorted(_upper_bounds(self._counts.size), values, side="right")
        cumulated = np.concatenate(([0], np.cumsum(self._counts)))
        return [int(count) for count in cumulated[cells]]

    @property
    def longest(self) -> int:
        """The longest duration that it can tell from others."""
        return int(self._hdr.highest_trackable_value)

    @property
    def count(self) -> int:
        return int(self._hdr.total_count)

    @property
    def max(self) -> int:
        return int(self._hdr.max_value)

    @property
    def min(self) -> int:
        return 0 if self._hdr.min_value == sys.maxsize else int(self._hdr.min_value)

    @property
    def total(self) -> float:
        """The sum of all values, to the precision of the histogram."""
        return float(self._counts @ self._middles())

    def percentile(self, percentile: float) -> int:
        """The value that this share of all values, in percent, does not exceed."""
        return self.percentiles((percentile,))[0]

    def percentiles(self, percentiles: Sequence[float]) -> list[int]:
        if not self.count:
            return [0] * len(percentiles)
        # The next smaller float: 99.9 % of 1000 values shall not be one more than 999 of them.
        shares = np.nextafter(np.asarray(percentiles, dtype=np.float64), 0.0) / 100
        ranks = np.ceil(shares * self.count).clip(1)
        indices = np.searchsorted(np.cumsum(self._counts), ranks)
        return [min(int(value), self.max) for value in _upper_bounds(self._counts.size)[indices]]

    def curve(self) -> list[tuple[float, int]]:
        """Points (percentile, value), denser towards 100, for drawing."""
        halvings = np.arange(0, max(1.0, np.log2(max(self.count, 2))), 0.2)
        percentiles = [*(100 * (1 - 0.5**halvings)), 100.0]
        return list(zip(map(float, percentiles), self.percentiles(percentiles), strict=True))

    def summary(self) -> dict[str, Any]:
        """Plain data: count, mean, the usual percentiles and the maximum, in nanoseconds."""
        named = zip((f"p{p:g}" for p in PERCENTILES), self.percentiles(PERCENTILES), strict=True)
        # The middle of the last bucket may be more than the most that is in it.
        mean = min(self.total / self.count, self.max) if self.count else 0.0
        return {"count": self.count, "mean": mean, **dict(named), "max": self.max}

    def _middles(self) -> npt.NDArray[np.float64]:
        upper = _upper_bounds(self._counts.size)
        return (upper + np.concatenate(([0], upper[:-1] + 1))) / 2


def record_rows(histograms: Sequence[Histogram], rows: npt.NDArray[np.int64]) -> None:
    """Adds to each histogram the values of its row: all at once is cheaper than one by one."""
    if not rows.size:
        return
    smallest, largest = rows.min(axis=1).tolist(), rows.max(axis=1).tolist()
    longest = min(histogram.longest for histogram in histograms)
    if min(smallest) < 0 or max(largest) > longest:
        record_rows(histograms, np.clip(rows, 0, longest))
        return
    # The exponent of a float is the position of the highest bit, which names the bucket.
    exponents = (rows | (_SUB_BUCKETS - 1)).astype(np.float64).view(np.int64) >> _MANTISSA
    buckets = exponents - (_BIAS + _SUB_BUCKETS.bit_length() - 2)
    cells = buckets * (_SUB_BUCKETS // 2) + (rows >> buckets)
    for histogram, own, least, most in zip(histograms, cells, smallest, largest, strict=True):
        histogram._count(own, least, most)


@functools.cache
def _upper_bounds(size: int) -> npt.NDArray[np.int64]:
    """The largest value each count stands for: one step apart at first, then two, four…"""
    half = _SUB_BUCKETS // 2
    index = np.arange(size)
    bucket = np.maximum(index // half - 1, 0)
    sub_bucket = index - bucket * half
    bounds: npt.NDArray[np.int64] = ((sub_bucket + 1) << bucket) - 1
    return bounds
