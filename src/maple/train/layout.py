"""How a run divides the machine among its processes. Imports no torch."""

from __future__ import annotations

from typing import NamedTuple

from bridge.machine import cpu_count

from .config import TrainConfig
from .threads import Threads, choose_threads

__all__ = ["Layout", "lay_out"]


class Layout(NamedTuple):
    """Which processes there are, and how many threads of torch each of those that compute has."""

    workers: int
    """Processes that play; 0 if the one that learns does."""
    pool: int
    """Node processes, all workers together."""
    threads: Threads

    def __str__(self) -> str:
        who = (
            "one process plays and learns"
            if not self.workers
            else f"{self.workers} {'process plays' if self.workers == 1 else 'processes play'}"
        )
        node = f"{self.pool} Node {'process' if self.pool == 1 else 'processes'}"
        return f"{who}, with {node}; {self.threads}"


def lay_out(config: TrainConfig, cores: int | None = None) -> Layout:
    """Divides the machine, where the settings leave it open."""
    cores = cpu_count() if cores is None else cores
    workers = max(1, cores // 2) if config.workers is None else config.workers
    workers = min(workers, config.parallel)
    pool = min(cores, config.parallel) if config.pool is None else config.pool
    pool = max(1, pool, workers)
    # Where playing and learning take turns, only one side computes at a time.
    takes_turns = config.synchronous or not workers
    computing = max(1, workers) if takes_turns else workers + 1
    return Layout(workers, pool, choose_threads(computing, config.threads))
