"""What a status shows: the figures of a service over the last interval. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psutil

from ..histogram import Histogram
from ..registry import ControllerRegistry
from .service import Service

__all__ = ["Figures", "Gauge", "Look", "Rates", "look_at", "measure"]


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened between two looks at a registry; p50 and p99 are of choices, in nanoseconds."""

    battles_per_s: float = 0.0
    decisions_per_s: float = 0.0
    p50: int | None = None
    p99: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What a registry says at a moment, and how long its choices took until then."""

    stats: dict[str, Any]
    choices: Histogram


def look_at(registry: ControllerRegistry) -> Look:
    """Without what `stats()` takes to encode all histograms, since battles wait for this."""
    # A copy: the registry's own goes on counting.
    choices = registry.trips.total("choose").since(Histogram())
    return Look(registry.stats(round_trips=False), choices)


def measure(before: Look, after: Look) -> Rates:
    """The rates between two looks."""
    seconds = after.stats["uptime"] - before.stats["uptime"]
    if seconds <= 0:
        return Rates()

    def rate(counter: str) -> float:
        counted = after.stats["counters"][counter] - before.stats["counters"][counter]
        return float(counted / seconds)

    trips = after.choices.since(before.choices)
    p50, p99 = trips.percentiles((50, 99)) if trips.count else (None, None)
    return Rates(rate("battles_ended"), rate("decisions"), p50, p99)


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at a service, of whose lobby `lobby` tells.

    `cpu` is the load of each process by its pid, in percent of a core.
    """

    url: str
    status: str
    stats: dict[str, Any]
    rates: Rates
    cpu: dict[int, float]
    lobby: dict[str, int]


class Gauge:
    """Looks at a service again and again; each look covers the time since the last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._before: Look | None = None
        self._processes: dict[int, psutil.Process] = {}

    def read(self) -> Figures:
        service = self._service
        look = look_at(service.registry)
        rates = measure(self._before, look) if self._before else Rates()
        self._before = look
        stats = look.stats
        cpu = self._read_cpu([controller["pid"] for controller in stats["controllers"]])
        return Figures(
            url=service.url,
            status=service.status(stats["pool"]),
            stats=stats,
            rates=rates,
            cpu=cpu,
            lobby=service.lobby.stats(),
        )

    def _read_cpu(self, pids: list[int]) -> dict[int, float]:
        """A process is known from its first look on, but has a load only at its second."""
        loads = {}
        processes = {}
        for pid in pids:
            known = self._processes.get(pid)
            try:
                process = known or psutil.Process(pid)
                load = process.cpu_percent()
            except psutil.NoSuchProcess:
                continue
            processes[pid] = process
            if known is not None:
                loads[pid] = load
        self._processes = processes
        return loads
