"""Arithmetic on intervals of time, by the array: what they cover, how many there are at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "Intervals",
    "Times",
    "added_lengths",
    "join_nearest",
    "length",
    "most_at_once",
    "union",
    "union_of",
]

Times = npt.NDArray[np.int64]
"""Nanoseconds of the monotonic clock."""

Intervals = npt.NDArray[np.int64]
"""Rows of [low, high]."""


def added_lengths(groups: Times, lows: Times, highs: Times) -> Times:
    """For each interval, how much of it those before it in its group do not cover.

    The intervals of a group stand together, groups in rising order, each group by its lows. The sum
    over a group is the time that the group covers at least once.
    """
    if not lows.size:
        return lows
    # Groups are moved apart in time, so that none reaches into the next.
    origin = int(lows.min())
    apart = groups * (int(highs.max()) - origin + 1) - origin
    lows, highs = lows + apart, highs + apart
    reached = np.concatenate((lows[:1], np.maximum.accumulate(highs)[:-1]))
    added: Times = np.maximum(highs - np.maximum(lows, reached), 0)
    return added


def union(intervals: Intervals) -> Intervals:
    """The same moments in as few intervals as possible, in their order."""
    lows, highs = np.ascontiguousarray(intervals.reshape(-1, 2).T)
    return union_of(lows, highs)


def union_of(lows: Times, highs: Times, most: int | None = None) -> Intervals:
    """The union of intervals in two columns; if it has too many, the smallest gaps are closed."""
    if not lows.size:
        return np.empty((0, 2), np.int64)
    if (lows[1:] < lows[:-1]).any():
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], highs[order]
    reached = np.maximum.accumulate(highs)
    gaps = lows[1:] - reached[:-1]
    if most is None or lows.size <= most:
        kept = np.flatnonzero(gaps > 0)
    else:
        kept = np.sort(_largest(gaps, most - 1))
        kept = kept[gaps[kept] > 0]
    parts = np.empty((len(kept) + 1, 2), np.int64)
    parts[0, 0], parts[-1, 1] = lows[0], reached[-1]
    parts[1:, 0], parts[:-1, 1] = lows[kept + 1], reached[kept]
    return parts


def length(intervals: Intervals) -> int:
    """How long intervals are together that do not overlap."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())


def join_nearest(intervals: Intervals, most: int) -> Intervals:
    """As many intervals as that at the most, which are as long together as those of a union.

    Over the smallest gaps, what comes after a gap is moved up to what comes before it.
    """
    if len(intervals) <= most:
        return intervals
    kept = np.sort(_largest(intervals[1:, 0] - intervals[:-1, 1], most - 1))
    firsts = np.concatenate(([0], kept + 1))
    lengths = np.add.reduceat(intervals[:, 1] - intervals[:, 0], firsts)
    return np.stack((intervals[firsts, 0], intervals[firsts, 0] + lengths), axis=1)


def _largest(numbers: Times, count: int) -> npt.NDArray[np.intp]:
    """Where the largest of them stand, so many, in no order."""
    return np.argpartition(numbers, numbers.size - count)[numbers.size - count :]


def most_at_once(lows: Times, highs: Times) -> int:
    """How many intervals there were at the same time; one that ends makes room for the next."""
    if not lows.size:
        return 0
    order = np.argsort(lows, kind="stable")
    lows, highs = lows[order], highs[order]
    if np.all(lows[1:] >= np.maximum.accumulate(highs)[:-1]):
        return 1
    times = np.concatenate((highs, lows))
    changes = np.repeat((-1, 1), len(lows))
    return int(np.cumsum(changes[np.argsort(times, kind="stable")]).max())
