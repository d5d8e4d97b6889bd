"""Divides a session into parts, so that it can be told what varies by itself. Times nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from .session import Lap
from .tree import Node

__all__ = ["Laps"]

_MOST = 128


class _Mark(NamedTuple):
    """Where things stood: laps and time since the start; by node, calls and how long they took."""

    laps: int
    time: int
    calls: list[int]
    ended: list[int]


class Laps:
    """Marks that somebody sets, or that come by themselves as long as nobody does."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._marks = [_Mark(0, 0, [], [])]
        self.by_hand = False
        """Whether somebody has set them."""

    def mark(self, time: int, nodes: Sequence[Node], *, by_hand: bool = False) -> None:
        """Ends a lap, at so much time since the start without pauses.

        Once that was done by hand, those that come by themselves count no more.
        """
        if by_hand and not self.by_hand:
            del self._marks[1:]
            self.by_hand = True
        if self.by_hand and not by_hand:
            return
        calls, ended = [node.calls for node in nodes], [node.ended for node in nodes]
        self._marks.append(_Mark(self._marks[-1].laps + 1, time, calls, ended))
        if len(self._marks) > _MOST:
            # Marks count from the start: a lap that is left out is in the next one.
            del self._marks[1:-1:2]

    def describe(self) -> list[Lap]:
        return [
            Lap(
                laps=after.laps - before.laps,
                time=after.time - before.time,
                calls=_differences(before.calls, after.calls),
                ended=_differences(before.ended, after.ended),
            )
            for before, after in itertools.pairwise(self._marks)
        ]


def _differences(before: list[int], after: list[int]) -> list[int]:
    return [b - a for a, b in itertools.zip_longest(before, after, fillvalue=0)]
