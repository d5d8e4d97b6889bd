"""How fast a trial was, from what it told after each update."""

from __future__ import annotations

import pytest

from maple.tune.trial import Point, _is_long_enough, speed_of


def points(*seconds: float) -> list[Point]:
    """After each update of a hundred decisions."""
    return [Point(at, 100 * number) for number, at in enumerate(seconds, start=1)]


def test_what_is_measured_begins_when_processes_are_warm() -> None:
    # Slow at first, and then ten updates a second.
    told = points(0, 1, 2, 2.1, 2.2, 2.3, 4.0)
    assert speed_of(told, 2) == pytest.approx(400 / 2)


def test_updates_that_take_longer_than_what_is_measured_are_measured_whole() -> None:
    assert not _is_long_enough(points(10), 2)
    assert not _is_long_enough(points(10, 15), 2)
    told = points(10, 15, 20)
    assert _is_long_enough(told, 2)
    assert speed_of(told, 2) == pytest.approx(100 / 5)


def test_it_is_measured_for_as_long_as_was_wanted() -> None:
    assert not _is_long_enough(points(0, 1, 2, 3, 3.9), 2)
    assert _is_long_enough(points(0, 1, 2, 3, 4), 2)
