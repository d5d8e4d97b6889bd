"""Battles as environments: what an agent sees, what it may do, and what it is rewarded for."""

from .actions import Actions, Preview
from .errors import IllegalAction, ObservationMismatch, OpponentFailed, StepTimeout
from .mixture import Mixture
from .observation import (
    ObservationConfig,
    Observations,
    ObservationSpec,
    load_observation_config,
)
from .opponents import QueuedPolicy
from .rewards import Outcome, RewardConfig, Rewards, load_reward_config
from .serial import SerialVectorEnv
from .teams import TeamPool
from .vector import VectorEnv

__all__ = [
    "Actions",
    "IllegalAction",
    "Mixture",
    "ObservationConfig",
    "ObservationMismatch",
    "ObservationSpec",
    "Observations",
    "OpponentFailed",
    "Outcome",
    "Preview",
    "QueuedPolicy",
    "RewardConfig",
    "Rewards",
    "SerialVectorEnv",
    "StepTimeout",
    "TeamPool",
    "VectorEnv",
    "load_observation_config",
    "load_reward_config",
]
