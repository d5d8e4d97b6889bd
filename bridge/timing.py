"""Times every command on its way to Node and back, phase by phase, in histograms."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .histogram import Histogram

__all__ = ["PHASES", "RoundTrip", "RoundTrips", "clock"]

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

encode: from the call to the write, which gathers the commands of a loop turn. pipe_out: until Node
has read it. node_wait: behind other commands in Node. simulate: the battle itself. node_encode:
making the frame. pipe_in: from there until Python has read it, which gathers the frames of a loop
turn in Node. decode: until this frame is parsed, behind others of the same read. dispatch: until
its room has it.
"""


class RoundTrip(NamedTuple):
    """One command to Node and its answer: the stamps on its way, in nanoseconds."""

    issued: int
    written: int
    received_by_node: int
    node_wait: int
    simulate: int
    node_encode: int
    arrived: int
    decoded: int
    dispatched: int


_STAMPS = len(RoundTrip._fields)
_PACKED = struct.Struct(f"={_STAMPS}q")
_FOLD = 2048


class _Recent:
    """Trips that are not in the histograms yet: packed, since objects would fill the caches."""

    __slots__ = ("end", "packed")

    def __init__(self) -> None:
        self.packed = bytearray(_FOLD * _PACKED.size)
        self.end = 0

    def take(self) -> npt.NDArray[np.int64]:
        """The stamps, a row for each trip, which are forgotten here."""
        stamps = np.frombuffer(self.packed, np.int64, self.end // 8)
        self.end = 0
        return stamps.reshape(-1, _STAMPS)


class RoundTrips:
    """The histograms of all round trips, by operation.

    A trip is packed into a buffer on the hot path; when that is full, its trips are folded into
    the histograms together, by numpy.
    """

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        """Whether trips are timed."""
        self.clock: Callable[[], int] = clock if on else _no_clock
        """The clock that stamps commands, or one that always reads 0: not timed."""
        self._recent: dict[str, _Recent] = {}
        self._totals: dict[str, Histogram] = {}
        self._phases: dict[str, dict[str, Histogram]] = {}

    def __repr__(self) -> str:
        self._fold_all()
        counts = ", ".join(f"{op} {total.count}" for op, total in self._totals.items())
        return f"<RoundTrips: {counts or 'none'}>"

    def switch(self, on: bool) -> None:
        """Times from now on, or does not; what is on its way then is not recorded."""
        self.on = on
        self.clock = clock if on else _no_clock

    def record(
        self,
        operation: str,
        issued: int,
        written: int,
        received_by_node: int,
        node_wait: int,
        simulate: int,
        node_encode: int,
        arrived: int,
        decoded: int,
        dispatched: int,
    ) -> None:
        """Notes the stamps of a RoundTrip, one by one: to make an object of them costs as much."""
        recent = self._recent.get(operation)
        if recent is None:
            recent = self._recent[operation] = _Recent()
            self._totals[operation] = Histogram()
            self._phases[operation] = {phase: Histogram() for phase in PHASES}
        _PACKED.pack_into(
            recent.packed,
            recent.end,
            issued,
            written,
            received_by_node,
            node_wait,
            simulate,
            node_encode,
            arrived,
            decoded,
            dispatched,
        )
        recent.end += _PACKED.size
        if recent.end == len(recent.packed):
            self._fold(operation)

    def total(self, operation: str) -> Histogram:
        """How long the operation's round trips took as a whole."""
        self._fold_all()
        return self._totals.get(operation) or Histogram()

    def histograms(self) -> dict[str, tuple[Histogram, dict[str, Histogram]]]:
        """By operation, the whole trips and each of their phases; these go on counting."""
        self._fold_all()
        return {op: (total, self._phases[op]) for op, total in self._totals.items()}

    def summary(self) -> dict[str, Any]:
        """Plain data by operation: percentiles of the whole and of each phase, and counts."""
        self._fold_all()
        return {
            operation: {
                "total": _describe(total),
                "phases": {phase: _describe(h) for phase, h in self._phases[operation].items()},
            }
            for operation, total in self._totals.items()
        }

    def _fold_all(self) -> None:
        for operation in self._recent:
            self._fold(operation)

    def _fold(self, operation: str) -> None:
        stamps = self._recent[operation].take()
        issued, written, received, wait, simulate, encode, arrived, decoded, dispatched = stamps.T
        durations = (
            written - issued,
            received - written,
            wait,
            simulate,
            encode,
            arrived - (received + wait + simulate + encode),
            decoded - arrived,
            dispatched - decoded,
        )
        phases = self._phases[operation]
        for phase, values in zip(PHASES, durations, strict=True):
            phases[phase].record(values)
        self._totals[operation].record(dispatched - issued)


def _no_clock() -> int:
    return 0


def _describe(histogram: Histogram) -> dict[str, Any]:
    return histogram.summary() | {"hdr": histogram.encode()}
