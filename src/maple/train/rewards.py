"""What agents are rewarded for at any time of a run: weights that may change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridge.errors import ConfigError
from bridge.settings import load_settings, suggest
from maple.env import RewardConfig

from .schedules import Value, make_value

__all__ = ["RewardSchedules", "load_reward_schedules", "read_reward"]


class RewardSchedules:
    """A schedule for each part of a reward; those that are not given keep their defaults.

    `parts` are those that count at any time of a run, or would if they were not given.
    """

    def __init__(self, weights: Mapping[str, Any]) -> None:
        defaults = RewardConfig().weights()
        for name in weights:
            if name not in defaults:
                raise ConfigError(f"unknown part of a reward {name!r}; {suggest(name, defaults)}")
        self.given = dict(weights)
        self._values = {
            name: _read(name, weights.get(name, default)) for name, default in defaults.items()
        }
        self.parts = tuple(
            name
            for name, value in self._values.items()
            if value.start or value.end or defaults[name]
        )

    def at(self, progress: float) -> dict[str, float]:
        """The weight of each part that counts, when such a share of the run is done."""
        return {name: self._values[name].at(progress) for name in self.parts}


def load_reward_schedules(argument: str | Mapping[str, Any]) -> RewardSchedules:
    """From a mapping, or from a YAML file with one."""
    if isinstance(argument, Mapping):
        try:
            return RewardSchedules(argument)
        except ConfigError as error:
            raise ConfigError(f"reward: {error.message}") from error
    return load_settings(Path(argument), RewardSchedules)


def read_reward(file: str) -> dict[str, Any]:
    """What a file has in it, as it could be given in its place."""
    return load_settings(Path(file), lambda data: RewardSchedules(data).given)


def _read(name: str, weight: Any) -> Value:  # noqa: ANN401 - plain data
    if isinstance(weight, bool) or not isinstance(weight, int | float | Mapping):
        raise ConfigError(f"{name} is {weight!r}, but must be a number, or a schedule")
    try:
        return make_value(dict(weight) if isinstance(weight, Mapping) else weight)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}") from error
