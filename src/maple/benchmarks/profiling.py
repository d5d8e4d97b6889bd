"""What `with profile(…)` costs: a worker that makes calls, with the profiler off or on.

It reads an order per line, as the workers of `bridge.benchmarks.workers` do, and answers with a
line of Samples in which a decision is a call. `python -m maple.benchmarks.profiling` is one.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict

import psutil

from bridge.benchmarks.sample import Sample
from maple.profiling import get_profiler, profile

__all__ = ["main", "measure"]


def measure(calls: int, *, on: bool, nested: bool = False) -> Sample:
    """Makes so many calls, one after the other or four at a time inside of each other."""
    profiler = get_profiler()
    if on:
        profiler.enable(system=False)
    else:
        profiler.disable()
    make = _make_nested if nested else _make_alone
    wall, cpu = time.perf_counter(), time.thread_time()
    make(calls)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    empty_wall, empty = time.perf_counter(), time.thread_time()
    _make_nothing(calls)
    empty_wall, empty = time.perf_counter() - empty_wall, time.thread_time() - empty
    profiler.disable()
    profiler.reset()
    return Sample(
        battles=1,
        decisions=calls,
        turns=0,
        wall=wall - empty_wall,
        python_cpu=cpu - empty,
        node_cpu=0.0,
        python_memory=psutil.Process().memory_info().rss,
        node_memory=0,
    )


def _make_alone(calls: int) -> None:
    for _ in range(calls):
        with profile("env_step"):
            pass


def _make_nested(calls: int) -> None:
    for _ in range(calls // 4):
        with profile("training_batch"):
            with profile("env_step"):
                pass
            with profile("gradient_calculation"), profile("backward"):
                pass


def _make_nothing(calls: int) -> None:
    for _ in range(calls):
        pass


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps([asdict(measure(**json.loads(line)))]), flush=True)


if __name__ == "__main__":
    main()
