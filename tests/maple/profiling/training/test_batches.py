"""Measuring, as far as that is no matter of the command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import BridgeError
from maple.profiling import ProfilingError, get_profiler
from maple.profiling.training import load_measured_config, measure_training
from maple.train.config import TrainConfig
from maple.train.layout import lay_out
from maple.train.stage import set_stage
from maple.train.trainer import Trainer

DEFAULT = Path(__file__).parents[4] / "config" / "train.yml"
SMALL: dict[str, Any] = {
    "parallel": 2,
    "batch": 24,
    "pool": 1,
    "network": {"hidden": [8]},
    "opponents": {"mix": "self"},
}


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    """Two battles, and a Node process that is not warmed up."""
    bridge = tmp_path / "bridge.yml"
    bridge.write_text("warmup_battles: 0\n", encoding="utf-8")
    return load_measured_config(DEFAULT, SMALL | {"bridge": str(bridge)})


@pytest.fixture
def recording() -> Iterator[None]:
    """The profiler is on, but looks at no processes."""
    profiler = get_profiler()
    profiler.reset()
    profiler.enable(system=False)
    yield
    profiler.disable()
    profiler.reset()


@pytest.mark.usefixtures("recording")
def test_a_profiler_that_is_in_use_is_left_alone(config: TrainConfig) -> None:
    with pytest.raises(ProfilingError, match="on already"):
        measure_training(config, [True], 1)


def test_what_cannot_begin_is_an_error_and_no_empty_report() -> None:
    config = load_measured_config(DEFAULT, SMALL | {"format": "gen9nothing"})

    with pytest.raises(BridgeError, match="gen9nothing"):
        measure_training(config, [True], 1, warmup=0)


@pytest.mark.usefixtures("recording")
def test_a_batch_is_recorded_in_the_parts_that_it_is_divided_into(config: TrainConfig) -> None:
    trainer = Trainer(config, set_stage(config), lay_out(config))
    try:
        trainer.update()
        get_profiler().reset()
        before = trainer.counters.decisions
        status = trainer.update()
        (part,) = get_profiler().session().processes
    finally:
        trainer.close()

    # Not env_wait, which is there only if Node was slower than Python at least once.
    paths = {"/".join(operation.path) for operation in part.operations if operation.calls}
    batch = "training_batch"
    collection, gradient = f"{batch}/env_parallel_execution", f"{batch}/gradient_calculation"
    assert paths - {f"{collection}/env_step/env_wait"} == {
        batch,
        collection,
        f"{collection}/env_step",
        f"{collection}/env_step/env_observation",
        f"{collection}/env_send",
        f"{collection}/agent_action_selection",
        f"{collection}/agent_action_selection/inference_forward",
        f"{collection}/agent_action_selection/inference_sample",
        f"{collection}/agent_value_calculation",
        f"{collection}/agent_value_calculation/inference_forward",
        f"{collection}/replay_buffer",
        gradient,
        f"{gradient}/gae",
        f"{gradient}/replay_buffer",
        f"{gradient}/loss_calculation",
        f"{gradient}/backward",
        f"{gradient}/optimizer_step",
        f"{batch}/log_metrics",
    }
    assert part.counts["steps"] == status.counters.decisions - before
    assert len(part.laps) == 1
    # What the bridge has timed is there too, of a trainer that is made while it is recorded.
    (feed,) = part.feeds
    assert feed.name == "battles"
    assert feed.counts["decisions"] > 0


def test_a_worker_records_what_it_waits_for_and_what_its_bridge_has_timed() -> None:
    config = replace(load_measured_config(DEFAULT, SMALL), workers=1)
    profiler = get_profiler()
    profiler.reset()
    profiler.enable()
    try:
        trainer = Trainer(config, set_stage(config), lay_out(config))
        try:
            for _ in range(2):
                trainer.update()
        finally:
            trainer.close()
        session = profiler.session()
    finally:
        profiler.disable()
        profiler.reset()

    by_role = {part.role: part for part in session.processes}
    assert set(by_role) == {"main", "worker"}
    names = {operation.path[0] for operation in by_role["worker"].operations}
    assert {"order_wait", "env_step", "agent_action_selection"} <= names
    (feed,) = by_role["worker"].feeds
    assert feed.counts["decisions"] > 0
    assert by_role["main"].feeds == []
