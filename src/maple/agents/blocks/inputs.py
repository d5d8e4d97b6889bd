"""What a network of plain layers reads: all features, and what the ids mean to it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maple.env import Observations

from ..config import NetworkConfig
from .embeddings import Embeddings

__all__ = ["Inputs"]


class Inputs(nn.Module):
    """Features and ids → one row of numbers, `width` of them."""

    def __init__(self, config: NetworkConfig, observations: Observations) -> None:
        super().__init__()
        kinds = observations.id_kinds()
        sizes = zip(kinds, observations.id_sizes(), strict=True)
        self.embeddings = Embeddings(config.embeddings, dict(sizes))
        for kind in self.embeddings.kinds:
            columns = torch.tensor([at for at, its in enumerate(kinds) if its == kind])
            self.register_buffer(f"ids_{kind}", columns, persistent=False)
        embedded = {kind: kinds.count(kind) for kind in self.embeddings.kinds}
        self.width = observations.feature_count + self.embeddings.width(embedded)

    def forward(self, features: Tensor, ids: Tensor) -> Tensor:
        kinds = self.embeddings.kinds
        if not kinds:
            return features
        by_kind = {kind: ids.index_select(1, self.get_buffer(f"ids_{kind}")) for kind in kinds}
        embedded = [numbers.flatten(1) for numbers in self.embeddings(by_kind)]
        return torch.cat((features, *embedded), 1)
