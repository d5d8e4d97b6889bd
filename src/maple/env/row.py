"""One row of what a VectorEnv returns, for whoever wants battles one by one."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Observation", "beginning_of", "info_of", "last_observation_of", "observation_of"]

Observation: TypeAlias = dict[str, npt.NDArray[Any]]
_ENDS = ("winner", "reason", "turns", "input_log")


def observation_of(observation: Observation, row: int) -> Observation:
    """What one agent sees."""
    return {name: part[row] for name, part in observation.items()}


def last_observation_of(info: dict[str, Any], row: int) -> Observation:
    """What an agent saw last of a battle that is over."""
    last: Observation = info["final_obs"][row]
    return last


def beginning_of(info: dict[str, Any]) -> dict[str, Any]:
    """What there is to tell of battles that have begun, less how those before them ended."""
    parts: dict[str, npt.NDArray[np.float32]] = info["reward_parts"]
    return {
        **info,
        "reward_parts": {name: np.zeros_like(counts) for name, counts in parts.items()},
        "_reason": np.zeros(len(info["env_id"]), np.bool_),
    }


def info_of(info: dict[str, Any], row: int) -> dict[str, Any]:
    """The parts of a reward, whether the agent waits, and how its battle ended, if it did."""
    parts: dict[str, npt.NDArray[np.float32]] = info["reward_parts"]
    told: dict[str, Any] = {
        "reward_parts": {name: float(counts[row]) for name, counts in parts.items()}
    }
    if "waiting" in info:
        told["waiting"] = bool(info["waiting"][row])
    if "_reason" in info and info["_reason"][row]:
        told |= {name: info[name][row] for name in _ENDS if name in info}
        told["turns"] = int(told["turns"])
    return told
