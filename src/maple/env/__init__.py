"""Battles as environments: what an agent sees, what it may do, and what it is rewarded for."""

from .actions import Actions, Preview
from .errors import IllegalAction, ObservationMismatch
from .observation import (
    ObservationConfig,
    Observations,
    ObservationSpec,
    load_observation_config,
)
from .rewards import Outcome, RewardConfig, Rewards, load_reward_config

__all__ = [
    "Actions",
    "IllegalAction",
    "ObservationConfig",
    "ObservationMismatch",
    "ObservationSpec",
    "Observations",
    "Outcome",
    "Preview",
    "RewardConfig",
    "Rewards",
    "load_observation_config",
    "load_reward_config",
]
