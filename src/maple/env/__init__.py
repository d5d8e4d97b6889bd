"""Battles as environments: what an agent sees, what it may do, and what it is rewarded for."""

from .actions import Actions, Preview
from .errors import IllegalAction, ObservationMismatch
from .observation import (
    ObservationConfig,
    Observations,
    ObservationSpec,
    load_observation_config,
)

__all__ = [
    "Actions",
    "IllegalAction",
    "ObservationConfig",
    "ObservationMismatch",
    "ObservationSpec",
    "Observations",
    "Preview",
    "load_observation_config",
]
