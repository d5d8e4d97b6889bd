"""The network of kind mlp: hidden layers one after another, shared by policy and value."""

from __future__ import annotations

from torch import Tensor

from maple.env import Observations

from .blocks.heads import Heads
from .blocks.inputs import Inputs
from .blocks.layers import hidden_layers
from .config import NetworkConfig
from .network import MemorylessNetwork

__all__ = ["MLPNetwork"]


class MLPNetwork(MemorylessNetwork):
    """Inputs → hidden layers → logits and a value."""

    def __init__(self, config: NetworkConfig, observations: Observations) -> None:
        super().__init__(config)
        self.inputs = Inputs(config, observations)
        self.trunk = hidden_layers(self.inputs.width, config.widths)
        self.heads = Heads(config.widths[-1], config, observations, self.inputs.embeddings)

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        inner = self.trunk(self.inputs(features, ids))
        logits, values = self.heads(inner, features, ids, self.inputs.embeddings)
        return logits, values
