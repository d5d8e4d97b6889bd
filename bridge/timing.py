"""Times every command on its way to Node and back, phase by phase, in histograms."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .histogram import Histogram, record_rows

__all__ = ["PHASES", "RoundTrip", "RoundTrips", "Trips", "clock"]

clock = time.monotonic_ns
"""Nanoseconds of the monotonic clock; Node's `process.hrtime` reads the same one."""

PHASES = (
    "encode",
    "pipe_out",
    "node_wait",
    "simulate",
    "node_encode",
    "pipe_in",
    "decode",
    "dispatch",
)
"""The parts of a round trip, in order; together they are the whole of it.

encode: from the call to the write, which gathers the commands of a loop turn, or the first of them
for a process that is idle. pipe_out: until Node
has read it. node_wait: behind other commands in Node. simulate: the battle itself, and parsing the
command. node_encode: making the frame. pipe_in: from there until Python has read it, which gathers
the frames of a loop turn in Node. decode: until the frames of that read are parsed, all but their
requests. dispatch: until their rooms have them.
"""


class RoundTrip(NamedTuple):
    """One command to Node and its answer: the stamps on its way, in nanoseconds.

    `node_wait`, `simulate` and `node_encode` are what Node spent on it, and no moments.
    """

    issued: int
    written: int
    received_by_node: int
    node_wait: int
    simulate: int
    node_encode: int
    arrived: int
    decoded: int
    dispatched: int


_FOLD = 1024  # so many trips at once
_OF_A_TRIP = 7  # the number of its operation, and its first six stamps
_OF_A_READ = 5  # how many trips it ended, their last three stamps, and whose they were


class Trips(NamedTuple):
    """Trips one by one: their operations, the pids of Node, and what each spent there, from when.

    All but the operations are columns of numbers; times are nanoseconds of the clock.
    """

    operation: list[str]
    pid: list[int]
    start: list[int]
    simulate: list[int]
    node_encode: list[int]


class _Numbers(dict[str, int]):
    """Numbers the operations as they come."""

    def __missing__(self, operation: str) -> int:
        number = self[operation] = len(self)
        return number


class RoundTrips:
    """The histograms of all round trips, by operation.

    On the hot path the stamps are only put aside. Whenever there are enough of them, and before
    they fill the caches, numpy folds them into the histograms together.
    """

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        """Whether trips are timed."""
        self.clock: Callable[[], int] = clock if on else _no_clock
        """The clock that stamps commands, or one that always reads 0: not timed."""
        self.operations = _Numbers()
        """The numbers by which `record` knows operations."""
        self._trips: list[int] = []
        self._reads: list[int] = []
        self._kept: deque[npt.NDArray[np.int64]] = deque()
        self._to_keep = 0
        self._totals: dict[str, Histogram] = {}
        self._phases: dict[str, dict[str, Histogram]] = {}

    def __repr__(self) -> str:
        self._fold()
        counts = ", ".join(f"{op} {total.count}" for op, total in self._totals.items())
        return f"<RoundTrips: {counts or 'none'}>"

    def switch(self, on: bool) -> None:
        """Times from now on, or does not; what is on its way then is not recorded."""
        self.on = on
        self.clock = clock if on else _no_clock

    def add(self, operation: str, trip: RoundTrip) -> None:
        """Notes a single trip."""
        self.record([self.operations[operation], *trip[:6]], *trip[6:])

    def record(
        self, trips: list[int], arrived: int, decoded: int, dispatched: int, pid: int = 0
    ) -> None:
        """Notes the trips that ended with one read, which share the last stamps of a RoundTrip.

        Of each trip, one after another, come the number of its operation and the other stamps.
        The pid is that of the process at the other end.
        """
        self._trips += trips
        self._reads += (len(trips) // _OF_A_TRIP, arrived, decoded, dispatched, pid)
        if len(self._trips) >= _FOLD * _OF_A_TRIP:
            self._fold()

    def keep(self, count: int) -> None:
        """Keeps at least so many of the latest trips one by one, for `latest`; 0 for none."""
        self._fold()
        self._to_keep = count
        self._forget()

    def latest(self) -> Trips:
        """The latest trips that were kept, in the order in which they ended."""
        self._fold()
        rows = np.concatenate((np.empty((5, 0), np.int64), *self._kept), axis=1)
        names = list(self.operations)
        numbers, *columns = rows.tolist()
        return Trips([names[number] for number in numbers], *columns)

    def total(self, operation: str) -> Histogram:
        """How long the operation's round trips took as a whole."""
        self._fold()
        return self._totals.get(operation) or Histogram()

    def histograms(self) -> dict[str, tuple[Histogram, dict[str, Histogram]]]:
        """By operation, the whole trips and each of their phases; these go on counting."""
        self._fold()
        return {op: (total, self._phases[op]) for op, total in self._totals.items()}

    def summary(self) -> dict[str, Any]:
        """Plain data by operation: percentiles of the whole and of each phase, and counts."""
        self._fold()
        return {
            operation: {
                "total": _describe(total),
                "phases": {phase: _describe(h) for phase, h in self._phases[operation].items()},
            }
            for operation, total in self._totals.items()
        }

    def _fold(self) -> None:
        trips = np.array(self._trips, np.int64).reshape(-1, _OF_A_TRIP)
        reads = np.array(self._reads, np.int64).reshape(-1, _OF_A_READ)
        self._trips.clear()
        self._reads.clear()
        numbers, issued, written, received, wait, simulate, encode = trips.T
        arrived, decoded, dispatched, pids = np.repeat(reads[:, 1:], reads[:, 0], axis=0).T
        durations = np.stack(
            (
                written - issued,
                received - written,
                wait,
                simulate,
                encode,
                arrived - (received + wait + simulate + encode),
                decoded - arrived,
                dispatched - decoded,
                dispatched - issued,
            )
        )
        if self._to_keep and len(trips):
            self._kept.append(np.stack((numbers, pids, received + wait, simulate, encode)))
            self._forget()
        for operation, number in self.operations.items():
            own = numbers == number
            if own.any():
                record_rows(self._histograms(operation), durations[:, own])

    def _forget(self) -> None:
        """Drops the oldest trips, as far as enough are left."""
        count = sum(part.shape[1] for part in self._kept)
        while self._kept and (count := count - self._kept[0].shape[1]) >= self._to_keep:
            self._kept.popleft()

    def _histograms(self, operation: str) -> list[Histogram]:
        """Those of each phase, and that of the whole."""
        if operation not in self._totals:
            self._totals[operation] = Histogram()
            self._phases[operation] = {phase: Histogram() for phase in PHASES}
        return [*self._phases[operation].values(), self._totals[operation]]


def _no_clock() -> int:
    return 0


def _describe(histogram: Histogram) -> dict[str, Any]:
    return histogram.summary() | {"hdr": histogram.encode()}
