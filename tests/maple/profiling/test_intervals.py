"""Intervals of time, beside a slow count of moments."""

from __future__ import annotations

import numpy as np

from maple.profiling.intervals import added_lengths, length, most_at_once, union_of


def test_random_intervals_come_to_what_a_count_of_moments_says() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        lows = random.integers(0, 200, random.integers(1, 40))
        highs = lows + random.integers(0, 20, lows.size)
        moments = np.arange(240)
        under_way = (lows[:, None] <= moments) & (moments < highs[:, None])
        parts = union_of(lows, highs)
        assert length(parts) == under_way.any(axis=0).sum()
        assert (parts[1:, 0] > parts[:-1, 1]).all()
        order = np.argsort(lows, kind="stable")
        added = added_lengths(np.zeros(lows.size, np.int64), lows[order], highs[order])
        assert added.sum() == length(parts)
        assert most_at_once(lows, highs) == under_way.sum(axis=0).max()


def test_of_too_many_intervals_the_smallest_gaps_are_closed() -> None:
    lows, highs = np.array([0, 10, 30, 33, 60]), np.array([5, 12, 31, 40, 61])
    assert union_of(lows, highs, 5).tolist() == [[0, 5], [10, 12], [30, 31], [33, 40], [60, 61]]
    assert union_of(lows, highs, 3).tolist() == [[0, 12], [30, 40], [60, 61]]
    assert union_of(lows, highs, 2).tolist() == [[0, 40], [60, 61]]
