"""The figures of a registry and its lobby in the words of Prometheus. Counts nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ..controller import warmth
from ..histogram import Histogram
from ..lobby import Lobby
from ..registry import ControllerRegistry
from ..timing import RoundTrips

__all__ = ["LobbyCollector", "RegistryCollector"]

_NANOSECONDS: Final = 1_000_000_000
_BUCKETS: Final = [
    *(digit * 10**exponent for exponent in range(3, 9) for digit in (10, 25, 50)),
    10 * _NANOSECONDS,
]
"""Ten microseconds to ten seconds, in nanoseconds."""

_COUNTERS: Final = {
    "battles": ("battles_ended", "Battles that were played to their end."),
    "battles_opened": ("battles_opened", "Battles that were opened."),
    "battles_moved": ("battles_moved", "Battles that were moved to another controller."),
    "battles_poisoned": ("battles_poisoned", "Battles given up because they failed twice."),
    "decisions": ("decisions", "Choices that the simulator accepted."),
    "turns": ("turns", "Turns of the battles that ended."),
    "controller_starts": ("starts", "Node processes that were started."),
    "controller_failed_starts": ("failed_starts", "Node processes that did not become ready."),
    "controller_deaths": ("deaths", "Node processes that ended without being told to."),
}
_POOL: Final = {
    "pool_size": ("size", "Controllers that the pool is to have."),
    "pool_ready": ("ready", "Controllers that take battles."),
    "pool_warmth": ("warmth", "How warm the pool is as a whole, from 0 to 1."),
    "rooms": ("rooms", "Battles that are open."),
    "rooms_moving": ("moving", "Open battles that wait for another controller."),
    "rooms_waiting": ("waiting", "Calls of open that wait for a place."),
    "rooms_capacity": ("capacity", "Battles that can be open at a time."),
}
_LOBBY: Final = {
    "lobby_connections": ("connections", "Clients that are connected."),
    "lobby_users": ("users", "Users with a name, connected or missed by a game."),
    "lobby_games": ("games", "Games that users play."),
}
_TRAFFIC: Final = {
    "frames": ("Frames that went over the pipes.", {"out": "commands", "in": "frames"}),
    "bytes": ("Bytes that went over the pipes.", {"out": "bytes_out", "in": "bytes_in"}),
    "pipe_calls": ("Writes to and reads from the pipes.", {"out": "writes", "in": "reads"}),
}
_CONTROLLER: Final = {
    "memory_bytes": ("rss", "Resident memory of a Node process."),
    "heap_bytes": ("heap", "JavaScript heap that a Node process uses."),
    "rooms": ("rooms", "Battles that are open on a Node process."),
    "turbo": ("turbo", "1 for a Node process that runs the simulator with turbo, 0 without."),
    "turbo_left": ("left", "Parts of the simulator that turbo leaves as they are."),
    "warmth": ("warm", "How warm a Node process is, from 0 to 1."),
    "age_seconds": ("age", "Time since a Node process became ready."),
}


_MEASURES: Final = {"left": len, "warm": warmth}


class RegistryCollector(Collector):
    """Makes metrics of what a registry says when it is asked."""

    def __init__(self, registry: ControllerRegistry) -> None:
        self._registry = registry

    def describe(self) -> list[Metric]:
        """Nothing in advance: the registry need not have been started when it is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        # Encoded histograms would have to be decoded again here, while battles wait.
        stats = self._registry.stats(round_trips=False)
        for name, (key, text) in _POOL.items():
            yield GaugeMetricFamily(f"maple_{name}", text, stats["pool"][key])
        for name, (key, text) in _COUNTERS.items():
            yield CounterMetricFamily(f"maple_{name}", text, stats["counters"][key])
        yield _recycled(stats["counters"]["recycled"])
        yield from _traffic(stats["traffic"])
        yield from _controllers(stats["controllers"])
        yield from _round_trips(self._registry.trips)


class LobbyCollector(Collector):
    """Makes metrics of what a lobby says when it is asked."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    def collect(self) -> Iterator[Metric]:
        stats = self._lobby.stats()
        for name, (key, text) in _LOBBY.items():
            yield GaugeMetricFamily(f"maple_{name}", text, stats[key])
        yield CounterMetricFamily(
            "maple_lobby_connected", "Clients that have connected so far.", stats["connected"]
        )


def _recycled(recycled: dict[str, int]) -> Metric:
    family = CounterMetricFamily(
        "maple_controller_recycled",
        "Node processes that were replaced because they were due.",
        labels=["reason"],
    )
    for reason, count in recycled.items():
        family.add_metric([reason], count)
    return family


def _traffic(traffic: dict[str, int]) -> Iterator[Metric]:
    for name, (text, directions) in _TRAFFIC.items():
        family = CounterMetricFamily(f"maple_{name}", text, labels=["direction"])
        for direction, key in directions.items():
            family.add_metric([direction], traffic[key])
        yield family


def _controllers(controllers: list[dict[str, Any]]) -> Iterator[Metric]:
    for name, (key, text) in _CONTROLLER.items():
        gauge = GaugeMetricFamily(f"maple_controller_{name}", text, labels=["pid"])
        for controller in controllers:
            gauge.add_metric([str(controller["pid"])], _MEASURES.get(key, float)(controller[key]))
        yield gauge
    for name, key, text in (
        ("cpu_seconds", "cpu", "CPU time that a Node process has used."),
        ("battles", "battles", "Battles that were placed on a Node process."),
    ):
        counter = CounterMetricFamily(f"maple_controller_{name}", text, labels=["pid"])
        for controller in controllers:
            counter.add_metric([str(controller["pid"])], controller[key])
        yield counter


def _round_trips(trips: RoundTrips) -> Iterator[Metric]:
    """Two families, so that the sum over the phases is a round trip and not twice one."""
    whole = HistogramMetricFamily(
        "maple_round_trip_seconds", "From a command to its answer.", labels=["op"]
    )
    parts = HistogramMetricFamily(
        "maple_round_trip_phase_seconds", "The parts of a round trip.", labels=["op", "phase"]
    )
    for operation, (total, phases) in trips.histograms().items():
        _add(whole, [operation], total)
        for phase, histogram in phases.items():
            _add(parts, [operation, phase], histogram)
    yield whole
    yield parts


def _add(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    counts = zip(_BUCKETS, histogram.counts_up_to(_BUCKETS), strict=True)
    buckets = [(f"{bound / _NANOSECONDS:g}", float(count)) for bound, count in counts]
    family.add_metric(
        labels,
        buckets=[*buckets, ("+Inf", float(histogram.count))],
        sum_value=histogram.total / _NANOSECONDS,
    )
