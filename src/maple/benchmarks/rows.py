"""The rows of the benchmark that train: what each one runs, kept warm between its samples."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from bridge.benchmarks.child import Child
from bridge.benchmarks.rows import Bare, Plan, RowSpec, Source, fastest
from bridge.benchmarks.sample import Sample
from bridge.runtime import Runtime
from maple.env import ObservationConfig
from maple.train.config import TrainConfig, load_train_config, plain
from maple.train.layout import lay_out

from .curve import CURVE, curve_row
from .showdown_envs import Amounts, start_child, start_on_showdown

__all__ = ["OPEN_ROOMS", "ROWS", "rooms_row"]

OPEN_ROOMS = (1, 256, 1024)
"""Numbers of open rooms whose memory is compared."""

# In how many parts agents are decided for: while one is with the policy, Node works on the others.
_BATCHES = (1, 2, 4)
# V8 has more to compile where battles are observed: a process takes some 1,000 of them.
_WARMER = 2
_PROFILED_CALLS = 200_000
_TRAINING: Final = Path(__file__).parents[3] / "config" / "train.yml"
# Schedules stay where they begin: a sample late in the run is to learn as one at its start does.
_ENDLESS: Final = {"decisions": 10**15, "episodes": None, "minutes": None}


@contextmanager
def start_singles_env(runtime: Runtime, plan: Plan) -> Iterator[Source]:
    """poke-env's SinglesEnv with a RandomPlayer on the real server, at its best settings."""
    amounts = Amounts(
        search=plan.env_battles,
        # With one battle at a time, the server is warm when one of its processes is.
        warm=min(plan.warmup, 5 * plan.env_battles),
        lead_in=1,
        sample=plan.env_battles,
    )
    with start_on_showdown(
        runtime, plan, "singles_env_showdown", "singles_env", "battles", amounts, format=plan.format
    ) as source:
        yield source


class EnvSettings(NamedTuple):
    """What a vector environment can be tuned by."""

    pool: int
    num_envs: int
    batches: int


@contextmanager
def start_vector_env(
    _runtime: Runtime,
    plan: Plan,
    row: str,
    *,
    opponent: str,
    turbo: bool | None = None,
    num_envs: int | None = None,
) -> Iterator[Source]:
    """The vector environment, at its best settings; with so many battles at a time, if given."""
    with_turbo = plan.turbo if turbo is None else turbo

    def start(settings: EnvSettings, stack: ExitStack) -> Child:
        return start_env(stack, plan, settings, opponent=opponent, turbo=with_turbo)

    tried: list[tuple[EnvSettings, float]] = []
    for settings in settings_to_try(plan, with_turbo, num_envs):
        with ExitStack() as stack:
            child = start(settings, stack)
            play(child, battles=_WARMER * plan.search_battles * settings.pool)
            trials = [play(child, seconds=plan.seconds / 2) for _ in range(plan.search_rounds)]
            tried += [(settings, trial.decisions_per_s) for trial in trials]
    best = fastest(tried)
    with ExitStack() as stack:
        child = start(best, stack)
        play(child, battles=_WARMER * plan.warmup * best.pool)

        def sample(_number: int) -> dict[str, Sample]:
            play(child, seconds=plan.seconds / 4)
            return {row: play(child, seconds=plan.seconds)}

        yield Source(sample, notes={row: best._asdict()})


def settings_to_try(plan: Plan, turbo: bool, num_envs: int | None) -> list[EnvSettings]:
    """Which settings may be the best for so many battles, or for those of the plan."""
    if num_envs is not None:
        pool = min(plan.pool, num_envs)
        return [EnvSettings(pool, num_envs, batches) for batches in _BATCHES if batches <= num_envs]
    # Without turbo Node is the limit, and wants all cores.
    pools = range(1, plan.pool + 1) if turbo else (plan.pool,)
    return list(itertools.starmap(EnvSettings, itertools.product(pools, plan.env_counts, _BATCHES)))


def start_env(stack: ExitStack, plan: Plan, settings: EnvSettings, **others: str | bool) -> Child:
    return start_child(stack, "vector_env", {"format": plan.format, **settings._asdict(), **others})


def play(child: Child, **amount: float) -> Sample:
    """What a worker measures while it plays so many battles, or seconds."""
    [answer] = child.order(**amount)
    return Sample(**answer)


@contextmanager
def start_open_rooms(_runtime: Runtime, plan: Plan, rooms: int) -> Iterator[Source]:
    """An environment of so many rooms, at all stages of their battles."""
    settings = EnvSettings(plan.pool, rooms, 1)
    with ExitStack() as stack:
        child = start_env(stack, plan, settings, turbo=plan.turbo, ahead=False)
        play(child, battles=max(plan.warmup, rooms))
        yield Source(lambda _number: {rooms_row(rooms): play(child, seconds=plan.seconds)})


def rooms_row(rooms: int) -> str:
    return f"observed_rooms_{rooms}"


def start_observation(
    runtime: Runtime, plan: Plan, row: str, *, observe: bool
) -> AbstractContextManager[Source]:
    """The simulator by itself, with what observers take, or without."""
    groups = ObservationConfig().groups if observe else ()
    bare = Bare(
        row,
        plan.format,
        plan.battles,
        plan.simulator_warmup,
        plan.lead_in,
        turbo=() if plan.turbo else None,
        observe=groups,
    )
    return bare.start(runtime)


def training_config(plan: Plan, **changes: Any) -> TrainConfig:
    """The settings of a run that nobody has given any, in a game of the plan."""
    given = {"format": plan.format, "pool": plan.pool}
    return load_train_config(_TRAINING, given | _ENDLESS | changes)


@contextmanager
def start_training(_runtime: Runtime, plan: Plan, **changes: Any) -> Iterator[Source]:
    """The trainer, with as many processes as it starts by itself."""
    row = "training"
    config = training_config(plan, **changes)
    layout = lay_out(config)
    with ExitStack() as stack:
        settings = {"config": plain(config), "turbo": plan.turbo}
        child = start_child(stack, "trainer", settings)
        child.order(battles=_WARMER * plan.warmup * layout.pool)

        def sample(_number: int) -> dict[str, Sample]:
            [answer] = child.order(updates=plan.training_updates)
            return {row: Sample(**answer)}

        notes = {
            "network": config.network.kind,
            "batch": config.batch,
            "battles_at_a_time": config.parallel,
            "opponents": config.opponents.mix,
            "processes": str(layout),
        }
        yield Source(sample, notes={row: notes})


@contextmanager
def start_training_on_showdown(runtime: Runtime, plan: Plan, **changes: Any) -> Iterator[Source]:
    """The same network and learner with poke-env's SingleAgentWrapper on the real server."""
    batch = plan.training_decisions
    amounts = Amounts(search=batch // 8, warm=batch // 2, lead_in=max(1, batch // 64), sample=batch)
    config = training_config(plan, **changes)
    row, module = "training_showdown", "trainer_showdown"
    with start_on_showdown(
        runtime, plan, row, module, "decisions", amounts, config=plain(config)
    ) as source:
        source.notes[row] |= {"network": config.network.kind, "batch": batch}
        yield source


@contextmanager
def start_profiling(
    _runtime: Runtime, _plan: Plan, row: str, *, on: bool, nested: bool = False
) -> Iterator[Source]:
    """Calls that the profiler times, or that it does not because it is off."""
    command = [sys.executable, "-m", "maple.benchmarks.profiling"]
    with Child(command) as child:
        child.read()

        def sample(_number: int) -> dict[str, Sample]:
            [answer] = child.order(calls=_PROFILED_CALLS, on=on, nested=nested)
            return {row: Sample(**answer)}

        sample(0)
        yield Source(sample)


def _env_row(row: str, description: str, opponent: str, turbo: bool | None = None) -> RowSpec:
    start = partial(start_vector_env, row=row, opponent=opponent, turbo=turbo)
    return RowSpec(description, start)


def _observation_row(row: str, description: str, *, observe: bool) -> RowSpec:
    start = partial(start_observation, row=row, observe=observe)
    return RowSpec(description, start, "observation", alike=True)


ROWS: dict[str, RowSpec] = {
    "singles_env_showdown": RowSpec(
        "poke-env's SinglesEnv on a Showdown server, a policy", start_singles_env
    ),
    "vector_env": _env_row("vector_env", "VectorEnv, a policy against random", "random"),
    "vector_env_self": _env_row("vector_env_self", "VectorEnv, a policy in both seats", "self"),
    "vector_env_vanilla": _env_row(
        "vector_env_vanilla", "against random, without turbo", "random", turbo=False
    ),
    "vector_env_self_vanilla": _env_row(
        "vector_env_self_vanilla", "in both seats, without turbo", "self", turbo=False
    ),
    "observation": _observation_row(
        "observation", "inside one Node process, both sides observe", observe=True
    ),
    "observation_off": _observation_row(
        "observation_off", "inside one, nobody observes", observe=False
    ),
}
for _row, _description, _on, _nested in (
    ("profile_off", "a `with profile(…)`, the profiler off", False, False),
    ("profile_on", "a `with profile(…)`, the profiler on", True, False),
    ("profile_nested", "the same, four inside of each other", True, True),
):
    ROWS[_row] = RowSpec(
        _description,
        partial(start_profiling, row=_row, on=_on, nested=_nested),
        "profiler",
        table="profiler",
        told=lambda sample: f"{1e3 * sample.cpu_ms_per_decision:.3f} µs CPU a call",
    )
for _row, _description, _start in (
    ("training", "the trainer, as it is by default", start_training),
    (
        "training_showdown",
        "its learner on poke-env's wrapper, batch 1",
        start_training_on_showdown,
    ),
):
    ROWS[_row] = RowSpec(
        _description,
        _start,
        "training",
        table="training",
        told=lambda sample: f"{sample.decisions_per_s:.0f} decisions/s, learned from",
    )
for _rooms in OPEN_ROOMS:
    ROWS[rooms_row(_rooms)] = RowSpec(
        f"{_rooms:,} open room{'s' if _rooms > 1 else ''} that observe{'' if _rooms > 1 else 's'}",
        partial(start_open_rooms, rooms=_rooms),
        "observed rooms",
    )
for _count in CURVE:
    ROWS[curve_row(_count)] = RowSpec(
        f"{_count} environment{'s' if _count > 1 else ''}, a policy in both seats",
        partial(start_vector_env, row=curve_row(_count), opponent="self", num_envs=_count),
        "curve",
        table="curve",
    )
