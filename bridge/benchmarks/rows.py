"""The rows of the benchmark: what each one runs, kept warm between its samples."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import BridgeError
from ..machine import cpu_count
from ..runtime import Runtime
from ..workload import Workload
from .sample import Sample
from .showdown_server import (
    ServerSettings,
    ShowdownMeasurement,
    ShowdownServer,
    measure_showdown,
    play_in_own_process,
)
from .workers import battle_specs

__all__ = ["FULL", "QUICK", "ROWS", "Plan", "RowSpec", "Source"]

_PATIENCE = 900.0
_ROOT = Path(__file__).parents[2]


class RowFailed(BridgeError):
    """Raised when a process that a row measures ends, or does not answer in time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    `warmup` is how many battles a Node process plays before its first sample. V8 goes on compiling
    for some 500 of them; after fewer, a row whose processes share the battles looks worse than it
    is. The rows with a fixed number of open rooms share that many: they are about Python.
    """

    repeats: int
    fine_repeats: int
    battles: int
    slow_battles: int
    warmup: int
    seconds: float
    simulator_processes: tuple[int, ...]
    concurrencies: tuple[int, ...]
    search_battles: int
    format: str = "gen9randombattle"
    pool: int = cpu_count()
    rooms: int = 32


FULL = Plan(
    repeats=7,
    fine_repeats=21,
    battles=120,
    slow_battles=10,
    warmup=500,
    seconds=5.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(4, 20, 50),
    search_battles=60,
)
QUICK = Plan(
    repeats=3,
    fine_repeats=5,
    battles=60,
    slow_battles=4,
    warmup=200,
    seconds=3.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(10, 30),
    search_battles=30,
)


class Source(Protocol):
    """Something that can be measured again and again, for one row or for several together."""

    def sample(self, number: int) -> dict[str, Sample]:
        """A sample for each row; the same number means the same battles in rows that are seeded."""

    def close(self) -> None:
        """Ends whatever runs for it."""


class Child:
    """A process that answers an order per line; it ends when its stdin does."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def read(self) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(_PATIENCE):
                raise RowFailed(f"no answer within {_PATIENCE:g} s", pid=self._process.pid)
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise RowFailed("ended early", pid=self._process.pid, exit_status=status)
        return line

    def order(self, **fields: Any) -> list[dict[str, Any]]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(fields) + "\n")
        self._process.stdin.flush()
        answers: list[dict[str, Any]] = json.loads(self.read())
        return answers

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Limit:
    """The same battles inside one Node process, with no IPC."""

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self._plan = plan
        script = runtime.entry.parent / "bench" / "limit.js"
        self._child = Child([str(runtime.node), str(script), f"--simulator={runtime.simulator}"])
        self._play(plan.warmup, first_seed=10**6)

    def sample(self, number: int) -> dict[str, Sample]:
        return {"limit": self._play(self._plan.battles, number * self._plan.battles)}

    def _play(self, battles: int, first_seed: int) -> Sample:
        workload = Workload(battles, 1, self._plan.format, first_seed)
        [answer] = self._child.order(battles=battle_specs(workload))
        del answer["results"]
        return Sample(python_cpu=0.0, python_memory=0, **answer)

    def close(self) -> None:
        self._child.close()


class Worker:
    """Rows played by a Python process of their own, and the Node processes it starts."""

    def __init__(
        self,
        kind: str,
        *rows: str,
        order: Callable[[int], dict[str, Any]],
        **arguments: Any,
    ) -> None:
        self._rows = rows
        self._order = order
        command = [sys.executable, "-m", "bridge.benchmarks.workers", kind, json.dumps(arguments)]
        self._child = Child(command)
        self._child.read()

    def sample(self, number: int) -> dict[str, Sample]:
        answers = self._child.order(**self._order(number))
        return {row: Sample(**answer) for row, answer in zip(self._rows, answers, strict=True)}

    def close(self) -> None:
        self._child.close()


def start_process_per_battle(runtime: Runtime, plan: Plan) -> Worker:
    return Worker(
        "process_per_battle",
        "process_per_battle",
        at_a_time=plan.pool,
        format=plan.format,
        order=lambda number: {
            "battles": plan.slow_battles,
            "first_seed": number * plan.slow_battles,
        },
    )


def start_pool(runtime: Runtime, plan: Plan) -> Worker:
    return Worker(
        "pool",
        "pool",
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        order=lambda number: {"battles": plan.battles, "first_seed": number * plan.battles},
    )


def start_timing(runtime: Runtime, plan: Plan) -> Worker:
    return Worker(
        "timing",
        "pool_timed",
        "pool_untimed",
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        order=lambda number: {"battles": plan.battles},
    )


def start_steady(rooms: int) -> Callable[[Runtime, Plan], Worker]:
    def start(runtime: Runtime, plan: Plan) -> Worker:
        return Worker(
            "steady",
            f"rooms_{rooms}",
            pool=4,
            rooms=rooms,
            format=plan.format,
            warmup=plan.warmup,
            order=lambda number: {"seconds": plan.seconds},
        )

    return start


class ShowdownWebSocket:
    """poke-env's RandomPlayers over WebSocket on the real server, at its best settings."""

    def __init__(self, runtime: Runtime, plan: Plan) -> None:
        self._plan = plan
        tried = measure_showdown(
            runtime.simulator,
            runtime.node,
            battles=plan.search_battles,
            warmup=plan.search_battles,
            simulator_processes=plan.simulator_processes,
            concurrencies=plan.concurrencies,
            format=plan.format,
        )
        self.best = max(tried, key=lambda measurement: measurement.battles_per_second)
        self._server = ShowdownServer(
            runtime.simulator, runtime.node, ServerSettings(self.best.simulator_processes)
        )
        self._server.__enter__()
        self._play(plan.warmup * self.best.simulator_processes)

    def sample(self, number: int) -> dict[str, Sample]:
        played = self._play(self._plan.battles)
        sample = Sample(
            battles=played.battles,
            decisions=played.decisions,
            turns=played.turns,
            wall=played.wall_seconds,
            python_cpu=played.python_cpu_seconds,
            node_cpu=played.node_cpu_seconds,
            python_memory=played.python_memory_bytes,
            node_memory=played.node_memory_bytes,
        )
        return {"showdown_websocket": sample}

    def _play(self, battles: int) -> ShowdownMeasurement:
        return play_in_own_process(
            self._server,
            battles=battles,
            warmup=4,
            concurrency=self.best.concurrency,
            format=self._plan.format,
        )

    def close(self) -> None:
        self._server.__exit__(None, None, None)


@dataclass(frozen=True, slots=True)
class RowSpec:
    """A row by its fixed name: what it is, and where its samples come from.

    Rows of a group are measured in turns. Those that are closer to each other than the moods of a
    machine take many short samples.
    """

    description: str
    start: Callable[[Runtime, Plan], Source]
    group: str = "throughput"
    is_fine: bool = False


ROWS: dict[str, RowSpec] = {
    "limit": RowSpec("inside one Node process, no IPC", Limit),
    "process_per_battle": RowSpec("a Node process per battle", start_process_per_battle),
    "pool": RowSpec("the pool, a Python driver", start_pool),
    "showdown_websocket": RowSpec("poke-env on a Showdown server", ShowdownWebSocket),
    "pool_timed": RowSpec("the pool in step, timing on", start_timing, "timing", is_fine=True),
    "pool_untimed": RowSpec("the pool in step, timing off", start_timing, "timing", is_fine=True),
    "rooms_64": RowSpec("64 open rooms on 4 controllers", start_steady(64), "rooms", is_fine=True),
    "rooms_2000": RowSpec(
        "2,000 open rooms on 4 controllers", start_steady(2000), "rooms", is_fine=True
    ),
}
