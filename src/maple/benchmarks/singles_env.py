"""The baseline of training: poke-env's SinglesEnv on a Showdown server, a network at batch 1.

A worker, as those of `bridge.benchmarks.workers`: it reads an order per line and answers with a
line of Samples. `python -m maple.benchmarks.singles_env WHERE` plays on the server that WHERE
names (`{"url": …, "server_pid": …, "format": …}`).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.spaces import Box
from poke_env import ServerConfiguration
from poke_env.battle import AbstractBattle, Battle
from poke_env.environment import SingleAgentWrapper, SinglesEnv
from poke_env.player import RandomPlayer

from bridge.benchmarks.poke_env_players import Venue
from bridge.benchmarks.sample import Sample

from . import embedding
from .network import policy_network, use_one_thread

__all__ = ["EmbeddingEnv", "Training", "main"]

Observation = dict[str, npt.NDArray[Any]]


class EmbeddingEnv(SinglesEnv):
    """An environment as poke-env's users write it: an embedding, and a reward for fainting."""

    def __init__(self, server: ServerConfiguration, battle_format: str) -> None:
        super().__init__(
            server_configuration=server,
            battle_format=battle_format,
            log_level=logging.ERROR,
            strict=False,
        )
        space = Box(-1.0, 2.0, (embedding.SIZE,), np.float32)
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)

    def embed_battle(self, battle: AbstractBattle) -> npt.NDArray[np.float32]:
        return embedding.embed(cast("Battle", battle))

    def calc_reward(self, battle: AbstractBattle) -> float:
        return self.reward_computing_helper(battle, fainted_value=1.0, victory_value=15.0)


class Training:
    """An agent that plays a RandomPlayer, a decision at a time."""

    def __init__(self, venue: Venue, battle_format: str) -> None:
        self._venue = venue
        self._env = EmbeddingEnv(venue.server, battle_format)
        opponent = RandomPlayer(
            battle_format=battle_format, log_level=logging.ERROR, start_listening=False
        )
        self._wrapped = SingleAgentWrapper(self._env, opponent)
        actions = self._wrapped.action_space
        self._network = policy_network(embedding.SIZE, int(actions.n))  # type: ignore[attr-defined]

    def play(self, battles: int) -> Sample:
        """Plays so many battles; a decision is a step in which the agent had a choice to make."""
        meter = self._venue.meter()
        decisions, turns, resetting = 0, 0, 0.0
        for _ in range(battles):
            started = time.perf_counter()
            observation, _info = self._wrapped.reset()
            resetting += time.perf_counter() - started
            is_over = False
            while not is_over:
                # While only the opponent is asked, the wrapper steps too, and takes any action.
                if self._env.agent1_to_move:
                    decisions += 1
                    action = self._choose(observation)
                else:
                    action = np.int64(0)
                observation, _reward, ended, cut, _info = self._wrapped.step(action)
                is_over = ended or cut
            assert self._env.battle1 is not None
            turns += self._env.battle1.turn
        return replace(meter.sample(battles, decisions, turns), reset_wall=resetting)

    @torch.inference_mode()
    def _choose(self, observation: Observation) -> np.int64:
        features = torch.from_numpy(observation["observation"])[None]
        mask = torch.from_numpy(observation["action_mask"])[None]
        logits = self._network(features).masked_fill(mask == 0, -torch.inf)
        return np.int64(torch.multinomial(torch.softmax(logits, dim=1), 1).item())


def main() -> None:
    where = json.loads(sys.argv[1])
    use_one_thread()
    training = Training(Venue(where), where["format"])
    print("ready", flush=True)
    for line in sys.stdin:
        sample = training.play(json.loads(line)["battles"])
        print(json.dumps([asdict(sample)]), flush=True)
    # Without poke-env's exit hook: it waits for connections that a frozen server never closes.
    os._exit(0)


if __name__ == "__main__":
    main()
