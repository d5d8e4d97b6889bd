"""The network of kind attention: the twelve Pokémon look at each other, and at the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from maple.env import Observations

from .blocks.attention import AttentionLayer
from .blocks.embeddings import Embeddings
from .blocks.gathering import Gathering
from .blocks.heads import Heads
from .blocks.layers import hidden_layers, linear
from .blocks.standing import Standing
from .columns import Entities, divide_columns
from .config import NetworkConfig
from .network import MemorylessNetwork

__all__ = ["AttentionNetwork"]


class AttentionNetwork(MemorylessNetwork):
    """A vector for each Pokémon and one for the field → attention → hidden layers → heads.

    The hidden layers read the field, the mean of each team, and those who stand on the field,
    wherever in their team they are. Who may be switched to also speaks for itself: its own vector
    adds to the logits of that.
    """

    def __init__(self, config: NetworkConfig, observations: Observations) -> None:
        super().__init__(config)
        width = config.size("entity")
        columns = divide_columns(observations)
        teams = [team for team in (columns.own, columns.opponent) if len(team)]
        self._sizes = [len(team) for team in teams]
        self.entities = _Vectors([*teams, columns.field], config, observations)
        self.layers = nn.Sequential(
            *(AttentionLayer(width, config.size("heads")) for _ in range(config.size("layers"))),
            nn.LayerNorm(width),
        )
        readers = [_Reader(team) for team in teams]
        self.readers = nn.ModuleList(readers)
        # The field itself, and what is read of each team.
        count = 1 + sum(reader.count for reader in readers)
        self.trunk = hidden_layers(count * width, config.widths)
        self.heads = Heads(config.widths[-1], config, observations, self.entities.embeddings)
        self.switches = (
            _Switches(observations, config.widths[-1], width) if len(columns.own) else None
        )

    def forward(self, features: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        things = self.layers(self.entities(features, ids))
        *teams, field = things.split([*self._sizes, 1], dim=1)
        read = [reader(team, features) for reader, team in zip(self.readers, teams, strict=True)]
        inner = self.trunk(torch.cat((field[:, 0], *read), dim=1))
        logits, values = self.heads(inner, features, ids, self.entities.embeddings)
        if self.switches is not None:
            logits = logits + self.switches(inner, teams[0])
        return logits, values


class _Vectors(nn.Module):
    """Features and ids → a vector of each entity, [rows, entities, width].

    The columns of each entity are brought together; entities of one group are projected alike.
    """

    def __init__(
        self, groups: Sequence[Entities], config: NetworkConfig, observations: Observations
    ) -> None:
        super().__init__()
        sizes = zip(observations.id_kinds(), observations.id_sizes(), strict=True)
        self.embeddings = Embeddings(config.embeddings, dict(sizes))
        kinds = self.embeddings.kinds
        self.features = Gathering([group.features for group in groups])
        self.ids = nn.ModuleList(Gathering([group.ids[kind] for group in groups]) for kind in kinds)
        self.projections = nn.ModuleList(
            linear(
                group.features.shape[1]
                + self.embeddings.width({kind: group.ids[kind].shape[1] for kind in kinds}),
                config.size("entity"),
                math.sqrt(2),
            )
            for group in groups
        )

    def forward(self, features: Tensor, ids: Tensor) -> Tensor:
        parts = [self.features.divide(self.features(features))]
        gathered = zip(self.embeddings.kinds, self.ids, strict=True)
        embedded = self.embeddings({kind: gathering(ids) for kind, gathering in gathered})
        gatherings = cast("Iterable[Gathering]", self.ids)
        parts += [own.divide(numbers) for own, numbers in zip(gatherings, embedded, strict=True)]
        groups = zip(*parts, strict=True)
        vectors = [
            project(torch.cat(group, dim=-1))
            for project, group in zip(self.projections, groups, strict=True)
        ]
        return torch.cat(vectors, dim=1)


class _Reader(nn.Module):
    """What is read of a team: the mean of all, and who stands in each place on the field."""

    def __init__(self, team: Entities) -> None:
        super().__init__()
        self.standing = None if team.places is None else Standing(team.places)
        self.count = 1 + (0 if self.standing is None else self.standing.count)

    def forward(self, team: Tensor, features: Tensor) -> Tensor:
        mean = team.mean(dim=1)
        if self.standing is None:
            return mean
        # Where nobody stands this is 0.
        stands = self.standing(features).to(team.dtype) @ team
        return torch.cat((mean, stands.flatten(1)), dim=1)


class _Switches(nn.Module):
    """What each own Pokémon adds to the logits of a switch to it, and nothing to all others."""

    def __init__(self, observations: Observations, inner: int, width: int) -> None:
        super().__init__()
        actions = observations.actions
        self._slots = actions.slots
        self._before = actions.first_move - actions.team
        self._after = actions.size - actions.first_move
        self._scale = 1 / math.sqrt(width)
        self.wanted = linear(inner, actions.slots * width, 0.01)

    def forward(self, inner: Tensor, team: Tensor) -> Tensor:
        wanted = self.wanted(inner).unflatten(1, (self._slots, -1))
        scores = pad(wanted @ team.transpose(1, 2) * self._scale, (self._before, self._after))
        return scores if self._slots > 1 else scores[:, 0]
