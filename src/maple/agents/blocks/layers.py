"""Layers of neurons with the weights that they begin with, and the heads that decide and value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

__all__ = ["Heads", "hidden_layers", "linear"]

# What keeps the size of what comes out of a layer with ReLU like that of what goes in.
_GAIN = math.sqrt(2)


class Heads(nn.Module):
    """Logits of actions, [rows, actions] or in doubles [rows, 2, actions], and values [rows]."""

    def __init__(self, inputs: int, slots: int, actions: int) -> None:
        super().__init__()
        self._shape = (actions,) if slots == 1 else (slots, actions)
        # All actions are about as likely at first.
        self.policy = linear(inputs, slots * actions, 0.01)
        self.value = linear(inputs, 1, 1.0)

    def forward(self, inner: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.policy(inner)
        return logits.reshape(len(inner), *self._shape), self.value(inner).squeeze(-1)


def hidden_layers(inputs: int, widths: Sequence[int]) -> nn.Sequential:
    """Layers one after another."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += linear(inputs, width, _GAIN), nn.ReLU()
        inputs = width
    return nn.Sequential(*layers)


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A layer whose weights are orthogonal, times a gain."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
