"""Finds who stands where on the field, in a batch of observations."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..columns import Numbers, Places

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

    Args:
        places: Where it is said who stands where.
        features: The columns of features of each Pokémon, [Pokémon, …].
        ids: The columns of ids of each, by kind; kinds without any are left out.
    """

    columns: Tensor

    def __init__(self, places: Places, features: Numbers, ids: Mapping[str, Numbers]) -> None:
        super().__init__()
        self.standing = Standing(places)
        self._shape = (self.standing.count, *features.shape[1:])
        self._id_shapes = {
            kind: (self.standing.count, *columns.shape[1:])
            for kind, columns in ids.items()
            if columns.size
        }
        self.register_buffer("columns", torch.from_numpy(features), persistent=False)
        for kind in self._id_shapes:
            self.register_buffer(f"of_{kind}", torch.from_numpy(ids[kind]), persistent=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what features are shown: [places, …]."""
        return self._shape

    @property
    def id_shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what ids are shown, by kind."""
        return self._id_shapes

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Features [rows, places, …], and ids by kind."""
        stands = self.standing(features)
        # Whoever it is if anybody is there, else somebody of whom nothing is shown.
        who, is_there = stands.byte().argmax(-1), stands.any(-1)

        def look(table: Tensor, values: Tensor) -> Tensor:
            columns = table[who]
            found = values.gather(1, columns.flatten(1)).reshape(columns.shape)
            shown: Tensor = found * is_there.reshape(*is_there.shape, *[1] * (columns.ndim - 2))
            return shown

        return look(self.columns, features), {
            kind: look(self.get_buffer(f"of_{kind}"), ids) for kind in self._id_shapes
        }
