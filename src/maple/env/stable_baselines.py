"""Many battles as the vector environment that Stable-Baselines3 and its MaskablePPO learn on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Dict, Discrete
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import (
    VecEnvIndices,
    VecEnvObs,
    VecEnvStepReturn,
)

from .row import Observation, info_of, last_observation_of
from .vector import VectorEnv

__all__ = ["BattleVecEnv"]


class BattleVecEnv(VecEnv):
    """Battles of a VectorEnv, with the action masks where MaskablePPO looks for them.

    >>> MaskablePPO("MlpPolicy", BattleVecEnv(VectorEnv("gen9randombattle", 16)))

    Its networks know nothing of ids, so they see the features alone. Whoever has one that embeds
    ids asks for `keys=("features", "ids")`, and gets a Dict. In doubles an action is a pair, first
    times number of actions plus second, because MaskablePPO cannot mask the second half by the
    first.
    """

    def __init__(self, battles: VectorEnv, keys: Sequence[str] = ("features",)) -> None:
        self.battles = battles
        self._keys = tuple(keys)
        self._actions = battles.observations.actions
        size = self._actions.size**self._actions.slots
        self._masks: npt.NDArray[np.int8] = np.zeros((battles.num_envs, size), np.int8)
        self._pending: npt.NDArray[Any] | None = None
        space = battles.observations.space
        shown = {key: space[key] for key in self._keys}
        super().__init__(
            battles.num_envs,
            shown[self._keys[0]] if len(shown) == 1 else Dict(shown),
            Discrete(size),
        )

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """What each agent may do now: [agents, actions]."""
        if self._actions.slots == 1:
            return self._masks.astype(np.bool_)
        joint = self._actions.joint_mask(self._masks)
        return np.reshape(joint, (self.num_envs, -1))

    def reset(self) -> VecEnvObs:
        observation, info = self.battles.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [info_of(info, row) for row in range(self.num_envs)]
        return self._show(observation)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        if self._actions.slots == 1:
            self._pending = actions
        else:
            self._pending = np.stack(np.divmod(actions, self._actions.size), axis=1)

    def step_wait(self) -> VecEnvStepReturn:
        assert self._pending is not None
        observation, reward, terminated, truncated, info = self.battles.step(self._pending)
        self._pending = None
        infos = [info_of(info, row) for row in range(self.num_envs)]
        done = terminated | truncated
        for row in np.flatnonzero(done).tolist():
            last = last_observation_of(info, row)
            infos[row]["terminal_observation"] = self._select(last)
            infos[row]["TimeLimit.truncated"] = bool(truncated[row])
        return self._show(observation), reward, done, infos

    def close(self) -> None:
        """Ends every process."""
        self.battles.close()

    # What Stable-Baselines3 asks of each environment

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        owner = self if attr_name == "action_masks" else self.battles
        return [getattr(owner, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        raise AttributeError(f"battles share what they are: {attr_name} cannot be set for some")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"battles have no method {method_name}, only action_masks")
        return list(self.action_masks()[list(self._get_indices(indices))])

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    # Inside

    def _show(self, observation: Observation) -> VecEnvObs:
        self._masks = observation["action_mask"]
        return self._select(observation)

    def _select(self, observation: Observation) -> VecEnvObs:
        if len(self._keys) == 1:
            return observation[self._keys[0]]
        return {key: observation[key] for key in self._keys}
