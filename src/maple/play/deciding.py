"""What a network does in one battle: from what it observes to a choice. Knows no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bridge.sampling import derive_keys
from maple.env import Observations, Preview

if TYPE_CHECKING:
    from maple.agents import Network

__all__ = ["Decider"]

_ONLY = np.zeros(1, np.int64)


class Decider:
    """Decides in one battle, and remembers what its network does.

    Args:
        network: Who decides.
        observations: What it observes.
        key: What its actions are drawn by, another one for each battle.
        greedy: Whether the likeliest action is taken, rather than one drawn.
    """

    def __init__(
        self, network: Network, observations: Observations, *, key: int, greedy: bool
    ) -> None:
        # Late: it brings torch.
        from maple.agents import Actor

        self._actor = Actor(network, observations.actions, 1, greedy=greedy)
        self._observations = observations
        self._keys = np.array([key], np.uint64)
        self.decisions = 0

    def __repr__(self) -> str:
        return f"<Decider: {self.decisions} decisions, {self._actor!r}>"

    def choose(self, observation: bytes) -> str:
        """The choice for a request, as the simulator reads it."""
        actions = self._observations.actions
        if not actions.is_preview(observation):
            return actions.choice(observation, self._decide(observation))
        preview = Preview(actions, observation)
        choice = None
        while choice is None:
            choice = preview.pick(self._decide(observation))
            if choice is None:
                observation = actions.with_mask(observation, preview.mask())
        return choice

    def _decide(self, observation: bytes) -> int | list[int]:
        expanded = self._observations.expand(self._observations.stack([observation]))
        decided = self._actor.decide(
            _ONLY,
            expanded["features"],
            expanded["ids"],
            expanded["action_mask"],
            derive_keys(self._keys, self.decisions),
            np.array([self.decisions == 0]),
        )
        self.decisions += 1
        action: int | list[int] = decided.actions[0].tolist()
        return action
