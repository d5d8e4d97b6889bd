"""The network of kind lstm: hidden layers, then a memory of the decisions before."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maple.env import Observations

from .blocks.heads import Heads
from .blocks.inputs import Inputs
from .blocks.layers import hidden_layers
from .config import NetworkConfig
from .network import Network

__all__ = ["LSTMNetwork"]


class LSTMNetwork(Network):
    """Inputs → hidden layers → memory → logits and a value.

    The heads read the hidden layers too, so that nothing has to pass through the memory. What an
    agent carries on is the output of the memory, and its cell.
    """

    def __init__(self, config: NetworkConfig, observations: Observations) -> None:
        super().__init__(config)
        size, width = config.size("memory"), config.widths[-1]
        self.memory = 2 * size
        self.inputs = Inputs(config, observations)
        self.trunk = hidden_layers(self.inputs.width, config.widths)
        self.lstm = _lstm(width, size)
        self.heads = Heads(width + size, config, observations, self.inputs.embeddings)

    def step(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        inner, memory = self._remember(self.trunk(self.inputs(features, ids))[None], memory)
        logits, values = self.heads(inner[0], features, ids, self.inputs.embeddings)
        return logits, values, memory

    def unroll(self, features: Tensor, ids: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        shape = features.shape[:2]
        features, ids = features.flatten(0, 1), ids.flatten(0, 1)
        inner = self.trunk(self.inputs(features, ids))
        inner, _ = self._remember(inner.unflatten(0, shape), memory)
        logits, values = self.heads(inner.flatten(0, 1), features, ids, self.inputs.embeddings)
        return logits.unflatten(0, shape), values.unflatten(0, shape)

    def _remember(self, inner: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What the heads read [length, rows, …], and what is remembered after it."""
        before = memory[None].chunk(2, dim=-1)
        found, after = self.lstm(inner, tuple(part.contiguous() for part in before))
        return torch.cat((inner, found), dim=-1), torch.cat(after, dim=-1)[0]


def _lstm(inputs: int, size: int) -> nn.LSTM:
    """One that keeps what it remembers at first, rather than forget half of it each time."""
    lstm = nn.LSTM(inputs, size)
    with torch.no_grad():
        for name, weights in lstm.named_parameters():
            if name.startswith("bias"):
                weights.zero_()
                continue
            for gate in weights.chunk(4):
                nn.init.orthogonal_(gate)
        # The gates are input, forget, cell and output; the first of two biases is enough.
        biases = dict(lstm.named_parameters())["bias_ih_l0"]
        biases[size : 2 * size] = 1
    return lstm
