"""Attention: things that look at each other, all of them at once."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .layers import linear

__all__ = ["AttentionLayer"]


class AttentionLayer(nn.Module):
    """Each thing looks at all, then thinks about it; what comes of it is added to what it was.

    [rows, things, width] → the same.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.before_looking = nn.LayerNorm(width)
        self.look = linear(width, 3 * width, 1.0)
        # What is added by each half of a layer is small at first.
        self.note = linear(width, width, 0.5)
        self.before_thinking = nn.LayerNorm(width)
        self.think = nn.Sequential(
            linear(width, 2 * width, math.sqrt(2)), nn.ReLU(), linear(2 * width, width, 0.5)
        )

    def forward(self, things: Tensor) -> Tensor:
        things = things + self._look(self.before_looking(things))
        thought: Tensor = self.think(self.before_thinking(things))
        return things + thought

    def _look(self, things: Tensor) -> Tensor:
        each = self.look(things).unflatten(-1, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(*each)
        noted: Tensor = self.note(seen.transpose(1, 2).flatten(-2))
        return noted
