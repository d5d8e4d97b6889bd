"""Learned numbers for ids: one table for each kind, whoever has the id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

__all__ = ["Embeddings"]

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

    def width(self, ids: Mapping[str, int]) -> int:
        """How many numbers come of so many ids of each kind."""
        return sum(ids.get(kind, 0) * size for kind, size in self.sizes.items())

    def forward(self, ids: Sequence[Tensor]) -> list[Tensor]:
        """Ids of each kind that has a table, […] → […, numbers]."""
        return [table(some) for table, some in zip(self.tables, ids, strict=True)]
