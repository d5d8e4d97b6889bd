"""The trainer as the benchmark runs it: updates of a run that keeps nothing, and what they cost.

A worker, as those of `bridge.benchmarks.workers`: it reads an order per line and answers with a
line of Samples. `python -m maple.benchmarks.trainer SETTINGS` trains with the processes that the
settings of a run make of this machine, and lets them rest between two orders.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import psutil
import structlog

from bridge.benchmarks.child import RowFailed
from bridge.benchmarks.sample import Sample
from maple.train.config import TrainConfig, read_train_config
from maple.train.layout import Layout, lay_out
from maple.train.threads import set_environment, use_threads

__all__ = ["FamilyMeter", "Training", "main"]

# Rollouts that are full already when an order comes are learned from first.
_LEAD_IN = 3
# Seconds for which nobody may look after Node, while other rows are measured.
_STOPPED = 3600.0
_LOOK = 0.5
_QUIET = 0.05  # cores
_LONGEST_REST = 60.0


class _Used(NamedTuple):
    """CPU seconds that processes have taken so far, and the memory that they have."""

    python: float
    node: float
    python_memory: int
    node_memory: int


class FamilyMeter:
    """Counts this process and all that it has started, workers and their Node processes too."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._before = _look()

    @property
    def cores(self) -> float:
        """How many cores were busy since then, on average."""
        wall, now = time.perf_counter() - self._wall, _look()
        return (now.python + now.node - self._before.python - self._before.node) / wall

    def sample(self, battles: int, decisions: int, turns: int) -> Sample:
        wall, now = time.perf_counter() - self._wall, _look()
        return Sample(
            battles=battles,
            decisions=decisions,
            turns=turns,
            wall=wall,
            python_cpu=now.python - self._before.python,
            node_cpu=now.node - self._before.node,
            python_memory=now.python_memory,
            node_memory=now.node_memory,
        )


def _look() -> _Used:
    own = psutil.Process()
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = {False: time.process_time(), True: ended.ru_utime + ended.ru_stime}
    memory = {False: own.memory_info().rss, True: 0}
    for process in own.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times, is_node = process.cpu_times(), _is_node(process)
            cpu[is_node] += times.user + times.system
            # Those that end are Node's, which a pool replaces now and then.
            cpu[True] += times.children_user + times.children_system
            memory[is_node] += process.memory_info().rss
    return _Used(cpu[False], cpu[True], memory[False], memory[True])


def _is_node(process: psutil.Process) -> bool:
    return any(word.endswith("controller.js") for word in process.cmdline())


class Training:
    """A run that goes on from sample to sample."""

    def __init__(self, config: TrainConfig, layout: Layout, *, turbo: bool) -> None:
        from maple.train.stage import set_stage
        from maple.train.trainer import Trainer

        stage = set_stage(config)
        bridge = stage.bridge.replace(turbo=turbo, response_timeout=_STOPPED)
        self._trainer = Trainer(config, replace(stage, bridge=bridge), layout)

    def warm_up(self, battles: int) -> None:
        """Trains until so many battles have ended."""
        until = self._trainer.counters.battles + battles
        while self._trainer.counters.battles < until:
            self._trainer.update()
        self._rest()

    def train(self, updates: int) -> Sample:
        """What so many updates take, and all that is played meanwhile."""
        for _ in range(_LEAD_IN):
            self._trainer.update()
        counters = self._trainer.counters
        decisions, battles, turns = counters.decisions, counters.battles, 0.0
        meter = FamilyMeter()
        for _ in range(updates):
            before = counters.battles
            turns_each = self._trainer.update().turns
            turns += (turns_each or 0.0) * (counters.battles - before)
        sample = meter.sample(
            counters.battles - battles, counters.decisions - decisions, round(turns)
        )
        self._rest()
        return sample

    def _rest(self) -> None:
        """Waits until workers have nothing to do any more: other rows want the machine."""
        until = time.perf_counter() + _LONGEST_REST
        while time.perf_counter() < until:
            meter = FamilyMeter()
            time.sleep(_LOOK)
            if meter.cores < _QUIET:
                return
        raise RowFailed(f"the trainer's processes do not come to rest within {_LONGEST_REST:g} s")

    def close(self) -> None:
        """Ends all processes."""
        self._trainer.close()


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.argv[1])
    config = read_train_config(settings["config"])
    layout = lay_out(config)
    set_environment(layout.threads)
    use_threads(layout.threads)
    # Answers are on stdout.
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    training = Training(config, layout, turbo=settings["turbo"])
    try:
        print("ready", flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            if "battles" in order:
                training.warm_up(**order)
                print("[]", flush=True)
            else:
                print(json.dumps([asdict(training.train(**order))]), flush=True)
    finally:
        training.close()


if __name__ == "__main__":
    main()
