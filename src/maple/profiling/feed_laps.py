"""Divides what the bridge tells into the laps that somebody sets. Reads nothing itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from .laps import MOST_LAPS
from .session import FeedLap

__all__ = ["FeedLaps", "FeedSums", "Timed", "at_most"]

Timed = dict[tuple[str, str | None], tuple[int, int]]
"""Of operations and their parts, how many there were and for how long; None is the whole."""

_Key = TypeVar("_Key")


class FeedSums(NamedTuple):
    """What a feed has come to since a moment."""

    counts: dict[str, int]
    timed: Timed

    def since(self, earlier: FeedSums) -> FeedSums:
        nothing = 0, 0
        return FeedSums(
            {name: count - earlier.counts.get(name, 0) for name, count in self.counts.items()},
            {
                key: (
                    count - earlier.timed.get(key, nothing)[0],
                    total - earlier.timed.get(key, nothing)[1],
                )
                for key, (count, total) in self.timed.items()
            },
        )

    def plus(self, other: FeedSums) -> FeedSums:
        return FeedSums(
            _added_counts([self.counts, other.counts]), _added_times([self.timed, other.timed])
        )


class _Mark(NamedTuple):
    """Where things stood: laps and time since the start, and what each kind of feed came to."""

    laps: int
    time: int
    kinds: Mapping[str, FeedSums]


class FeedLaps:
    """The laps of one source. None comes by itself, as only who sets one may read the source.

    It is told of what came together since the latest pause, and keeps what came before that.
    """

    def __init__(self) -> None:
        self._before_pause = _Mark(0, 0, {})
        self._marks = [self._before_pause]

    def pause(self, time: int, kinds: Mapping[str, FeedSums]) -> None:
        """Time that comes next counts from anew; the lap that it is in goes on."""
        self._before_pause = self._so_far(time, kinds)

    def mark(self, time: int, kinds: Mapping[str, FeedSums]) -> None:
        """Ends a lap."""
        laps = self._marks[-1].laps + 1
        self._marks.append(self._so_far(time, kinds)._replace(laps=laps))
        if len(self._marks) > MOST_LAPS:
            # Marks count from the start: a lap that is left out is in the next one.
            del self._marks[1:-1:2]

    def _so_far(self, time: int, kinds: Mapping[str, FeedSums]) -> _Mark:
        before = self._before_pause
        whole = {
            kind: before.kinds[kind].plus(sums) if kind in before.kinds else sums
            for kind, sums in kinds.items()
        }
        return _Mark(0, before.time + time, {**before.kinds, **whole})

    def describe(self, kind: str) -> list[FeedLap]:
        # A worker writes down what it has from another thread than that which sets laps.
        marks = tuple(self._marks)
        return [
            _between(before, after, kind)
            for before, after in itertools.pairwise(marks)
            if kind in after.kinds and after.time > before.time
        ]


def _between(before: _Mark, after: _Mark, kind: str) -> FeedLap:
    sums = after.kinds[kind].since(before.kinds.get(kind, FeedSums({}, {})))
    wholes: dict[str, tuple[int, int]] = {}
    parts: dict[str, dict[str, tuple[int, int]]] = {}
    for (name, part), timed in sums.timed.items():
        if part is None:
            wholes[name] = timed
        else:
            parts.setdefault(name, {})[part] = timed
    return FeedLap(
        laps=after.laps - before.laps,
        time=after.time - before.time,
        counts=sums.counts,
        wholes=wholes,
        parts=parts,
    )


def at_most(laps: list[FeedLap], most: int = MOST_LAPS) -> list[FeedLap]:
    """Neighbours joined until there are few enough."""
    while len(laps) > most:
        laps = [_joined(laps[number : number + 2]) for number in range(0, len(laps), 2)]
    return laps


def _joined(laps: Sequence[FeedLap]) -> FeedLap:
    names = dict.fromkeys(name for lap in laps for name in lap.parts)
    return FeedLap(
        laps=sum(lap.laps for lap in laps),
        time=sum(lap.time for lap in laps),
        counts=_added_counts([lap.counts for lap in laps]),
        wholes=_added_times([lap.wholes for lap in laps]),
        parts={name: _added_times([lap.parts.get(name, {}) for lap in laps]) for name in names},
    )


def _added_counts(counted: Sequence[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in counted:
        for name, count in one.items():
            found[name] = found.get(name, 0) + count
    return found


def _added_times(timed: Sequence[Mapping[_Key, tuple[int, int]]]) -> dict[_Key, tuple[int, int]]:
    found: dict[_Key, tuple[int, int]] = {}
    for one in timed:
        for key, (count, total) in one.items():
            before = found.get(key, (0, 0))
            found[key] = before[0] + count, before[1] + total
    return found
