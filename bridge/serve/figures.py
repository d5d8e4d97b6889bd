"""What a status shows: the figures of a service over the last interval. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psutil

from ..histogram import Histogram
from .service import Service

__all__ = ["Figures", "Gauge", "Rates", "measure"]


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened between two looks at a registry; p50 and p99 are of choices, in nanoseconds."""

    battles_per_s: float = 0.0
    decisions_per_s: float = 0.0
    p50: int | None = None
    p99: int | None = None


def measure(before: dict[str, Any], after: dict[str, Any]) -> Rates:
    """The rates between two results of `stats()`."""
    seconds = after["uptime"] - before["uptime"]
    if seconds <= 0:
        return Rates()

    def rate(counter: str) -> float:
        return float((after["counters"][counter] - before["counters"][counter]) / seconds)

    trips = _choices(after).since(_choices(before))
    p50, p99 = trips.percentiles((50, 99)) if trips.count else (None, None)
    return Rates(rate("battles_ended"), rate("decisions"), p50, p99)


def _choices(stats: dict[str, Any]) -> Histogram:
    trips = stats["round_trips"].get("choose")
    return Histogram.decode(trips["total"]["hdr"]) if trips else Histogram()


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at a service. `cpu` is the load of each process by its pid, in percent of a core."""

    url: str
    status: str
    stats: dict[str, Any]
    rates: Rates
    cpu: dict[int, float]


class Gauge:
    """Looks at a service again and again; each look covers the time since the last."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._before: dict[str, Any] | None = None
        self._processes: dict[int, psutil.Process] = {}

    def read(self) -> Figures:
        service = self._service
        stats = service.registry.stats()
        rates = measure(self._before, stats) if self._before else Rates()
        self._before = stats
        cpu = self._read_cpu([controller["pid"] for controller in stats["controllers"]])
        return Figures(service.url, service.status(stats["pool"]), stats, rates, cpu)

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
