"""One battle at a time as a parallel environment of PettingZoo, with an agent in each seat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from bridge.errors import ConfigError

from .actions import Action
from .row import Observation, beginning_of, info_of, last_observation_of, observation_of
from .vector import VectorEnv

__all__ = ["BattleParallelEnv"]

SEATS = ("p1", "p2")


class BattleParallelEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """Battles between two agents, "p1" and "p2", one after the other.

    Both act in every step. One that has to wait while the other is asked has `info["waiting"]`, can
    do nothing but action 0, and what it does is not looked at. Settings are those of VectorEnv.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "maple_battle_v0", "render_modes": []}

    def __init__(self, format: str = "gen9randombattle", **settings: Any) -> None:
        if settings.get("opponent", "self") != "self":
            raise ConfigError(
                "both seats have an agent here; against an opponent there is "
                "maple.env.gymnasium.BattleEnv"
            )
        self.battles = VectorEnv(format, 1, **{**settings, "opponent": "self"})
        self.possible_agents = list(SEATS)
        self.agents: list[str] = []
        self.render_mode = None
        self._upcoming: tuple[Observation, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"<BattleParallelEnv {self.battles.format}>"

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.battles.single_observation_space

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.battles.single_action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begins the next battle; with a seed, the first of that seed.

        There are no options; whatever is given is not looked at, for PettingZoo's own test gives
        some.
        """
        # Where a battle ended the next one has begun already.
        begun, self._upcoming = self._upcoming, None
        if begun is None or seed is not None:
            begun = self.battles.reset(seed=seed)
        observation, info = begun
        self.agents = list(SEATS)
        return (
            {agent: observation_of(observation, row) for row, agent in enumerate(SEATS)},
            {agent: info_of(info, row) for row, agent in enumerate(SEATS)},
        )

    def step(
        self, actions: Mapping[str, Action]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Takes an action of each, and waits for the next decision, or the end of the battle."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded("the battle is over: reset begins the next one")
        taken = np.array([actions[agent] for agent in SEATS])
        observation, reward, terminated, truncated, info = self.battles.step(taken)
        is_over = bool(terminated[0] or truncated[0])
        if is_over:
            self.agents = []
            self._upcoming = observation, beginning_of(info)
        rows = list(enumerate(SEATS))
        return (
            {
                agent: last_observation_of(info, row)
                if is_over
                else observation_of(observation, row)
                for row, agent in rows
            },
            {agent: float(reward[row]) for row, agent in rows},
            {agent: bool(terminated[row]) for row, agent in rows},
            {agent: bool(truncated[row]) for row, agent in rows},
            {agent: info_of(info, row) for row, agent in rows},
        )

    def close(self) -> None:
        """Ends every process."""
        self.battles.close()
