"""Runs that were not measured but made up, for the tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bridge.timing import PHASES
from maple.profiling.training import Batch, BatchFigures, Mode, RunSettings, TrainingTime
from maple.profiling.training.components import measure_components

__all__ = [
    "COLLECTION",
    "FIGURES",
    "GRADIENT",
    "NOISE",
    "OFF",
    "ON",
    "SETTINGS",
    "TIMES",
    "batch",
    "levels",
    "mode",
    "result",
]

COLLECTION = "training_batch/env_parallel_execution"
GRADIENT = "training_batch/gradient_calculation"
TIMES = {
    "training_batch": 10.0,
    COLLECTION: 6.25,
    f"{COLLECTION}/env_step": 4.0,
    f"{COLLECTION}/env_step/env_wait": 3.0,
    f"{COLLECTION}/env_step/env_observation": 0.5,
    f"{COLLECTION}/env_send": 0.25,
    f"{COLLECTION}/agent_action_selection": 1.0,
    f"{COLLECTION}/agent_action_selection/inference_forward": 0.5,
    f"{COLLECTION}/agent_action_selection/inference_sample": 0.25,
    f"{COLLECTION}/replay_buffer": 0.5,
    f"{COLLECTION}/agent_value_calculation": 0.25,
    GRADIENT: 3.5,
    f"{GRADIENT}/gae": 0.25,
    f"{GRADIENT}/replay_buffer": 0.25,
    f"{GRADIENT}/loss_calculation": 1.0,
    f"{GRADIENT}/backward": 1.25,
    f"{GRADIENT}/optimizer_step": 0.5,
}
FIGURES = BatchFigures(
    decisions=1000,
    rounds=10,
    minibatches=4,
    battles=8,
    returns=0.2,
    policy_loss=-0.01,
    value_loss=0.1,
    entropy=1.5,
    divergence=0.01,
    gradient=0.3,
)
SETTINGS = RunSettings(
    format="gen9randombattle",
    opponents="self:0.8,max:0.2",
    parallel=64,
    batch=1000,
    network="mlp",
    hidden=(256, 256),
    minibatch=1024,
    epochs=3,
    synchronous=True,
    seed=7,
)


def batch(factor: float = 1.0, wait: float = 1.0, **changes: Any) -> Batch:
    """A batch in which all is slower by a factor, and waiting by another one on top."""
    longer = TIMES[f"{COLLECTION}/env_step/env_wait"] * (wait - 1)
    waiting = ("training_batch", COLLECTION, f"{COLLECTION}/env_step")
    around = (*waiting, f"{COLLECTION}/env_step/env_wait")
    times = {
        path: (time + (longer if path in around else 0)) * factor for path, time in TIMES.items()
    }
    made = Batch(
        wall=times["training_batch"],
        components=measure_components(times),
        figures=FIGURES,
        python_cpu=6.0,
        node_cpu=8.0,
        node_busy=0.3,
        profiling=0.0004,
        trips=500,
        phases=dict.fromkeys(PHASES, 0.5),
    )
    return replace(made, **changes)


def result(*modes: Mode, **changes: Any) -> TrainingTime:
    made = TrainingTime(
        began="2026-01-01T12:00:00+00:00",
        command="profile_training_time.py --compare",
        settings=SETTINGS,
        pool=2,
        threads=1,
        cores=2,
        cpu="a processor",
        ending="complete",
        failure=None,
        modes=list(modes),
    )
    return replace(made, **changes)


def mode(turbo: bool, batches: Sequence[Batch]) -> Mode:
    return Mode(name="turbo on" if turbo else "turbo off", turbo=turbo, batches=list(batches))


NOISE = (1.0, 1.02, 0.99, 1.01, 0.98)
OFF = mode(False, [batch(factor, wait=2.0) for factor in NOISE])
ON = mode(True, [batch(factor) for factor in reversed(NOISE)])


def levels(found: Mapping[str, float]) -> dict[str, float]:
    """By the name of what is divided, the sum of its parts."""
    sums: dict[str, float] = {}
    for key, time in found.items():
        above = key.rpartition(".")[0]
        sums[above] = sums.get(above, 0.0) + time
    return sums
