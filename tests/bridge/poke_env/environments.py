"""Environments of poke-env that are as small as can be, and how tests step through them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from poke_env.battle import AbstractBattle
from poke_env.environment import DoublesEnv, PokeEnv, SinglesEnv
from poke_env.player import Player

__all__ = ["Doubles", "Singles", "actions", "dismantle", "play"]


class Singles(SinglesEnv):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.observation_spaces = {agent: Box(0, 1) for agent in self.possible_agents}

    def embed_battle(self, battle: AbstractBattle) -> Any:  # noqa: ANN401 - as poke-env has it
        return np.array([battle.turn / 1000], dtype=np.float32)

    def calc_reward(self, battle: AbstractBattle) -> float:
        return self.reward_computing_helper(battle)


class Doubles(DoublesEnv):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.observation_spaces = {agent: Box(0, 1) for agent in self.possible_agents}

    def embed_battle(self, battle: AbstractBattle) -> Any:  # noqa: ANN401 - as poke-env has it
        return np.array([battle.turn / 1000], dtype=np.float32)

    def calc_reward(self, battle: AbstractBattle) -> float:
        return self.reward_computing_helper(battle)


def actions(env: PokeEnv[Any]) -> dict[str, Any]:
    """Something that both agents may do."""
    battles = dict(zip(env.agents, (env.battle1, env.battle2), strict=True))
    return {
        agent: env.order_to_action(Player.choose_random_move(battle), battle, strict=False)
        for agent, battle in battles.items()
        if battle is not None
    }


def play(env: PokeEnv[Any], steps: int | None = None) -> dict[str, float]:
    """Plays to the end, or some steps; returns what each agent has earned."""
    earned = dict.fromkeys(env.agents, 0.0)
    while env.agents and steps != 0:
        _, rewards, terminated, truncated, _ = env.step(actions(env))
        for agent, reward in rewards.items():
            earned[agent] += reward
        if not env.agents:
            assert all(terminated[agent] or truncated[agent] for agent in earned)
        steps = None if steps is None else steps - 1
    return earned


def dismantle(env: PokeEnv[Any]) -> None:
    """Ends what an environment leaves to the end of the program: its agents, thread and loop."""
    loop = env._loop
    for agent in (env.agent1, env.agent2):
        leaving = agent.ps_client._stop_listening()  # type: ignore[no-untyped-call]
        asyncio.run_coroutine_threadsafe(leaving, loop).result(timeout=10)
    loop.call_soon_threadsafe(loop.stop)
    while loop.is_running():
        time.sleep(0.001)
    loop.close()
