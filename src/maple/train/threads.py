"""How many threads torch gets in each process, by a rule. Imports no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from bridge.machine import cpu_count

__all__ = ["Threads", "choose_threads", "physical_cores", "set_environment", "use_threads"]

_INTER_OP = 1
_LIBRARIES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
# Threads that have nothing to do would keep a core busy that Node could use.
_WAITING = ("OMP_WAIT_POLICY", "PASSIVE")


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads compute at a time, and why so many."""

    count: int
    reason: str

    def __str__(self) -> str:
        threads = "thread" if self.count == 1 else "threads"
        return f"{self.count} {threads} of torch in each: {self.reason}"


def physical_cores() -> int:
    """Cores that this process may use; two that are one in hardware count once."""
    return max(1, min(cpu_count(), psutil.cpu_count(logical=False) or cpu_count()))


def choose_threads(processes: int, chosen: int | None = None, cores: int | None = None) -> Threads:
    """Threads for each of so many processes that compute at the same time."""
    cores = physical_cores() if cores is None else cores
    if chosen is not None:
        return Threads(chosen, "as was asked for")
    if processes == 1:
        return Threads(cores, f"nothing else computes, so all of {_cores(cores)}")
    count = max(1, cores // processes)
    return Threads(count, f"{processes} processes share {_cores(cores)}")


def set_environment(threads: Threads) -> None:
    """For libraries that look when they are loaded, which torch does: before it is imported.

    Children inherit it.
    """
    for name in _LIBRARIES:
        os.environ[name] = str(threads.count)
    os.environ.setdefault(*_WAITING)


def use_threads(threads: Threads) -> None:
    """For torch itself. Work between operations is little, and gets one thread."""
    import torch

    torch.set_num_threads(threads.count)
    if torch.get_num_interop_threads() != _INTER_OP:
        torch.set_num_interop_threads(_INTER_OP)


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"
