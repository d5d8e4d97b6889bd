"""Times every command on its way to Node and back, phase by phase, in histograms."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

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

_FOLD = 4096


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


class RoundTrips:
    """The histograms of all round trips, by operation.

    A trip is one `append` on the hot path; every few thousand of them are folded into the
    histograms together, by numpy.
    """

    def __init__(self) -> None:
        self._recent: dict[str, list[RoundTrip]] = {}
        self._totals: dict[str, Histogram] = {}
        self._phases: dict[str, dict[str, Histogram]] = {}

    def __repr__(self) -> str:
        self._fold_all()
        counts = ", ".join(f"{op} {total.count}" for op, total in self._totals.items())
        return f"<RoundTrips: {counts or 'none'}>"

    def record(self, operation: str, trip: RoundTrip) -> None:
        recent = self._recent.get(operation)
        if recent is None:
            recent = self._recent[operation] = []
            self._totals[operation] = Histogram()
            self._phases[operation] = {phase: Histogram() for phase in PHASES}
        recent.append(trip)
        if len(recent) >= _FOLD:
            self._fold(operation)

    def total(self, operation: str) -> Histogram:
        """How long the operation's round trips took as a whole."""
        self._fold_all()
        return self._totals.get(operation) or Histogram()

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
        recent = self._recent[operation]
        if not recent:
            return
        columns = len(RoundTrip._fields)
        stamps = np.fromiter(chain.from_iterable(recent), np.int64, len(recent) * columns)
        recent.clear()
        issued, written, received, wait, simulate, encode, arrived, decoded, dispatched = (
            stamps.reshape(-1, columns).T
        )
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


def _describe(histogram: Histogram) -> dict[str, Any]:
    return histogram.summary() | {"hdr": histogram.encode()}
