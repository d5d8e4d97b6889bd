"""The processes that a benchmark measures: each plays on demand, counts its own cost, and waits.

A worker reads an order per line from stdin and answers each with a line of Samples, one for each
row that it stands for, so that a benchmark can keep several of them warm and measure them in turns.
`python -m bridge.benchmarks.workers KIND ARGUMENTS` is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil
import uvloop

from .. import seeds
from ..errors import BridgeError
from ..journal import Journal, Player
from ..registry import ControllerRegistry
from ..room import Result
from ..runtime import Runtime
from ..workload import Workload, play, play_battles, policies_for
from .crowd import Twins, gathered
from .sample import Sample

__all__ = ["WARM_UP_SEED", "battle_specs", "describe_runtime", "main"]

Order = dict[str, Any]
Measure = Callable[[Order], Awaitable[list[Sample]]]

WARM_UP_SEED = 10**6
"""The first seed of battles that are not measured."""

_SETTLING = 1.0  # seconds
_STOPPED = 3600.0  # seconds that a process may be held without being taken for dead


def battle_specs(workload: Workload) -> list[dict[str, Any]]:
    """The battles of a workload as node/bench/limit.js wants them."""
    specs = []
    for seed in range(workload.first_seed, workload.first_seed + workload.battles):
        journal = Journal(
            format=workload.format,
            seed=seeds.derive(seed, "battle"),
            p1=Player("Player 1", seed=seeds.derive(seed, "p1")),
            p2=Player("Player 2", seed=seeds.derive(seed, "p2")),
        )
        opening = journal.opening("")
        policies = [seeds.policy_seed(seed, side) for side in ("p1", "p2")]
        # The simulator takes an absent team for a random one, but not an empty one.
        for side in ("p1", "p2"):
            del opening[side]["team"]
        specs.append({**opening, "policies": policies})
    return specs


def describe_runtime(runtime: Runtime) -> dict[str, str]:
    """A runtime as plain data, which a worker takes as its argument."""
    return {name: str(value) for name, value in asdict(runtime).items()}


def _read_runtime(described: dict[str, str]) -> Runtime:
    paths = {name: Path(described[name]) for name in ("node", "entry", "simulator")}
    return Runtime(node_version=described["node_version"], **paths)


class Meter:
    """Counts what this process and its Node children use between two moments."""

    def __init__(self, pids: Callable[[], list[int]]) -> None:
        self._pids = pids
        self._wall = time.perf_counter()
        self._python = time.process_time()
        self._node = self._node_cpu()

    def sample(self, battles: int, decisions: int, turns: int) -> Sample:
        processes = [psutil.Process(pid) for pid in self._pids()]
        return Sample(
            battles=battles,
            decisions=decisions,
            turns=turns,
            wall=time.perf_counter() - self._wall,
            python_cpu=time.process_time() - self._python,
            node_cpu=self._node_cpu() - self._node,
            python_memory=psutil.Process().memory_info().rss,
            node_memory=sum(process.memory_info().rss for process in processes),
        )

    def _node_cpu(self) -> float:
        """CPU time of children that run, and of those that have ended."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = [psutil.Process(pid).cpu_times() for pid in self._pids()]
        return ended.ru_utime + ended.ru_stime + sum(t.user + t.system for t in running)


class PoolMeter:
    """Counts what a registry plays and what that costs between two moments."""

    def __init__(self, registry: ControllerRegistry) -> None:
        self._registry = registry
        self._before = self._played()
        self._meter = Meter(
            lambda: [c["pid"] for c in registry.stats(round_trips=False)["controllers"]]
        )

    def sample(self) -> Sample:
        return self._meter.sample(
            *(now - before for now, before in zip(self._played(), self._before, strict=True))
        )

    def _played(self) -> tuple[int, int, int]:
        counters = self._registry.stats(round_trips=False)["counters"]
        return counters["battles_ended"], counters["decisions"], counters["turns"]


@asynccontextmanager
async def warm_registry(
    runtime: Runtime, pool: int, rooms: int, format: str, warmup: int, turbo: bool
) -> AsyncIterator[ControllerRegistry]:
    """A registry that has played so many battles, and plays none but those it is told to."""
    async with ControllerRegistry(
        runtime=runtime, pool=pool, turbo=turbo, warmup_battles=0
    ) as registry:
        await play_battles(registry, Workload(warmup, rooms, format, WARM_UP_SEED))
        yield registry


@asynccontextmanager
async def pool(
    runtime: Runtime, pool: int, rooms: int, format: str, warmup: int, lead_in: int, turbo: bool
) -> AsyncIterator[Measure]:
    """The pool: warm controllers, and a Python driver that picks a random legal choice."""
    async with warm_registry(runtime, pool, rooms, format, warmup, turbo) as registry:

        async def measure(order: Order) -> list[Sample]:
            await play_battles(registry, Workload(lead_in, rooms, format, WARM_UP_SEED))
            meter = PoolMeter(registry)
            workload = Workload(order["battles"], rooms, format, order["first_seed"])
            await play_battles(registry, workload)
            return [meter.sample()]

        yield measure


@asynccontextmanager
async def timing(
    runtime: Runtime, pool: int, rooms: int, format: str, warmup: int, turbo: bool
) -> AsyncIterator[Measure]:
    """The pool with timing on and off: the same battles twice in the same processes, in turns."""
    async with (
        warm_registry(runtime, pool, rooms, format, warmup, turbo) as registry,
        gathered(registry, rooms, format) as one,
        gathered(registry, rooms, format) as other,
    ):
        await one.start()
        await other.start()
        twins = Twins(registry, (one, other))
        yield lambda order: twins.play(order["battles"])


@asynccontextmanager
async def steady(
    runtime: Runtime, pool: int, rooms: int, format: str, warmup: int, turbo: bool
) -> AsyncIterator[Measure]:
    """The pool with a fixed number of rooms open all the time, looked at for some seconds."""
    places = -(-rooms // pool) + 8
    async with (
        ControllerRegistry(
            runtime=runtime,
            pool=pool,
            rooms_per_controller=places,
            response_timeout=_STOPPED,
            turbo=turbo,
            warmup_battles=0,
        ) as registry,
        gathered(registry, rooms, format) as crowd,
    ):

        def signal_all(number: signal.Signals) -> None:
            for controller in registry.stats(round_trips=False)["controllers"]:
                os.kill(controller["pid"], number)

        async def measure(order: Order) -> list[Sample]:
            signal_all(signal.SIGCONT)
            await asyncio.sleep(_SETTLING)
            meter = PoolMeter(registry)
            await asyncio.sleep(order["seconds"])
            sample = meter.sample()
            # Stopped in the midst of it: players that were held would all be left with an unread
            # request, which is more memory, and colder, than rooms in play have.
            signal_all(signal.SIGSTOP)
            return [sample]

        await crowd.start_in_the_middle(warmup)
        await asyncio.sleep(5 * _SETTLING)
        signal_all(signal.SIGSTOP)
        try:
            yield measure
        finally:
            signal_all(signal.SIGCONT)


@asynccontextmanager
async def process_per_battle(
    runtime: Runtime, at_a_time: int, format: str
) -> AsyncIterator[Measure]:
    """One Node process for each battle, started for it and ended after it, as it comes."""

    async def play_alone(seed: int) -> tuple[Result, int]:
        async with ControllerRegistry(
            runtime=runtime, pool=1, turbo=False, warmup_battles=0
        ) as registry:
            room = await registry.open(format, seed=seed)
            result = await play(room, policies_for(seed))
            return result, registry.stats(round_trips=False)["counters"]["decisions"]

    async def measure(order: Order) -> list[Sample]:
        meter = Meter(list)
        places = asyncio.Semaphore(at_a_time)
        largest = 0

        async def take_turn(seed: int) -> tuple[Result, int]:
            nonlocal largest
            async with places:
                played = await play_alone(seed)
                children = resource.getrusage(resource.RUSAGE_CHILDREN)
                largest = max(largest, children.ru_maxrss * 1024)
                return played

        first = order["first_seed"]
        played = await asyncio.gather(*map(take_turn, range(first, first + order["battles"])))
        sample = meter.sample(
            len(played), sum(n for _, n in played), sum(result.turns for result, _ in played)
        )
        return [replace(sample, node_memory=largest * at_a_time)]

    yield measure


KINDS: dict[str, Callable[..., AbstractAsyncContextManager[Measure]]] = {
    "pool": pool,
    "timing": timing,
    "steady": steady,
    "process_per_battle": process_per_battle,
}


async def serve(kind: str, runtime: dict[str, str], **arguments: Any) -> None:
    """Answers orders until stdin closes."""
    async with KINDS[kind](_read_runtime(runtime), **arguments) as measure:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            samples = await measure(json.loads(line))
            print(json.dumps([asdict(sample) for sample in samples]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bridge.benchmarks.workers")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("arguments", type=json.loads, help="a JSON object")
    options = parser.parse_args()
    try:
        uvloop.run(serve(options.kind, **options.arguments))
    except* BridgeError as errors:
        sys.exit(str(_first(errors)))


def _first(errors: BaseExceptionGroup[BridgeError]) -> BaseException:
    """The first of several errors that all say the same."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    main()
