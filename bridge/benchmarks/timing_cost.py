"""What it costs to time one round trip, measured by itself.

The rows with timing on and off show the same, but among the larger noise of whole battles.
"""

from __future__ import annotations

import subprocess
import time

import orjson

from ..runtime import Runtime
from ..timing import RoundTrip, RoundTrips, clock

__all__ = ["timing_cost"]

_TRIPS = 200_000
_STAMPS = b',"t":[1794798306123456,4100,812345,9012]'


def timing_cost(runtime: Runtime) -> dict[str, float]:
    """Microseconds a trip: in Python stamps, decoding and histograms; in Node stamps."""
    return {"python_us": _python_cost(), "node_us": _node_cost(runtime)}


def _python_cost() -> float:
    trips = RoundTrips()
    start = time.process_time()
    for _ in range(_TRIPS):
        issued = clock()
        written = clock()
        arrived = clock()
        decoded = clock()
        stamps = RoundTrip(
            issued, written, 1794798306123456, 4100, 812345, 9012, arrived, decoded, clock()
        )
        trips.record("choose", stamps)
    recording = time.process_time() - start
    return 1e6 * (recording + _decoding_cost()) / _TRIPS


def _decoding_cost() -> float:
    """Seconds to decode the stamps of all trips."""
    costs = []
    for frame in (b'{"ack":1%s}' % _STAMPS, b'{"ack":1}'):
        start = time.process_time()
        for _ in range(_TRIPS):
            orjson.loads(frame)
        costs.append(time.process_time() - start)
    return costs[0] - costs[1]


def _node_cost(runtime: Runtime) -> float:
    script = runtime.entry.parent / "bench" / "stamps.js"
    done = subprocess.run(
        [runtime.node, script], capture_output=True, text=True, timeout=60, check=True
    )
    return float(done.stdout) / 1e3
