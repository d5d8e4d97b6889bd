"""Layers of neurons, with the weights that they begin with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import nn

__all__ = ["hidden_layers", "linear"]

# What keeps the size of what comes out of a layer with ReLU like that of what goes in.
_GAIN = math.sqrt(2)


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
