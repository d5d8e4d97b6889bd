"""Finds who stands where on the field, in a batch of observations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..columns import Entities, Places

__all__ = ["Focus", "Standing"]


class Standing(nn.Module):
    """Which Pokémon of a team stands in each place on the field."""

    columns: Tensor
    values: Tensor

    def __init__(self, places: Places) -> None:
        super().__init__()
        self.count = len(places.values)
        self.register_buffer("columns", torch.from_numpy(places.columns), persistent=False)
        values = torch.tensor(places.values)[:, None]
        self.register_buffer("values", values, persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """True where a Pokémon stands in a place: [rows, places, Pokémon]."""
        return features[:, self.columns][:, None] == self.values


class Focus(nn.Module):
    """What is observed of those Pokémon of a team that stand on the field, place by place.

    Where nobody stands all is 0.
    """

    features: Tensor

    def __init__(self, team: Entities, places: Places, kinds: list[str]) -> None:
        super().__init__()
        self.standing = Standing(places)
        self.kinds = [kind for kind in kinds if kind in team.ids and team.ids[kind].size]
        self.width = self.standing.count * team.features.shape[1]
        self.id_widths = {
            kind: self.standing.count * team.ids[kind].shape[1] for kind in self.kinds
        }
        self.register_buffer("features", torch.from_numpy(team.features), persistent=False)
        for kind in self.kinds:
            self.register_buffer(f"ids_{kind}", torch.from_numpy(team.ids[kind]), persistent=False)

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Features [rows, width], and ids of each kind."""
        stands = self.standing(features)
        # Whoever it is if anybody is there, else somebody of whom nothing is shown.
        who, is_there = stands.byte().argmax(-1), stands.any(-1, keepdim=True)

        def look(table: Tensor, values: Tensor) -> Tensor:
            columns = table[who]
            found = values.gather(1, columns.flatten(1)).reshape(columns.shape)
            shown: Tensor = found * is_there
            return shown.flatten(1)

        return look(self.features, features), {
            kind: look(self.get_buffer(f"ids_{kind}"), ids) for kind in self.kinds
        }
