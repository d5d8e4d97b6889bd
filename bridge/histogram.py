"""An HDR histogram of nanoseconds that takes its values by the array. Knows nothing of what they time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

__all__ = ["Histogram"]

_LONGEST = 600_000_000_000
_DIGITS = 2
PERCENTILES = (50.0, 90.0, 99.0, 99.9)


class Histogram:
    """Counts of durations from one nanosecond to ten minutes, each to one percent.

    The counts live in a `HdrHistogram`, so percentiles, merging and the encoded form are those of the HDR
    family; only recording is done here, for thousands of values at once, because one call of the library a
    value would cost more than a promise of one percent allows.
    """

    __slots__ = ("_counts", "_hdr")

    def __init__(self, hdr: HdrHistogram | None = None) -> None:
        self._hdr = hdr or HdrHistogram(1, _LONGEST, _DIGITS)
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
        """Adds values; what is below zero or above ten minutes counts as the limit."""
        if not values.size:
            return
        values = np.clip(values, 0, _LONGEST)
        hdr = self._hdr
        # The exponent of a float is the position of the highest bit, which names the bucket.
        _, bits = np.frexp((values | (hdr.sub_bucket_count - 1)).astype(np.float64))
        buckets = bits.astype(np.int64) - (hdr.sub_bucket_half_count_magnitude + 1)
        index = (
            ((buckets + 1) << hdr.sub_bucket_half_count_magnitude)
            + (values >> buckets)
            - hdr.sub_bucket_half_count
        )
        counted = np.bincount(index)
        self._counts[: counted.size] += counted
        hdr.total_count += values.size
        hdr.min_value = min(hdr.min_value, int(values.min()))
        hdr.max_value = max(hdr.max_value, int(values.max()))

    def add(self, other: Histogram) -> None:
        """Adds the counts of another histogram to this one."""
        self._hdr.add(other._hdr)

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
        return float(self._hdr.get_mean_value() * self.count) if self.count else 0.0

    def percentile(self, percentile: float) -> int:
        """The value that this share of all values, in percent, does not exceed."""
        if not self.count:
            return 0
        return min(int(self._hdr.get_value_at_percentile(percentile)), self.max)

    def curve(self) -> list[tuple[float, int]]:
        """Points (percentile, value), denser towards 100, for drawing."""
        if not self.count:
            return []
        return [
            (float(step.percentile_level_iterated_to), min(int(step.value_iterated_to), self.max))
            for step in self._hdr.get_percentile_iterator(5)
        ]

    def summary(self) -> dict[str, Any]:
        """Plain data: count, mean, the usual percentiles and the maximum, in nanoseconds."""
        named = {f"p{percentile:g}": self.percentile(percentile) for percentile in PERCENTILES}
        mean = self.total / self.count if self.count else 0.0
        return {"count": self.count, "mean": mean, **named, "max": self.max}
