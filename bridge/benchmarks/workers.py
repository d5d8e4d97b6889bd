"""The processes that a benchmark measures: each plays on demand, counts its own cost, and waits.

A worker reads an order per line from stdin and answers with a Sample per line, so that a benchmark
can keep several of them warm and measure them in turns. `python -m bridge.benchmarks.workers ROW`
is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import psutil
import uvloop

from .. import seeds
from ..journal import Journal, Player
from ..registry import ControllerRegistry
from ..room import Result
from ..runtime import Runtime, find_runtime
from ..workload import Workload, play, play_battles, policies_for
from .sample import Sample

__all__ = ["battle_specs", "main"]

Measure = Callable[[dict[str, Any]], Awaitable[Sample]]


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


@asynccontextmanager
async def pool(runtime: Runtime, pool: int, rooms: int, **settings: Any) -> AsyncIterator[Measure]:
    """The pool: warm controllers, and a Python driver that picks a random legal choice."""
    async with ControllerRegistry(runtime=runtime, pool=pool, **settings) as registry:

        async def measure(order: dict[str, Any]) -> Sample:
            before = registry.stats(round_trips=False)["counters"]
            meter = Meter(
                lambda: [c["pid"] for c in registry.stats(round_trips=False)["controllers"]]
            )
            workload = Workload(order["battles"], rooms, order["format"], order["first_seed"])
            results = await play_battles(registry, workload)
            after = registry.stats(round_trips=False)["counters"]
            return meter.sample(
                len(results),
                after["decisions"] - before["decisions"],
                after["turns"] - before["turns"],
            )

        yield measure


@asynccontextmanager
async def steady(
    runtime: Runtime, pool: int, rooms: int, battle_format: str
) -> AsyncIterator[Measure]:
    """The pool with a fixed number of rooms open all the time, looked at for some seconds."""
    places = -(-rooms // pool) + 8
    async with ControllerRegistry(
        runtime=runtime, pool=pool, rooms_per_controller=places
    ) as registry:
        playing = asyncio.Event()
        seed_numbers = iter(range(1_000_000_000))
        opened = asyncio.Semaphore(0)

        async def keep_playing() -> None:
            for seed in seed_numbers:
                async with await registry.open(battle_format, seed=seed) as room:
                    opened.release()
                    await play(room, policies_for(seed), between_turns=playing.wait)

        async def measure(order: dict[str, Any]) -> Sample:
            playing.set()
            # What was held up answers first.
            await asyncio.sleep(1.0)
            before = registry.stats(round_trips=False)["counters"]
            meter = Meter(
                lambda: [c["pid"] for c in registry.stats(round_trips=False)["controllers"]]
            )
            await asyncio.sleep(order["seconds"])
            after = registry.stats(round_trips=False)["counters"]
            sample = meter.sample(
                *(after[name] - before[name] for name in ("battles_ended", "decisions", "turns"))
            )
            playing.clear()
            await asyncio.sleep(1.0)
            return sample

        tasks = [asyncio.create_task(keep_playing()) for _ in range(rooms)]
        try:
            for _ in range(rooms):
                await opened.acquire()
            yield measure
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def process_per_battle(runtime: Runtime, at_a_time: int) -> AsyncIterator[Measure]:
    """One Node process for each battle, started for it and ended after it."""

    async def play_alone(number: int, order: dict[str, Any]) -> tuple[Result, int]:
        seed = order["first_seed"] + number
        async with ControllerRegistry(runtime=runtime, pool=1, warmup_battles=0) as registry:
            room = await registry.open(order["format"], seed=seed)
            result = await play(room, policies_for(seed))
            return result, registry.stats(round_trips=False)["counters"]["decisions"]

    async def measure(order: dict[str, Any]) -> Sample:
        meter = Meter(list)
        places = asyncio.Semaphore(at_a_time)
        largest = 0

        async def take_turn(number: int) -> tuple[Result, int]:
            nonlocal largest
            async with places:
                played = await play_alone(number, order)
                children = resource.getrusage(resource.RUSAGE_CHILDREN)
                largest = max(largest, children.ru_maxrss * 1024)
                return played

        played = await asyncio.gather(*(take_turn(n) for n in range(order["battles"])))
        sample = meter.sample(
            len(played), sum(n for _, n in played), sum(result.turns for result, _ in played)
        )
        return Sample(**asdict(sample) | {"node_memory": largest * at_a_time})

    yield measure


async def serve(row: str, arguments: dict[str, Any]) -> None:
    """Answers orders until stdin closes."""
    runtime = find_runtime()
    kinds: dict[str, Any] = {
        "pool": pool,
        "steady": steady,
        "process_per_battle": process_per_battle,
    }
    async with kinds[row](runtime, **arguments) as measure:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            sample = await measure(json.loads(line))
            print(json.dumps(asdict(sample)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bridge.benchmarks.workers")
    parser.add_argument("row")
    parser.add_argument("arguments", type=json.loads, help="a JSON object")
    options = parser.parse_args()
    uvloop.run(serve(options.row, options.arguments))


if __name__ == "__main__":
    main()
