"""What tests of training share: a small run on one Node process."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from maple.train.config import TrainConfig, read_train_config
from maple.train.rewards import load_reward_schedules
from maple.train.stage import Stage, derive_seed, set_stage

SMALL: dict[str, Any] = {
    "format": "gen1randombattle",
    "reward": {"knock_out": 0.1},
    "network": {"kind": "mlp", "hidden": [16]},
    "learning": {"minibatch": 128, "rate": 1e-3},
    "parallel": 8,
    "pool": 1,
    "batch": 256,
    "decisions": 1024,
    "threads": 1,
    "tensorboard": False,
    "checkpoints": {"every": 2, "window": 5},
    "evaluation": {"battles": 0},
}


def stage_of(config: TrainConfig) -> Stage:
    """As `set_stage`, which is asked only once about a format that needs no teams."""
    facts = _facts(config.format)
    rewards = load_reward_schedules(config.reward)
    return dataclasses.replace(
        facts,
        network=config.network,
        seed=derive_seed(config.seed, "weights"),
        rewards=rewards.at(0.0),
    )


@cache
def _facts(format: str) -> Stage:
    with tempfile.TemporaryDirectory() as folder:
        bridge = Path(folder) / "bridge.yml"
        bridge.write_text("warmup_battles: 0\n", encoding="utf-8")
        return set_stage(
            read_train_config({"format": format, "bridge": str(bridge), "episodes": 1})
        )


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in a run on few cores; several would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., TrainConfig]:
    """Settings of a run that takes a second or two, in a folder of the test's."""
    bridge = tmp_path / "bridge.yml"
    bridge.write_text("warmup_battles: 0\n", encoding="utf-8")

    def make(**settings: Any) -> TrainConfig:
        folder = {"folder": tmp_path / "runs", "name": "one", "bridge": str(bridge)}
        return read_train_config({**SMALL, **folder}, settings)

    return make
