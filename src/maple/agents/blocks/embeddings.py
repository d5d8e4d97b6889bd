"""Learned numbers for ids: one table for each kind, whoever has the id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from torch import Tensor, nn

__all__ = ["Embeddings"]

Part = TypeVar("Part")

# Small beside the features at first, so that what is known counts before what is learned.
_DEVIATION = 0.1


class Embeddings(nn.Module):
    """Numbers for ids.

    Args:
        sizes: How many numbers each id has, by kind.
        counts: How many ids there are, by kind; a kind that is not among them has no table.
    """

    def __init__(self, sizes: Mapping[str, int], counts: Mapping[str, int]) -> None:
        super().__init__()
        self.sizes = {kind: size for kind, size in sizes.items() if kind in counts}
        self.tables = nn.ModuleList(
            nn.Embedding(counts[kind], size) for kind, size in self.sizes.items()
        )
        for weights in self.tables.parameters():
            nn.init.normal_(weights, std=_DEVIATION)

    @property
    def kinds(self) -> list[str]:
        """The kinds that have a table."""
        return list(self.sizes)

    def choose(self, parts: Mapping[str, Part]) -> dict[str, Part]:
        """Those parts whose kinds have a table."""
        return {kind: part for kind, part in parts.items() if kind in self.sizes}

    def width(self, ids: Mapping[str, int]) -> int:
        """How many numbers come of so many ids of each kind."""
        return sum(count * self.sizes[kind] for kind, count in ids.items())

    def forward(self, ids: Mapping[str, Tensor]) -> list[Tensor]:
        """Ids by kind, […] → […, numbers]; all of these kinds have a table."""
        tables = dict(zip(self.sizes, self.tables, strict=True))
        return [tables[kind](some) for kind, some in ids.items()]
