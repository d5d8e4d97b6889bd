"""What tests of training share: a small run on one Node process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maple.train.config import TrainConfig, read_train_config

SMALL: dict[str, Any] = {
    "format": "gen1randombattle",
    "reward": {"knock_out": 0.1},
    "network": {"kind": "mlp", "hidden": [16]},
    "learning": {"minibatch": 128, "rate": 1e-3},
    "parallel": 4,
    "pool": 1,
    "batch": 256,
    "decisions": 1024,
    "threads": 1,
    "tensorboard": False,
    "checkpoints": {"every": 2, "window": 5},
    "evaluation": {"battles": 0},
}


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., TrainConfig]:
    """Settings of a run that takes a second or two, in a folder of the test's."""
    bridge = tmp_path / "bridge.yml"
    bridge.write_text("warmup_battles: 0\n", encoding="utf-8")

    def make(**settings: Any) -> TrainConfig:
        folder = {"folder": tmp_path / "runs", "name": "one", "bridge": str(bridge)}
        return read_train_config({**SMALL, **folder}, settings)

    return make
