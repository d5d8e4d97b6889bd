"""The rows of the benchmark: what each one runs, kept warm between its samples."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ..machine import cpu_count
from ..runtime import Runtime
from ..workload import Workload
from .child import Child
from .maple_server import MapleServer
from .sample import Sample, together
from .showdown_server import (
    Place,
    ServerSettings,
    ShowdownServer,
    measure_showdown,
    play_in_own_process,
)
from .workers import WARM_UP_SEED, battle_specs, describe_runtime

__all__ = [
    "FULL",
    "PATCH_FORMATS",
    "QUICK",
    "ROWS",
    "SIMULATOR_FORMATS",
    "Bare",
    "Plan",
    "RowSpec",
    "Source",
    "fastest",
    "patch_row",
    "patch_rows",
    "simulator_rows",
    "steady_row",
    "vanilla_row",
]

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

    `env_battles` is what an environment plays in a sample, where it has one battle at a time. One
    with many is looked at for so many `seconds`; `env_counts` are the numbers of battles to try.

    A trainer makes so many `training_updates` in a sample, of batches of its own size; what it
    replaces collects `training_decisions`, and makes one.

    The rows of the simulator by itself take samples of their own size, after the 400 battles that
    turbo takes to settle; they need no lead-in, since only two of them take turns. `turbo` says
    whether rows run with it that do not say so themselves.
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
    search_rounds: int
    resets: int
    env_battles: int
    env_counts: tuple[int, ...]
    training_updates: int
    training_decisions: int
    simulator_repeats: int
    simulator_battles: int
    simulator_warmup: int
    cold_samples: int
    turbo: bool = True
    format: str = "gen9randombattle"
    pool: int = field(default_factory=cpu_count)
    rooms: int = 16


FULL = Plan(
    repeats=13,
    fine_repeats=51,
    battles=100,
    fine_battles=35,
    slow_battles=8,
    warmup=500,
    lead_in=30,
    seconds=2.0,
    simulator_processes=(1, 2, 4),
    concurrencies=(20, 50, 100),
    search_battles=60,
    search_rounds=3,
    resets=100,
    env_battles=20,
    env_counts=(64, 128, 256),
    training_updates=6,
    training_decisions=8192,
    simulator_repeats=11,
    simulator_battles=20,
    simulator_warmup=400,
    cold_samples=15,
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
    concurrencies=(20, 50),
    search_battles=30,
    search_rounds=1,
    resets=40,
    env_battles=10,
    env_counts=(128,),
    training_updates=4,
    training_decisions=2048,
    simulator_repeats=3,
    simulator_battles=10,
    simulator_warmup=200,
    cold_samples=3,
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


@dataclass(frozen=True, slots=True)
class Bare:
    """Node processes that run the simulator with no IPC, and share the battles of a sample.

    `turbo` is None for the simulator as it comes, or else the patches that are left out. `observe`
    is None where nobody listens, or else the groups of observations that both sides are shown.
    """

    row: str
    format: str
    battles: int
    warmup: int
    lead_in: int = 0
    processes: int = 1
    turbo: tuple[str, ...] | None = None
    observe: tuple[str, ...] | None = None

    def command(self, runtime: Runtime) -> list[str]:
        script = runtime.entry.parent / "bench" / "limit.js"
        turbo = [] if self.turbo is None else ["--turbo", f"--off={','.join(self.turbo)}"]
        observe = [] if self.observe is None else [f"--observe={','.join(self.observe)}"]
        simulator = f"--simulator={runtime.simulator}"
        return [str(runtime.node), str(script), simulator, *turbo, *observe]

    @contextmanager
    def start(self, runtime: Runtime) -> Iterator[Source]:
        processes = self.processes
        with ExitStack() as stack:
            command = self.command(runtime)
            children = [stack.enter_context(Child(command)) for _ in range(processes)]
            threads = stack.enter_context(ThreadPoolExecutor(processes))

            def play(battles: int, first_seed: int) -> Sample:
                specs = battle_specs(Workload(battles, 1, self.format, first_seed))
                shares = [specs[number::processes] for number in range(processes)]
                answers = threads.map(lambda child, own: child.order(battles=own), children, shares)
                return together([Sample(python_cpu=0.0, python_memory=0, **a) for [a] in answers])

            def sample(number: int) -> dict[str, Sample]:
                if self.lead_in:
                    play(self.lead_in * processes, WARM_UP_SEED)
                return {self.row: play(self.battles, number * self.battles)}

            play(self.warmup * processes, WARM_UP_SEED)
            yield Source(sample)


def start_limit(
    runtime: Runtime,
    plan: Plan,
    row: str = "limit",
    *,
    per_core: bool = False,
    turbo: bool | None = None,
) -> AbstractContextManager[Source]:
    """The battles of the pool inside Node processes, with no IPC."""
    bare = Bare(
        row,
        plan.format,
        plan.battles,
        plan.warmup,
        plan.lead_in,
        processes=plan.pool if per_core else 1,
        turbo=() if _with_turbo(plan, turbo) else None,
    )
    return bare.start(runtime)


def _with_turbo(plan: Plan, turbo: bool | None) -> bool:
    return plan.turbo if turbo is None else turbo


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


def start_pool(
    runtime: Runtime, plan: Plan, row: str = "pool", *, turbo: bool | None = None
) -> AbstractContextManager[Source]:
    return start_worker(
        runtime,
        "pool",
        row,
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        lead_in=plan.lead_in * plan.pool,
        turbo=_with_turbo(plan, turbo),
        order=lambda number: {"battles": plan.battles, "first_seed": number * plan.battles},
    )


def start_timing(
    runtime: Runtime, plan: Plan, suffix: str = "", *, turbo: bool | None = None
) -> AbstractContextManager[Source]:
    return start_worker(
        runtime,
        "timing",
        f"pool_timed{suffix}",
        f"pool_untimed{suffix}",
        pool=plan.pool,
        rooms=plan.rooms,
        format=plan.format,
        warmup=plan.warmup * plan.pool,
        turbo=_with_turbo(plan, turbo),
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
        rounds=plan.search_rounds,
        format=plan.format,
    )
    processes, concurrency = fastest(
        [
            ((trial.simulator_processes, trial.concurrency), trial.sample.battles_per_s)
            for trial in tried
        ]
    )
    settings = ServerSettings(processes)
    with ShowdownServer(runtime.simulator, runtime.node, settings) as server:

        def play(battles: int) -> Sample:
            return play_in_own_process(
                server,
                battles=battles,
                warmup=plan.lead_in * processes,
                concurrency=concurrency,
                format=plan.format,
            )

        play(plan.warmup * processes)
        row = "showdown_websocket"
        found = {"simulator_processes": processes, "concurrency": concurrency}
        # With fewer, most of a sample would be battles that are begun or ended together.
        battles = max(plan.battles, 2 * concurrency)
        yield Source(lambda _number: {row: play(battles)}, notes={row: found})


Settings = TypeVar("Settings", bound=Hashable)


def fastest(tried: Sequence[tuple[Settings, float]]) -> Settings:
    """The settings with the highest median, of several trials of each: single ones are noise."""
    speeds: dict[Settings, list[float]] = {}
    for settings, speed in tried:
        speeds.setdefault(settings, []).append(speed)
    return max(speeds, key=lambda settings: statistics.median(speeds[settings]))


def players_command(**where: Any) -> list[str]:
    """The worker that plays with poke-env, in process or on a server."""
    return [sys.executable, "-m", "bridge.benchmarks.poke_env_players", json.dumps(where)]


@contextmanager
def start_poke_env_local(_runtime: Runtime, plan: Plan) -> Iterator[Source]:
    """poke-env's RandomPlayers in process, at their best settings."""
    row = "poke_env_local"

    def play(child: Child, battles: int, concurrency: int) -> Sample:
        [answer] = child.order(battles=battles, concurrency=concurrency, format=plan.format)
        return Sample(**answer)

    def start(pool: int, stack: ExitStack) -> Child:
        child = stack.enter_context(Child(players_command(pool=pool, turbo=plan.turbo)))
        child.read()
        return child

    tried: list[tuple[tuple[int, int], float]] = []
    for pool in range(1, plan.pool + 1):
        with ExitStack() as stack:
            child = start(pool, stack)
            play(child, plan.search_battles * pool, plan.search_battles)
            for concurrency in plan.concurrencies * plan.search_rounds:
                trial = play(child, max(plan.search_battles, 2 * concurrency), concurrency)
                tried.append(((pool, concurrency), trial.battles_per_s))
    pool, concurrency = fastest(tried)
    with ExitStack() as stack:
        child = start(pool, stack)
        play(child, plan.warmup * pool, concurrency)

        def sample(_number: int) -> dict[str, Sample]:
            play(child, plan.lead_in * pool, concurrency)
            return {row: play(child, max(plan.battles, 2 * concurrency), concurrency)}

        yield Source(sample, notes={row: {"pool": pool, "concurrency": concurrency}})


@contextmanager
def start_poke_env_serve(_runtime: Runtime, plan: Plan) -> Iterator[Source]:
    """poke-env's RandomPlayers over WebSocket on our own server, at its best settings."""
    row = "poke_env_serve"

    def play(server: Place, battles: int, warmup: int, concurrency: int) -> Sample:
        return play_in_own_process(
            server, battles=battles, warmup=warmup, concurrency=concurrency, format=plan.format
        )

    tried: list[tuple[tuple[int, int], float]] = []
    for pool in range(1, plan.pool + 1):
        with MapleServer(pool, turbo=plan.turbo) as server:
            for concurrency in plan.concurrencies * plan.search_rounds:
                battles = max(plan.search_battles, 2 * concurrency)
                sample = play(server, battles, plan.lead_in * pool, concurrency)
                tried.append(((pool, concurrency), sample.battles_per_s))
    pool, concurrency = fastest(tried)
    with MapleServer(pool, turbo=plan.turbo) as server:
        play(server, plan.warmup * pool, 0, concurrency)
        battles = max(plan.battles, 2 * concurrency)
        yield Source(
            lambda _number: {row: play(server, battles, plan.lead_in * pool, concurrency)},
            notes={row: {"pool": pool, "concurrency": concurrency}},
        )


@contextmanager
def start_resets(
    runtime: Runtime, plan: Plan, row: str = "resets_local", *, on_showdown: bool = False
) -> Iterator[Source]:
    """Resets of poke-env's SinglesEnv: in process, or on a real Showdown server."""
    with ExitStack() as stack:
        if on_showdown:
            settings = ServerSettings(simulator_processes=1)
            server = stack.enter_context(ShowdownServer(runtime.simulator, runtime.node, settings))
            command = players_command(url=server.websocket_url, server_pid=server.pid)
        else:
            command = players_command(pool=1, turbo=plan.turbo)
        child = stack.enter_context(Child(command))
        child.read()

        def sample(_number: int) -> dict[str, Sample]:
            [answer] = child.order(resets=plan.resets)
            return {row: Sample(**answer)}

        child.order(resets=plan.warmup)
        yield Source(sample)


def _speed_and_cost(sample: Sample) -> str:
    cost = f"{sample.cpu_ms_per_decision:.3f} ms CPU per decision"
    return f"{sample.battles_per_s:.1f} battles/s, {cost}"


@dataclass(frozen=True, slots=True)
class RowSpec:
    """A row by its fixed name: what it is, and where its samples come from.

    Rows of a group are measured in turns. `repeats` names the number of the plan that says how
    often: those that are closer to each other than the moods of a machine take many short samples.
    `table` is where the row is shown, and `told` what is said of a sample as soon as it is taken.
    If rows of a group are `alike`, they play the same battles, and it is an error if these do not
    come out the same.
    """

    description: str
    start: Start
    group: str = "throughput"
    repeats: str = "repeats"
    table: str = "rows"
    told: Callable[[Sample], str] = _speed_and_cost
    alike: bool = False


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
            turbo=plan.turbo,
            order=lambda _number: {"seconds": plan.seconds},
        )

    description = f"{rooms:,} open rooms on {_STEADY_POOL} controllers"
    return RowSpec(description, start, "rooms", "fine_repeats")


def simulator_rows(format: str) -> dict[str, RowSpec]:
    """The simulator by itself in a format: as it comes, and with turbo."""
    return _duel(format, format, (), "simulator")


def patch_rows(patches: Sequence[str]) -> dict[str, RowSpec]:
    """The simulator with the first patch of turbo, the first two, and so on, in two formats.

    Each has a vanilla of its own beside it: dozens that took turns would cool while they wait.
    """
    rows: dict[str, RowSpec] = {}
    for name in PATCH_FORMATS:
        for number, patch in enumerate(patches, 1):
            off = tuple(patches[number:])
            rows |= _duel(patch_row(name, patch), name, off, "patches")
    return rows


def patch_row(format: str, patch: str) -> str:
    """The name of the row with all patches up to this one."""
    return f"{format}:{patch}"


def vanilla_row(row: str) -> str:
    """The name of the row that plays the same battles in the simulator as it comes."""
    return f"{row}_vanilla"


def _duel(name: str, format: str, off: tuple[str, ...], table: str) -> dict[str, RowSpec]:
    """The simulator as it comes and with turbo, less the patches that are off, in turns."""

    def spec(row: str, turbo: tuple[str, ...] | None) -> RowSpec:
        def start(runtime: Runtime, plan: Plan) -> AbstractContextManager[Source]:
            battles, warmup = plan.simulator_battles, plan.simulator_warmup
            return Bare(row, format, battles, warmup, turbo=turbo).start(runtime)

        description = "the simulator by itself"
        return RowSpec(description, start, name, "simulator_repeats", table, alike=True)

    vanilla = vanilla_row(name)
    return {
        vanilla: spec(vanilla, None),
        name: spec(name, off),
    }


SIMULATOR_FORMATS = (
    *(f"gen{generation}randombattle" for generation in range(1, 10)),
    "gen9randomdoublesbattle",
)
PATCH_FORMATS = ("gen9randombattle", "gen1randombattle")

start_vanilla_timing = partial(start_timing, suffix="_vanilla", turbo=False)

# In the order in which they are measured: the pools are in the middle of what they are compared
# with, so that little time passes between the two.
ROWS: dict[str, RowSpec] = {
    "limit_per_core": RowSpec(
        "inside as many as the pool has, no IPC",
        partial(start_limit, row="limit_per_core", per_core=True),
    ),
    "limit": RowSpec("inside one Node process, no IPC", start_limit),
    "pool": RowSpec("the pool, a Python driver", start_pool),
    "pool_vanilla": RowSpec(
        "the pool without turbo", partial(start_pool, row="pool_vanilla", turbo=False)
    ),
    "limit_vanilla": RowSpec(
        "inside one, without turbo", partial(start_limit, row="limit_vanilla", turbo=False)
    ),
    "limit_per_core_vanilla": RowSpec(
        "inside as many, without turbo",
        partial(start_limit, row="limit_per_core_vanilla", per_core=True, turbo=False),
    ),
    "process_per_battle": RowSpec("a vanilla Node process per battle", start_process_per_battle),
    "showdown_websocket": RowSpec("poke-env on a Showdown server", start_showdown_websocket),
    "poke_env_local": RowSpec("poke-env in process", start_poke_env_local),
    "poke_env_serve": RowSpec("poke-env on bridge.serve", start_poke_env_serve),
    "resets_showdown": RowSpec(
        "resets of SinglesEnv on a Showdown server",
        partial(start_resets, row="resets_showdown", on_showdown=True),
        "resets",
    ),
    "resets_local": RowSpec("resets of SinglesEnv in process", start_resets, "resets"),
    "pool_timed": RowSpec("the pool in step, timing on", start_timing, "timing", "fine_repeats"),
    "pool_untimed": RowSpec("the pool in step, timing off", start_timing, "timing", "fine_repeats"),
    "pool_timed_vanilla": RowSpec(
        "without turbo, timing on", start_vanilla_timing, "timing", "fine_repeats"
    ),
    "pool_untimed_vanilla": RowSpec(
        "without turbo, timing off", start_vanilla_timing, "timing", "fine_repeats"
    ),
    "rooms_64": steady_row(64),
    "rooms_2000": steady_row(2000),
}
for _format in SIMULATOR_FORMATS:
    ROWS |= simulator_rows(_format)
