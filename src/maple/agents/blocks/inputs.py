"""What a network of plain layers reads: all features, who stands on the field, what ids mean."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from maple.env import Observations

from ..columns import divide_columns
from ..config import NetworkConfig
from .embeddings import Embeddings
from .standing import Focus

__all__ = ["Inputs"]


class Inputs(nn.Module):
    """Features and ids → one row of numbers, `width` of them."""

    def __init__(self, config: NetworkConfig, observations: Observations) -> None:
        super().__init__()
        kinds = observations.id_kinds()
        counts = dict(zip(kinds, observations.id_sizes(), strict=True))
        self.embeddings = Embeddings(config.embeddings, counts)
        for kind in self.embeddings.kinds:
            at = torch.tensor([at for at, its in enumerate(kinds) if its == kind])
            self.register_buffer(f"ids_{kind}", at, persistent=False)
        columns = divide_columns(observations)
        focuses = [
            Focus(team, team.places, self.embeddings.kinds)
            for team in (columns.own, columns.opponent)
            if config.focus and team.places is not None
        ]
        self.focuses = nn.ModuleList(focuses)
        self.width = (
            observations.feature_count
            + self.embeddings.width({kind: kinds.count(kind) for kind in self.embeddings.kinds})
            + sum(focus.width + self.embeddings.width(focus.id_widths) for focus in focuses)
        )

    def forward(self, features: Tensor, ids: Tensor) -> Tensor:
        parts = [features]
        kinds = self.embeddings.kinds
        ids_of = {kind: [ids.index_select(1, self.get_buffer(f"ids_{kind}"))] for kind in kinds}
        for focus in self.focuses:
            seen, seen_ids = focus(features, ids)
            parts.append(seen)
            for kind, its in seen_ids.items():
                ids_of[kind].append(its)
        embedded = self.embeddings([torch.cat(its, 1) for its in ids_of.values()])
        return torch.cat((*parts, *(numbers.flatten(1) for numbers in embedded)), 1)
