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
from typing import Any, Protocol, Self

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

__all__ = ["ROWS", "Plan", "Row", "RowSpec"]

_PATIENCE = 900.0
_ROOT = Path(__file__).parents[2]


class RowFailed(BridgeError):
    """Raised when a process that a row measures ends, or does not answer in time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    `warmup` is how many battles a Node process plays before its first sample. V8 goes on compiling
    for some 500 of them; after fewer, a row whose processes share the battles looks worse than it
    is. The rows with a fixed number of open rooms have no warm-up: they are about Python.
    """

    repeats: int
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
    battles=120,
    slow_battles=10,
    warmup=500,
    seconds=20.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(4, 20, 50),
    search_battles=60,
)
QUICK = Plan(
    repeats=3,
    battles=60,
    slow_battles=4,
    warmup=200,
    seconds=6.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(10, 30),
    search_battles=30,
)


class Row(Protocol):
    """Something that can be measured again and again."""

    def sample(self, number: int) -> Sample:
        """Measures once; the same number means the same battles in every row that is seeded."""

    def close(self) -> None:
        """Ends whatever the row runs."""


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

    def order(self, **fields: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(fields) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.read())
        return answer

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

    def sample(self, number: int) -> Sample:
        return self._play(self._plan.battles, number * self._plan.battles)

    def _play(self, battles: int, first_seed: int) -> Sample:
        workload = Workload(battles, 1, self._plan.format, first_seed)
        answer = self._child.order(battles=battle_specs(workload))
        del answer["results"]
        return Sample(python_cpu=0.0, python_memory=0, **answer)

    def close(self) -> None:
        self._child.close()


class Worker:
    """A row played by a Python process of its own, and the Node processes it starts."""

    def __init__(
        self,
        kind: str,
        *,
        battles: int = 0,
        warmup: int = 0,
        seconds: float = 0.0,
        format: str = "",
        **arguments: Any,
    ) -> None:
        self._battles = battles
        self._seconds = seconds
        self._format = format
        command = [sys.executable, "-m", "bridge.benchmarks.workers", kind, json.dumps(arguments)]
        self._child = Child(command)
        self._child.read()
        if warmup:
            self._play(warmup, first_seed=10**6)

    @classmethod
    def pool(cls, plan: Plan, **settings: Any) -> Self:
        return cls(
            "pool",
            battles=plan.battles,
            warmup=plan.warmup * plan.pool,
            format=plan.format,
            pool=plan.pool,
            rooms=plan.rooms,
            **settings,
        )

    @classmethod
    def per_battle(cls, plan: Plan) -> Self:
        return cls(
            "process_per_battle", battles=plan.slow_battles, format=plan.format, at_a_time=plan.pool
        )

    @classmethod
    def steady(cls, plan: Plan, rooms: int) -> Self:
        return cls("steady", seconds=plan.seconds, pool=4, rooms=rooms, battle_format=plan.format)

    def sample(self, number: int) -> Sample:
        return self._play(self._battles, number * self._battles)

    def _play(self, battles: int, first_seed: int) -> Sample:
        answer = self._child.order(
            battles=battles, first_seed=first_seed, format=self._format, seconds=self._seconds
        )
        return Sample(**answer)

    def close(self) -> None:
        self._child.close()


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

    def sample(self, number: int) -> Sample:
        played = self._play(self._plan.battles)
        return Sample(
            battles=played.battles,
            decisions=played.decisions,
            turns=played.turns,
            wall=played.wall_seconds,
            python_cpu=played.python_cpu_seconds,
            node_cpu=played.node_cpu_seconds,
            python_memory=played.python_memory_bytes,
            node_memory=played.node_memory_bytes,
        )

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
    """A row by its fixed name: what it is, and how to start it."""

    description: str
    start: Callable[[Runtime, Plan], Row]
    group: str = "throughput"


ROWS: dict[str, RowSpec] = {
    "limit": RowSpec("inside one Node process, no IPC", Limit),
    "process_per_battle": RowSpec(
        "a Node process per battle", lambda _, plan: Worker.per_battle(plan)
    ),
    "pool": RowSpec("the pool, a Python driver", lambda _, plan: Worker.pool(plan)),
    "showdown_websocket": RowSpec("poke-env on a Showdown server", ShowdownWebSocket),
    "pool_timed": RowSpec("the pool, timing on", lambda _, plan: Worker.pool(plan), "timing"),
    "pool_untimed": RowSpec(
        "the pool, timing off",
        lambda _, plan: Worker.pool(plan, timing=False),
        "timing",
    ),
    "rooms_64": RowSpec(
        "64 open rooms on 4 controllers", lambda _, plan: Worker.steady(plan, 64), "rooms"
    ),
    "rooms_2000": RowSpec(
        "2,000 open rooms on 4 controllers", lambda _, plan: Worker.steady(plan, 2000), "rooms"
    ),
}
