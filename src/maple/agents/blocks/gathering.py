"""Brings together the columns of each entity, which stand far from each other in an observation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

__all__ = ["Gathering"]


class Gathering(nn.Module):
    """Columns of several groups of entities, [entities, columns] each."""

    columns: Tensor

    def __init__(self, groups: Sequence[npt.NDArray[np.int64]]) -> None:
        super().__init__()
        self._shapes = [group.shape for group in groups]
        self._sizes = [group.size for group in groups]
        columns = np.concatenate([group.reshape(-1) for group in groups])
        self.register_buffer("columns", torch.from_numpy(columns), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """The columns of all entities, one after another: [rows, columns of all]."""
        return values.index_select(1, self.columns)

    def divide(self, gathered: Tensor) -> list[Tensor]:
        """What has been made of them, by group: [rows, entities, numbers].

        That is one number of each column, or several: [rows, columns of all, numbers].
        """
        each = gathered.shape[2] if gathered.ndim > 2 else 1
        parts = torch.split(gathered, self._sizes, dim=1)
        return [
            part.reshape(len(part), entities, columns * each)
            for part, (entities, columns) in zip(parts, self._shapes, strict=True)
        ]
