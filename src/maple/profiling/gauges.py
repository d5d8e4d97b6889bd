"""How much memory there is in use now, and the most there ever was: of a process, of its GPU."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil
import structlog

__all__ = ["Gauge", "GpuMemory", "Level", "ProcessMemory", "find_gauges", "read_gauges"]

log = structlog.get_logger("maple.profiling")

_LINES = re.compile(rb"^Vm(HWM|RSS):\s+(\d+) kB$", re.MULTILINE)


class Level(NamedTuple):
    """Bytes in use, and the most that ever were, as far as anybody has kept count."""

    now: int
    highest: int


class Gauge(Protocol):
    """Something that can be read."""

    def read(self) -> Level: ...


class ProcessMemory:
    """Resident memory of a process. Linux keeps count of the most; elsewhere it is not known."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._status = Path(f"/proc/{process.pid}/status")

    def read(self) -> Level:
        """Raises psutil.Error if the process has gone."""
        try:
            lines = dict(_LINES.findall(self._status.read_bytes()))
            return Level(int(lines[b"RSS"]) * 1024, int(lines[b"HWM"]) * 1024)
        except (OSError, KeyError):
            now = self._process.memory_info().rss
            return Level(now, now)


class GpuMemory:
    """What torch has allocated on the current GPU."""

    def __init__(self, cuda: Any) -> None:  # noqa: ANN401 - a module that may not be there
        self._cuda = cuda

    def read(self) -> Level:
        return Level(int(self._cuda.memory_allocated()), int(self._cuda.max_memory_allocated()))


def find_gauges() -> dict[str, Gauge]:
    """Those that there are: "memory", and "gpu" where torch is in use and has one."""
    gauges: dict[str, Gauge] = {"memory": ProcessMemory(psutil.Process())}
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        gauges["gpu"] = GpuMemory(torch.cuda)
    return gauges


def read_gauges(gauges: Mapping[str, Gauge], failed: set[str]) -> dict[str, Level]:
    """What they say, less those that fail. The log is told when one fails that never did before."""
    levels = {}
    for name, gauge in gauges.items():
        try:
            levels[name] = gauge.read()
        except Exception as error:  # noqa: BLE001 - it is not the fault of what is looked at
            if name not in failed:
                failed.add(name)
                log.warning(
                    "the profiler cannot look at memory: such calls have no figure of it",
                    gauge=name,
                    cause=str(error),
                )
    return levels
