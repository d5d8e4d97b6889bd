"""What every network is to whoever decides or learns with it; how they work inside is elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from maple.env import Observations

    from .config import NetworkConfig

__all__ = ["MemorylessNetwork", "Network", "make_network"]


class Network(nn.Module):
    """Logits of actions and values, from what agents observe and from what they remember.

    Logits are [rows, actions], in doubles [rows, 2, actions]; they know no masks. What comes out
    for a row does not depend on the other rows of its batch.
    """

    config: NetworkConfig
    memory: int = 0
    """How many numbers an agent carries from one decision to the next; all are 0 at first."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of decisions by themselves, with nothing remembered."""
        logits, values, _ = self.step(features, ids, features.new_zeros(len(features), self.memory))
        return logits, values

    def step(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One decision of each agent: logits, values, and what it remembers from now on.

        Features [rows, features], ids [rows, ids], and memory [rows, memory].
        """
        raise NotImplementedError

    def unroll(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of sequences of decisions, [length, agents, …].

        Memory [agents, memory] is that before the first of them; nothing is forgotten in between.
        """
        raise NotImplementedError


class MemorylessNetwork(Network):
    """A network that remembers nothing, and only has to say what it makes of decisions."""

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def step(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return *self(features, ids), memory

    def unroll(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        shape = features.shape[:2]
        logits, values = self(features.flatten(0, 1), ids.flatten(0, 1))
        return logits.unflatten(0, shape), values.unflatten(0, shape)


def make_network(config: NetworkConfig, observations: Observations, *, seed: int) -> Network:
    """A network with the weights of a seed; the random numbers of others stay as they are."""
    from .attention import AttentionNetwork
    from .lstm import LSTMNetwork
    from .mlp import MLPNetwork

    kinds = {"mlp": MLPNetwork, "lstm": LSTMNetwork, "attention": AttentionNetwork}
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return kinds[config.kind](config, observations)
