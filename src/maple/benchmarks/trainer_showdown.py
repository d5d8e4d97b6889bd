"""What the trainer replaces: PPO on poke-env's SingleAgentWrapper on a Showdown server, batch 1.

A worker, as those of `bridge.benchmarks.workers`: it reads an order per line and answers with a
line of Samples. `python -m maple.benchmarks.trainer_showdown SETTINGS` trains on the server that
the settings name (`{"url": …, "server_pid": …, "config": …}`).

The network is that of the trainer, layer by layer, and so is the learner, with its settings: only
where decisions come from is different. poke-env's users write their own embeddings, so the network
reads the one of `embedding` in its first columns, and zeros in the others, which costs as much. The
opponent is a RandomPlayer, the one that takes least time.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import torch
from poke_env import ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.environment import SingleAgentWrapper
from poke_env.player import RandomPlayer

from bridge.benchmarks.poke_env_players import Venue
from bridge.benchmarks.sample import Sample
from maple.agents import make_network
from maple.env import Observations
from maple.train.config import TrainConfig, read_train_config
from maple.train.ppo import Learner
from maple.train.rewards import load_reward_schedules
from maple.train.rollout import Rollout, RolloutShape
from maple.train.schedules import make_rate, make_value
from maple.train.stage import derive_seed
from maple.train.threads import physical_cores

from . import embedding
from .singles_env import EmbeddingEnv, Observation

__all__ = ["Trainee", "main"]

_GAME, _GENERATION = "singles", 9
_AGENT = np.zeros(1, np.int64)

Row: TypeAlias = npt.NDArray[np.uint8]


class EmbeddedObservations(Observations):
    """An embedding and a mask a row, for a network that is made for our own observations."""

    def __init__(self, groups: Sequence[str] | None) -> None:
        super().__init__(_GAME, _GENERATION, groups)
        self.bytes = 4 * embedding.SIZE + self.actions.size

    def pack(self, observation: Observation) -> Row:
        """What a wrapper returns, as the only row of a batch."""
        parts = (observation["observation"], observation["action_mask"].astype(np.int8))
        return np.concatenate([part.view(np.uint8) for part in parts])[np.newaxis]

    def expand(self, raw: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[Any]]:
        features = np.zeros((len(raw), self.feature_count), np.float32)
        features[:, : embedding.SIZE] = raw[:, : 4 * embedding.SIZE].view(np.float32)
        ids = np.zeros((len(raw), self.id_count), np.int32)
        mask = raw[:, 4 * embedding.SIZE :].view(np.int8)
        return {"features": features, "ids": ids, "action_mask": mask}


class RewardedEnv(EmbeddingEnv):
    """With the reward of a run, as far as poke-env counts its parts."""

    def __init__(
        self, server: ServerConfiguration, battle_format: str, weights: dict[str, float]
    ) -> None:
        super().__init__(server, battle_format)
        self._weights = weights

    def calc_reward(self, battle: AbstractBattle) -> float:
        return self.reward_computing_helper(
            battle,
            fainted_value=self._weights.get("knock_out", 0.0),
            hp_value=self._weights.get("hp", 0.0),
            status_value=self._weights.get("status", 0.0),
            victory_value=self._weights.get("win", 0.0),
        )


class Decided(NamedTuple):
    """What was decided, and what is remembered of it."""

    action: int
    chance: float
    value: float
    memory: torch.Tensor


class Trainee:
    """An agent that plays a RandomPlayer, a decision at a time, and learns from a batch of them."""

    def __init__(self, venue: Venue, config: TrainConfig) -> None:
        self._venue = venue
        self._config = config
        self.observations = EmbeddedObservations(config.observation)
        rewards = load_reward_schedules(config.reward).at(0.0)
        self._env = RewardedEnv(venue.server, config.format, rewards)
        opponent = RandomPlayer(
            battle_format=config.format, log_level=logging.ERROR, start_listening=False
        )
        self._wrapped = SingleAgentWrapper(self._env, opponent)
        self.network = make_network(
            config.network, self.observations, seed=derive_seed(config.seed, "weights")
        )
        self._learner = Learner(
            self.network,
            self.observations,
            config.learning,
            config.ppo if config.algorithm == "ppo" else None,
            seed=derive_seed(config.seed, "minibatches"),
        )
        self._observation: Row | None = None
        """What is to be decided for; None between two battles."""
        self._memory = torch.zeros(1, self.network.memory)

    def train(self, decisions: int) -> Sample:
        """Collects so many decisions, and learns from them."""
        meter = self._venue.meter()
        # A row at a time is computed fastest by one thread, and minibatches by all of them.
        torch.set_num_threads(1)
        rollout, battles, turns, resetting = self.collect(decisions)
        torch.set_num_threads(physical_cores())
        learning = self._config.learning
        self._learner.update(
            [rollout],
            stale=False,
            rate=make_rate(learning.rate).at(0.0),
            entropy_weight=make_value(learning.entropy_weight).at(0.0),
        )
        return replace(meter.sample(battles, decisions, turns), reset_wall=resetting)

    def collect(self, decisions: int) -> tuple[Rollout, int, int, float]:
        """Plays; the battles that ended and their turns, and what time resets took."""
        shape = RolloutShape(decisions + 1, self.observations.bytes, 1, self.network.memory, 1)
        rollout = Rollout(shape)
        battles, turns, resetting = 0, 0, 0.0
        for _ in range(decisions):
            if self._observation is None:
                began = time.perf_counter()
                observation, _ = self._wrapped.reset()
                self._observation = self.observations.pack(observation)
                self._memory = torch.zeros_like(self._memory)
                resetting += time.perf_counter() - began
            decided = self._decide(self._observation)
            row = self._note(rollout, self._observation, decided)
            self._memory = decided.memory
            reward, is_over = self._play(decided.action)
            rollout.hear(row, np.array([reward], np.float32), np.array([is_over]))
            if is_over:
                assert self._env.battle1 is not None
                battles, turns = battles + 1, turns + self._env.battle1.turn
        if self._observation is not None:
            # What the last decision has led to.
            self._note(rollout, self._observation, self._decide(self._observation))
        return rollout, battles, turns, resetting

    @torch.inference_mode()
    def _decide(self, observation: Row) -> Decided:
        seen = self.observations.expand(observation)
        logits, value, memory = self.network.step(
            torch.from_numpy(seen["features"]), torch.from_numpy(seen["ids"]), self._memory
        )
        mask = torch.from_numpy(seen["action_mask"]) == 0
        chances = logits.masked_fill(mask, torch.finfo(logits.dtype).min).log_softmax(dim=1)
        action = int(torch.multinomial(chances.exp(), 1).item())
        return Decided(action, chances[0, action].item(), value.item(), memory)

    def _note(self, rollout: Rollout, observation: Row, decided: Decided) -> npt.NDArray[np.int64]:
        return rollout.add(
            _AGENT,
            observation,
            actions=np.array([decided.action]),
            chances=np.array([decided.chance], np.float32),
            values=np.array([decided.value], np.float32),
            memory=self._memory.numpy(),
        )

    def _play(self, action: int) -> tuple[float, bool]:
        """Goes on until the agent is asked again; what it was given, and whether it is over."""
        total, chosen = 0.0, np.int64(action)
        while True:
            observation, reward, ended, cut, _ = self._wrapped.step(chosen)
            total += reward
            if ended or cut:
                self._observation = None
                return total, True
            if self._env.agent1_to_move:
                self._observation = self.observations.pack(cast("Observation", observation))
                return total, False
            # While only the opponent is asked, the wrapper steps too, and takes any action.
            chosen = np.int64(0)


def main() -> None:
    settings = json.loads(sys.argv[1])
    trainee = Trainee(Venue(settings), read_train_config(settings["config"]))
    print("ready", flush=True)
    for line in sys.stdin:
        sample = trainee.train(json.loads(line)["decisions"])
        print(json.dumps([asdict(sample)]), flush=True)
    # Without poke-env's exit hook: it waits for connections that a frozen server never closes.
    os._exit(0)


if __name__ == "__main__":
    main()
