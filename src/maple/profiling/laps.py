"""Divides a session into parts, so that it can be told what varies by itself. Times nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .session import Lap
from .tree import Node

__all__ = ["MOST_LAPS", "Laps", "Tallies"]

MOST_LAPS = 128


class Tallies(NamedTuple):
    """What was counted until now; of each metric, how many values there were and their sum."""

    counts: Mapping[str, int] = {}
    metrics: Mapping[str, tuple[int, float]] = {}


class _Mark(NamedTuple):
    """Where things stood: laps and time since the start; by node, calls and how long they took."""

    laps: int
    time: int
    calls: list[int]
    ended: list[int]
    tallies: Tallies


class Laps:
    """Marks that somebody sets, or that come by themselves as long as nobody does."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._marks = [_Mark(0, 0, [], [], Tallies())]
        self.by_hand = False
        """Whether somebody has set them."""

    def mark(
        self,
        time: int,
        nodes: Sequence[Node],
        tallies: Tallies | None = None,
        *,
        by_hand: bool = False,
    ) -> None:
        """Ends a lap, at so much time since the start without pauses.

        Once that was done by hand, those that come by themselves count no more.
        """
        if by_hand and not self.by_hand:
            del self._marks[1:]
            self.by_hand = True
        if self.by_hand and not by_hand:
            return
        calls, ended = [node.calls for node in nodes], [node.ended for node in nodes]
        laps = self._marks[-1].laps + 1
        self._marks.append(_Mark(laps, time, calls, ended, tallies or Tallies()))
        if len(self._marks) > MOST_LAPS:
            # Marks count from the start: a lap that is left out is in the next one.
            del self._marks[1:-1:2]

    def describe(self) -> list[Lap]:
        return [_between(before, after) for before, after in itertools.pairwise(self._marks)]


def _between(before: _Mark, after: _Mark) -> Lap:
    counts, metrics = before.tallies
    return Lap(
        laps=after.laps - before.laps,
        time=after.time - before.time,
        calls=_differences(before.calls, after.calls),
        ended=_differences(before.ended, after.ended),
        counts={name: count - counts.get(name, 0) for name, count in after.tallies.counts.items()},
        metrics={
            name: (count - metrics.get(name, (0, 0.0))[0], total - metrics.get(name, (0, 0.0))[1])
            for name, (count, total) in after.tallies.metrics.items()
        },
    )


def _differences(before: list[int], after: list[int]) -> list[int]:
    return [b - a for a, b in itertools.zip_longest(before, after, fillvalue=0)]
