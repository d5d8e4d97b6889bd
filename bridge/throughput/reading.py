"""One look at a registry: its stats, and what its processes have used. Concludes nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import psutil

__all__ = ["ProcessWatch", "Reading", "Use"]

# A controller counts its age from when it was ready; its process is older by its warm-up.
_WARM_UP_AT_MOST = 600.0


@dataclass(frozen=True, slots=True)
class Use:
    """CPU seconds since a process started, and its resident bytes; None if nobody knows."""

    cpu: float | None
    rss: int | None
    source: Literal["system", "server"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The stats, what each process has used by pid, and which of them is the registry's Python."""

    stats: Mapping[str, Any]
    uses: Mapping[int, Use]
    python: int | None

    @property
    def uptime(self) -> float:
        """Seconds that the registry has been up, by its own clock."""
        return float(self.stats["uptime"])


class ProcessWatch:
    """Looks at the processes of a registry, as long as they live, also after they left the pool.

    The pids of a registry on another machine mean nothing here. So a process is only believed if
    it is a controller of the right age; else what the registry says of it has to do.
    """

    def __init__(self, python: int | None = None) -> None:
        """Without the pid of the Python process, it is the parent of the controllers."""
        self._python = psutil.Process(python) if python is not None else None
        self._controllers: dict[int, psutil.Process] = {}

    @property
    def is_local(self) -> bool:
        """Whether the processes were found on this machine."""
        return self._python is not None

    def look(self, stats: Mapping[str, Any]) -> Reading:
        for controller in stats["controllers"]:
            self._find(controller)
        uses = {c["pid"]: _said(c) for c in stats["controllers"]}
        for pid, process in list(self._controllers.items()):
            use = _measured(process)
            if use is not None:
                uses[pid] = use
            else:
                del self._controllers[pid]
        python = None
        if self._python is not None:
            python = self._python.pid
            use = _measured(self._python)
            if use is not None:
                uses[python] = use
        return Reading(stats, uses, python)

    def _find(self, controller: Mapping[str, Any]) -> None:
        if controller["pid"] in self._controllers:
            return
        try:
            process = psutil.Process(controller["pid"])
            older_by = time.time() - process.create_time() - controller["age"]
            ours = any(argument.endswith("controller.js") for argument in process.cmdline())
            if not ours or not -1 < older_by < _WARM_UP_AT_MOST:
                return
            self._python = self._python or process.parent()
        except psutil.Error:
            return
        self._controllers[process.pid] = process


def _measured(process: psutil.Process) -> Use | None:
    try:
        with process.oneshot():
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return None
            times = process.cpu_times()
            return Use(times.user + times.system, process.memory_info().rss, "system")
    except psutil.Error:
        return None


def _said(controller: Mapping[str, Any]) -> Use:
    # A controller that has not been asked yet has zeros, which are not measurements.
    return Use(controller["cpu"] or None, controller["rss"] or None, "server")
