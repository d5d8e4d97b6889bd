"""The rows of the benchmark: what each one runs, kept warm between its samples."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..machine import cpu_count
from ..runtime import Runtime
from ..workload import Workload
from .child import Child
from .sample import Sample, together
from .showdown_server import ServerSettings, ShowdownServer, measure_showdown, play_in_own_process
from .workers import WARM_UP_SEED, battle_specs, describe_runtime

__all__ = ["FULL", "QUICK", "ROWS", "Plan", "RowSpec", "Source", "steady_row"]

_STEADY_POOL = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Rows that are closer to each other than the moods of a machine take `fine_repeats` samples, of
    `fine_battles` battles or of so many `seconds`; the others `repeats`, of `battles` battles.

    `warmup` is how many battles a Node process plays before its first sample. V8 goes on compiling
    for some 500 of them; after fewer, a row whose processes share the battles looks worse than it
    is. The rows with a fixed number of open rooms share that many: they are about Python.

    `lead_in` is how many it plays, uncounted, at the start of each sample. A process that waits for
    its turn cools: V8 gives back memory and drops what it has compiled, and the next battles cost
    up to thrice as much.
    """

    repeats: int
    fine_repeats: int
    battles: int
    fine_battles: int
    slow_battles: int
    warmup: int
    lead_in: int
    seconds: float
    simulator_processes: tuple[int, ...]
    concurrencies: tuple[int, ...]
    search_battles: int
    format: str = "gen9randombattle"
    pool: int = field(default_factory=cpu_count)
    rooms: int = 16


FULL = Plan(
    repeats=17,
    fine_repeats=61,
    battles=100,
    fine_battles=35,
    slow_battles=8,
    warmup=500,
    lead_in=30,
    seconds=2.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(4, 20, 50),
    search_battles=60,
)
QUICK = Plan(
    repeats=3,
    fine_repeats=11,
    battles=60,
    fine_battles=25,
    slow_battles=4,
    warmup=200,
    lead_in=20,
    seconds=2.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(10, 30),
    search_battles=30,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Something warm that can be measured again and again, for one row or for several together.

    `sample` takes a number and returns a sample for each row; the same number means the same
    battles in rows that are seeded. `notes` is what else there is to know, by row.
    """

    sample: Callable[[int], dict[str, Sample]]
    notes: dict[str, Any] = field(default_factory=dict)


Start = Callable[[Runtime, Plan], AbstractContextManager[Source]]


@contextmanager
def start_limits(runtime: Runtime, plan: Plan, row: str, processes: int) -> Iterator[Source]:
    """The same battles inside Node processes that share them, with no IPC."""
    script = runtime.entry.parent / "bench" / "limit.js"
    command = [str(runtime.node), str(script), f"--simulator={runtime.simulator}"]
    with ExitStack() as stack:
        children = [stack.enter_context(Child(command)) for _ in range(processes)]
        threads = stack.enter_context(ThreadPoolExecutor(processes))

        def play(battles: int, first_seed: int) -> Sample:
            specs = battle_specs(Workload(battles, 1, plan.format, first_seed))
            shares = [specs[number::processes] for number in range(processes)]
            answers = threads.map(lambda child, own: child.order(battles=own), children, shares)
            return together([Sample(python_cpu=0.0, python_memory=0, **a) for [a] in answers])

        def sample(number: int) -> dict[str, Sample]:
            play(plan.lead_in * processes, WARM_UP_SEED)
            return {row: play(plan.battles, number * plan.battles)}

        play(plan.warmup * processes, WARM_UP_SEED)
        yield Source(sample)


def start_limit(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
    return start_limits(runtime, plan, "limit", 1)


def start_limit_per_core(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
    return start_limits(runtime, plan, "limit_per_core", plan.pool)


@contextmanager
def start_worker(
    runtime: Runtime,
    kind: str,
    *rows: str,
    order: Callable[[int], dict[str, Any]],
    **arguments: Any,
) -> Iterator[Source]:
    """Rows played by a Python process of their own, and the Node processes it starts."""
    arguments["runtime"] = describe_runtime(runtime)
    command = [sys.executable, "-m", "bridge.benchmarks.workers", kind, json.dumps(arguments)]
    with Child(command) as child:
        child.read()

        def sample(number: int) -> dict[str, Sample]:
            answers = child.order(**order(number))
            return {row: Sample(**answer) for row, answer in zip(rows, answers, strict=True)}

        yield Source(sample)


def start_process_per_battle(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
    # Too slow to play all the battles of the others, it plays the first of them.
    battles = min(plan.slow_battles, plan.battles)
    return start_worker(
        runtime,
        "process_per_battle",
        "process_per_battle",
        at_a_time=plan.pool,
        format=plan.format,
        order=lambda number: {"battles": battles, "first_seed": number * plan.battles},
    )


def start_pool(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
    return start_worker(
        runtime,
        "pool",
        "pool",
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        lead_in=plan.lead_in * plan.pool,
        order=lambda number: {"battles": plan.battles, "first_seed": number * plan.battles},
    )


def start_timing(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
    return start_worker(
        runtime,
        "timing",
        "pool_timed",
        "pool_untimed",
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        order=lambda _number: {"battles": plan.fine_battles},
    )


@contextmanager
def start_showdown_websocket(runtime: Runtime, plan: Plan) -> Iterator[Source]:
    """poke-env's RandomPlayers over WebSocket on the real server, at its best settings."""
    tried = measure_showdown(
        runtime.simulator,
        runtime.node,
        battles=plan.search_battles,
        warmup=plan.search_battles,
        simulator_processes=plan.simulator_processes,
        concurrencies=plan.concurrencies,
        format=plan.format,
    )
    best = max(tried, key=lambda trial: trial.sample.battles_per_s)
    settings = ServerSettings(best.simulator_processes)
    with ShowdownServer(runtime.simulator, runtime.node, settings) as server:

        def play(battles: int) -> Sample:
            return play_in_own_process(
                server,
                battles=battles,
                warmup=plan.lead_in * best.simulator_processes,
                concurrency=best.concurrency,
                format=plan.format,
            )

        play(plan.warmup * best.simulator_processes)
        row = "showdown_websocket"
        found = {
            "simulator_processes": best.simulator_processes,
            "concurrency": best.concurrency,
        }
        yield Source(lambda _number: {row: play(plan.battles)}, notes={row: found})


@dataclass(frozen=True, slots=True)
class RowSpec:
    """A row by its fixed name: what it is, and where its samples come from.

    Rows of a group are measured in turns. Those that are closer to each other than the moods of a
    machine take many short samples.
    """

    description: str
    start: Start
    group: str = "throughput"
    is_fine: bool = False


def steady_row(rooms: int) -> RowSpec:
    """A row with so many rooms open all the time, named `rooms_<rooms>`."""

    def start(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
        return start_worker(
            runtime,
            "steady",
            f"rooms_{rooms}",
            pool=_STEADY_POOL,
            rooms=rooms,
            format=plan.format,
            warmup=plan.warmup,
            order=lambda _number: {"seconds": plan.seconds},
        )

    description = f"{rooms:,} open rooms on {_STEADY_POOL} controllers"
    return RowSpec(description, start, "rooms", is_fine=True)


# In the order in which they are measured: the pool is in the middle of what it is compared with, so
# that little time passes between the two.
ROWS: dict[str, RowSpec] = {
    "limit_per_core": RowSpec("inside as many as the pool has, no IPC", start_limit_per_core),
    "limit": RowSpec("inside one Node process, no IPC", start_limit),
    "pool": RowSpec("the pool, a Python driver", start_pool),
    "process_per_battle": RowSpec("a Node process per battle", start_process_per_battle),
    "showdown_websocket": RowSpec("poke-env on a Showdown server", start_showdown_websocket),
    "pool_timed": RowSpec("the pool in step, timing on", start_timing, "timing", is_fine=True),
    "pool_untimed": RowSpec("the pool in step, timing off", start_timing, "timing", is_fine=True),
    "rooms_64": steady_row(64),
    "rooms_2000": steady_row(2000),
}
