"""A game that needs no simulator: what was shown first must be remembered until the end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bridge.sampling import derive_keys
from maple.agents import Actor, Network, NetworkConfig, make_network
from maple.env import Observations
from maple.train.rollout import Rollout, RolloutShape
from tests.maple.env.rows import write

OBSERVATIONS = Observations("singles", 9, ["decision"])
FIRST_MOVE = 6
CUES = 2
SHOWN = (0, 60)
"""The turn that an agent is told, by its cue."""
SILENT = 30


class Practice:
    """Agents are shown a cue in their first decision, and rewarded for their last, if it fits.

    The cue stands where the turn does. Three moves are legal in each decision: the two that may fit,
    and one that is drawn.
    """

    def __init__(self, agents: int, length: int, seed: int = 0) -> None:
        self.agents = agents
        self.length = length
        self.random = np.random.default_rng(seed)
        self.step = np.arange(agents) % length
        self.cue = self.random.integers(0, CUES, agents)
        self.begun = np.zeros(agents, np.int64)
        # So that not all end at once: those in the middle of a game have seen no cue.
        self.layout = OBSERVATIONS.spec.layout("singles")

    def rows(self) -> npt.NDArray[np.uint8]:
        raw = np.zeros((self.agents, OBSERVATIONS.bytes), np.uint8)
        asked = self.layout.block("decision", "asked")
        shown = np.where(self.step == 0, np.array(SHOWN)[self.cue], SILENT)
        write(raw, asked, 0, "turn", shown)
        masks = np.zeros((self.agents, OBSERVATIONS.actions.size), np.int8)
        masks[:, FIRST_MOVE : FIRST_MOVE + CUES] = 1
        drawn = FIRST_MOVE + CUES + self.random.integers(0, 2, self.agents)
        masks[np.arange(self.agents), drawn] = 1
        for row in range(self.agents):
            raw[row] = np.frombuffer(OBSERVATIONS.actions.with_mask(raw[row], masks[row]), np.uint8)
        return raw

    def act(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Rewards, and whose game is over; the next one begins at once."""
        is_last = self.step == self.length - 1
        fits = actions == FIRST_MOVE + self.cue
        rewards = np.where(is_last & fits, 1.0, 0.0).astype(np.float32)
        self.step = np.where(is_last, 0, self.step + 1)
        self.begun += is_last
        fresh = self.random.integers(0, CUES, self.agents)
        self.cue = np.where(is_last, fresh, self.cue)
        return rewards, is_last


class Collected:
    """Fills rollouts with practice, as a collector does with battles."""

    def __init__(self, network: Network, practice: Practice, rounds: int) -> None:
        self.practice = practice
        self.actor = Actor(network, OBSERVATIONS.actions, practice.agents)
        self.rounds = rounds
        self.shape = RolloutShape(
            (rounds + 2) * practice.agents,
            OBSERVATIONS.bytes,
            1,
            network.memory,
            practice.agents,
        )
        self.is_first = np.ones(practice.agents, np.bool_)
        self.decided = 0

    def fill(self, exploration: float = 0.0) -> tuple[Rollout, float]:
        """A rollout, and the share of games that ended well."""
        rollout = Rollout(self.shape)
        numbers = np.arange(self.practice.agents)
        won, over = 0.0, 0
        for _ in range(self.rounds):
            raw = self.practice.rows()
            seen = OBSERVATIONS.expand(raw)
            self.decided += 1
            decided = self.actor.decide(
                numbers,
                seen["features"],
                seen["ids"],
                seen["action_mask"],
                derive_keys(1, numbers, self.decided),
                self.is_first,
                exploration,
            )
            rows = rollout.add(
                numbers,
                raw,
                actions=decided.actions,
                chances=decided.chances,
                values=decided.values,
                memory=decided.memory,
            )
            rewards, is_last = self.practice.act(decided.actions)
            rollout.hear(rows, rewards, is_last)
            self.is_first = is_last
            won += float(rewards[self.practice.begun > 1].sum())
            over += int(is_last[self.practice.begun > 1].sum())
        # What follows the last decisions, of which nothing is known yet.
        raw = self.practice.rows()
        seen = OBSERVATIONS.expand(raw)
        rollout.add(
            numbers,
            raw,
            actions=np.zeros((len(numbers), 1), np.int64),
            chances=np.zeros(len(numbers)),
            values=self.actor.values(numbers, seen["features"], seen["ids"], self.is_first),
            memory=self.actor.remembered(numbers, self.is_first),
        )
        return rollout, won / max(1, over)


def network(kind: str = "mlp", seed: int = 3, **settings: object) -> Network:
    config = NetworkConfig(kind=kind, hidden=(32,), **settings)  # type: ignore[arg-type]
    return make_network(config, OBSERVATIONS, seed=seed)
