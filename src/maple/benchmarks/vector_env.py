"""The vector environment as the benchmark runs it: a policy of the usual size decides in batches.

A worker, as those of `bridge.benchmarks.workers`: it reads an order per line and answers with a
line of Samples. `python -m maple.benchmarks.vector_env SETTINGS` plays in an environment of its
own, for so many seconds or so many battles.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psutil

from bridge import BridgeConfig
from bridge.benchmarks.sample import Sample
from bridge.benchmarks.workers import Meter
from bridge.sampling import Sampler, derive_keys
from maple.env import VectorEnv

from .network import policy_network, use_one_thread

__all__ = ["Play", "PlaySettings", "main"]

_SEED = 7
# Seconds for which nobody may look after the pool, while other rows are measured.
_STOPPED = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaySettings:
    """What is played. `batches` is in how many parts the agents are divided, to be decided for."""

    format: str
    num_envs: int
    pool: int
    batches: int = 1
    opponent: str = "random"
    turbo: bool = True
    ahead: bool = True
    """Whether the next battle of an environment is open before it begins."""

    def environment(self) -> VectorEnv:
        agents = self.num_envs * (2 if self.opponent == "self" else 1)
        rooms = self.num_envs * (2 if self.ahead else 1)
        config = BridgeConfig(
            turbo=self.turbo,
            warmup_battles=0,
            response_timeout=_STOPPED,
            rooms_per_controller=-(-rooms // self.pool) + 8,
        )
        return VectorEnv(
            self.format,
            self.num_envs,
            max(1, agents // self.batches),
            opponent=self.opponent,
            seed=_SEED,
            pool=self.pool,
            bridge=config,
        )


class Play:
    """An environment that goes on from sample to sample, and the policy that decides in it."""

    def __init__(self, env: VectorEnv) -> None:
        self._env = env
        space: Any = env.single_observation_space
        self.inputs = int(space["features"].shape[0])
        self._policy = Sampler(policy_network(self.inputs, int(space["action_mask"].shape[-1])))
        self._keys = derive_keys(_SEED, np.arange(env.num_envs))
        self._steps = np.zeros(env.num_envs, np.int64)
        self._seats = env.num_envs // env.num_battles
        env.async_reset()

    def play(self, *, seconds: float = float("inf"), battles: float = float("inf")) -> Sample:
        """Decides until so much time has passed, or so many battles have ended."""
        meter = Meter(lambda: [child.pid for child in psutil.Process().children()])
        decisions, ended, turns = 0, 0, 0
        until = time.perf_counter() + seconds
        while ended < battles and time.perf_counter() < until:
            observation, _reward, terminated, _truncated, info = self._env.recv()
            agents = info["env_id"]
            keys = derive_keys(self._keys[agents], self._steps[agents])
            actions, _chances = self._policy(
                observation["features"], observation["action_mask"], keys
            )
            self._env.send(actions, agents)
            self._steps[agents] += 1
            decisions += len(agents)
            if terminated.any():
                # With an agent in both seats, both are told of an end.
                first = terminated & (agents % self._seats == 0)
                ended += int(first.sum())
                turns += int(info["turns"][first].sum())
        return meter.sample(ended, decisions, turns)


def main() -> None:
    settings = PlaySettings(**json.loads(sys.argv[1]))
    use_one_thread()
    with settings.environment() as env:
        play = Play(env)
        print("ready", flush=True)
        for line in sys.stdin:
            sample = play.play(**json.loads(line))
            print(json.dumps([asdict(sample)]), flush=True)


if __name__ == "__main__":
    main()
