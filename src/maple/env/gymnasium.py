"""One battle at a time as an environment of Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from bridge.errors import ConfigError

from .actions import Action
from .mixture import Mixture
from .row import Observation, beginning_of, info_of, last_observation_of, observation_of
from .vector import VectorEnv

__all__ = ["BattleEnv"]


class BattleEnv(gymnasium.Env[Observation, Any]):
    """Battles against an opponent, one after the other.

    >>> env = BattleEnv("gen9randombattle", opponent="random")
    >>> observation, info = env.reset(seed=7)
    >>> action = env.action_space.sample(observation["action_mask"])
    >>> observation, reward, terminated, truncated, info = env.step(action)

    An action that the mask forbids raises IllegalAction and changes nothing. It is a VectorEnv of
    one, and takes the same settings; to learn quickly, use many at a time.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(self, format: str = "gen9randombattle", **settings: Any) -> None:
        opponent = settings.get("opponent")
        if isinstance(opponent, Mixture) or (isinstance(opponent, str) and opponent == "self"):
            raise ConfigError(
                "an environment of Gymnasium has one agent, and no mixture; for both seats there "
                "is maple.env.pettingzoo.BattleParallelEnv"
            )
        self.battles = VectorEnv(format, 1, **settings)
        self.observation_space = self.battles.single_observation_space
        self.action_space = self.battles.single_action_space
        self._upcoming: tuple[Observation, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"<BattleEnv {self.battles.format}>"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins the next battle; with a seed, the first of that seed."""
        if options:
            raise ValueError(f"a reset has no options, but was given {', '.join(options)}")
        super().reset(seed=seed)
        # Where a battle ended the next one has begun already.
        begun, self._upcoming = self._upcoming, None
        if begun is None or seed is not None:
            begun = self.battles.reset(seed=seed)
        observation, info = begun
        return observation_of(observation, 0), info_of(info, 0)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes an action and waits for the next decision, or the end of the battle."""
        if self._upcoming is not None:
            raise gymnasium.error.ResetNeeded("the battle is over: reset begins the next one")
        observation, reward, terminated, truncated, info = self.battles.step(np.array([action]))
        told = info_of(info, 0)
        seen = observation_of(observation, 0)
        if terminated[0] or truncated[0]:
            seen = last_observation_of(info, 0)
            self._upcoming = observation, beginning_of(info)
        return seen, float(reward[0]), bool(terminated[0]), bool(truncated[0]), told

    def close(self) -> None:
        """Ends every process."""
        self.battles.close()
