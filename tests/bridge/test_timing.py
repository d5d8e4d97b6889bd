"""Round trips: the phases add up to the whole, whatever is folded when."""

from __future__ import annotations

import random
import time
from itertools import chain

import pytest

from bridge.histogram import Histogram
from bridge.timing import _FOLD, PHASES, RoundTrip, RoundTrips, clock

Durations = dict[str, int]


def durations(draw: random.Random) -> Durations:
    """How long each phase of a trip takes: from a microsecond to many milliseconds."""
    return {phase: int(1_000 * 10 ** draw.uniform(0, 4)) for phase in PHASES}


def trip(issued: int, parts: Durations) -> RoundTrip:
    """The stamps of a trip that was issued at a time and took these durations."""
    written = issued + parts["encode"]
    received = written + parts["pipe_out"]
    sent = received + parts["node_wait"] + parts["simulate"] + parts["node_encode"]
    arrived = sent + parts["pipe_in"]
    decoded = arrived + parts["decode"]
    return RoundTrip(
        issued=issued,
        written=written,
        received_by_node=received,
        node_wait=parts["node_wait"],
        simulate=parts["simulate"],
        node_encode=parts["node_encode"],
        arrived=arrived,
        decoded=decoded,
        dispatched=decoded + parts["dispatch"],
    )


def recorded(count: int, seed: int = 1) -> tuple[RoundTrips, list[Durations]]:
    draw = random.Random(seed)
    trips = RoundTrips()
    parts = [durations(draw) for _ in range(count)]
    for number, part in enumerate(parts):
        trips.add("choose", trip(10**15 + number * 10**9, part))
    return trips, parts


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_is_told_from_the_others(phase: str) -> None:
    trips = RoundTrips()
    trips.add("choose", trip(10**15, dict.fromkeys(PHASES, 0) | {phase: 100_000}))
    described = trips.summary()["choose"]
    assert described["total"]["max"] == 100_000
    assert {name: h["max"] for name, h in described["phases"].items()} == dict.fromkeys(
        PHASES, 0
    ) | {phase: 100_000}


def test_the_phases_add_up_to_the_whole() -> None:
    trips, parts = recorded(1000)
    described = trips.summary()["choose"]
    assert list(described["phases"]) == list(PHASES)
    exact = sum(sum(part.values()) for part in parts) / len(parts)
    assert described["total"]["mean"] == pytest.approx(exact, rel=0.01)
    means = {phase: h["mean"] for phase, h in described["phases"].items()}
    assert sum(means.values()) == pytest.approx(described["total"]["mean"], rel=0.01)
    for phase in PHASES:
        assert means[phase] == pytest.approx(sum(p[phase] for p in parts) / 1000, rel=0.01)


def test_trips_that_end_with_one_read_share_its_stamps() -> None:
    trips = RoundTrips()
    opening, choosing = trips.operations["open"], trips.operations["choose"]
    for start in (1_000, 501_000):
        reads = [
            [opening, start, start + 10, start + 30, 1, 2, 3],
            [choosing, start + 1, start + 10, start + 30, 4, 5, 6],
            [opening, start + 2, start + 10, start + 30, 7, 8, 9],
        ]
        trips.record([*chain.from_iterable(reads)], start + 60, start + 65, start + 67)
    described = trips.summary()
    assert {name: operation["total"]["count"] for name, operation in described.items()} == {
        "open": 4,
        "choose": 2,
    }
    assert described["choose"]["total"]["max"] == 66
    assert described["open"]["total"]["max"] == 67
    assert described["choose"]["phases"]["encode"]["max"] == 9
    assert described["choose"]["phases"]["pipe_in"]["max"] == 15
    assert described["open"]["phases"]["dispatch"]["count"] == 4


@pytest.mark.parametrize("count", [1, _FOLD - 1, _FOLD, _FOLD + 1, 2 * _FOLD, 2 * _FOLD + 3])
def test_no_trip_is_lost_or_counted_twice_around_a_fold(count: int) -> None:
    trips = RoundTrips()
    for number in range(count):
        trips.add("choose", trip(number, dict.fromkeys(PHASES, number)))
    assert trips.total("choose").count == count
    described = trips.summary()["choose"]
    assert {h["count"] for h in (described["total"], *described["phases"].values())} == {count}
    assert described["phases"]["simulate"]["max"] == count - 1
    assert described["total"]["max"] == (count - 1) * len(PHASES)


def test_looking_in_between_changes_nothing() -> None:
    looked_at, unseen = RoundTrips(), RoundTrips()
    draw = random.Random(3)
    for number in range(500):
        stamps = trip(number * 10**9, durations(draw))
        looked_at.add("choose", stamps)
        unseen.add("choose", stamps)
        if not number % 50:
            looked_at.summary()
    assert looked_at.summary() == unseen.summary()


def test_operations_are_kept_apart() -> None:
    trips = RoundTrips()
    for operation, count, simulate in (("open", 2, 9_000), ("choose", 5, 700), ("ping", 1, 30)):
        for number in range(count):
            parts = dict.fromkeys(PHASES, 0) | {"simulate": simulate}
            trips.add(operation, trip(number, parts))
    assert repr(trips) == "<RoundTrips: open 2, choose 5, ping 1>"
    summary = trips.summary()
    assert {op: (s["total"]["count"], s["total"]["max"]) for op, s in summary.items()} == {
        "open": (2, 9_000),
        "choose": (5, 700),
        "ping": (1, 30),
    }


def test_an_operation_that_never_was_is_empty() -> None:
    trips = RoundTrips()
    assert trips.total("fork").count == 0
    assert trips.summary() == {}
    assert repr(trips) == "<RoundTrips: none>"


def test_a_clock_that_seems_to_run_backwards_counts_as_no_time() -> None:
    # Node has its stamps in doubles, which after months of uptime are off by a nanosecond or two.
    trips = RoundTrips()
    trips.add("choose", trip(10**15, dict.fromkeys(PHASES, 1_000) | {"pipe_in": -2}))
    described = trips.summary()["choose"]
    assert described["phases"]["pipe_in"]["max"] == 0
    assert described["total"]["max"] == 6_998


def test_the_summary_carries_histograms_that_can_be_merged() -> None:
    first, _ = recorded(100, seed=1)
    second, _ = recorded(200, seed=2)
    merged = Histogram()
    for trips in (first, second):
        merged.add(Histogram.decode(trips.summary()["choose"]["total"]["hdr"]))
    assert merged.count == 300
    assert merged.total == pytest.approx(first.total("choose").total + second.total("choose").total)


def test_the_clock_counts_nanoseconds_and_never_runs_back() -> None:
    stamps = [clock() for _ in range(1000)]
    assert stamps == sorted(stamps)
    assert abs(clock() - time.monotonic() * 1e9) < 1e9


def test_a_clock_that_is_switched_off_reads_nothing() -> None:
    trips = RoundTrips(on=False)
    assert trips.clock() == 0
    trips.switch(True)
    assert trips.clock() > 0
    trips.switch(False)
    assert (trips.on, trips.clock()) == (False, 0)


def test_the_latest_trips_are_kept_one_by_one_if_somebody_asks_for_them() -> None:
    trips = RoundTrips()
    trip = [trips.operations["choose"], 10, 20, 30, 5, 7, 2]
    trips.record(trip, 60, 65, 67, pid=41)
    assert trips.latest().pid == []
    trips.keep(2)
    for pid in (42, 43, 44):
        trips.record(trip, 60, 65, 67, pid=pid)
        trips.summary()  # It is put away with each look.
    latest = trips.latest()
    assert (latest.pid, latest.operation) == ([43, 44], ["choose"] * 2)
    # Node began with it when it had waited there for 5 of the 30 at which it came.
    assert (latest.start, latest.simulate, latest.node_encode) == ([35] * 2, [7] * 2, [2] * 2)
    trips.keep(0)
    assert trips.latest().pid == []
