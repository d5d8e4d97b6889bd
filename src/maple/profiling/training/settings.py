"""What is trained while it is measured: settings of a run, less those that change nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bridge.errors import ConfigError
from maple.train.config import TrainConfig, load_train_config

__all__ = ["RunSettings", "load_measured_config"]

_ELSEWHERE: Final = {
    "episodes": "--batches says how much is measured",
    "decisions": "--batches says how much is measured",
    "minutes": "--batches says how much is measured",
    "workers": "one process plays and learns, so that its parts can be told apart",
    "max_lag": "one process plays and learns, so nothing is older than the network",
    "checkpoints": "nothing is kept",
    "evaluation": "nothing is played after the last batch",
    "folder": "--output says where files go",
    "name": "nothing is kept of the run",
    "tensorboard": "nothing is kept of the run",
    "profile": "that is what this does",
    "profile_name": "--output says where files go",
}
# Every batch is at the begin of all schedules, however many there are.
_FIXED: Final[Mapping[str, Any]] = {
    "workers": 0,
    "decisions": 10**15,
    "episodes": None,
    "minutes": None,
}


def load_measured_config(path: Path, given: Mapping[str, Any]) -> TrainConfig:
    """Settings of a file, and others that are given; what has no effect here cannot be.

    Playing and learning take turns, unless it is said that a run is not synchronous.
    """
    for name in given:
        if name in _ELSEWHERE:
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} changes nothing here: {_ELSEWHERE[name]}")
    return load_train_config(path, {"synchronous": True, **given, **_FIXED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What a report says of the run that was measured."""

    format: str
    opponents: str
    parallel: int
    batch: int
    network: str
    hidden: tuple[int, ...]
    minibatch: int
    epochs: int
    synchronous: bool
    seed: int

    @classmethod
    def of(cls, config: TrainConfig) -> RunSettings:
        return cls(
            format=config.format,
            opponents=config.opponents.mix,
            parallel=config.parallel,
            batch=config.batch,
            network=config.network.kind,
            hidden=config.network.widths,
            minibatch=config.learning.minibatch,
            epochs=config.ppo.epochs if config.algorithm == "ppo" else 1,
            synchronous=config.synchronous,
            seed=config.seed,
        )
