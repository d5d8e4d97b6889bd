"""Batches of observations of random bytes, as networks and actors take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridge.sampling import derive_keys
from maple.agents import NetworkConfig
from maple.env import Observations
from maple.env.spec import ObservationSpec
from tests.maple.env.rows import SPEC, random_rows, write

KINDS = ("mlp", "lstm", "attention")
GAMES = ("singles", "doubles")
SMALL = {
    "mlp": NetworkConfig(kind="mlp", hidden=(16, 8), moves=4, species_size=3, type_size=2),
    "lstm": NetworkConfig(kind="lstm", hidden=(16,), moves=4, memory=8, move_size=2),
    "attention": NetworkConfig(
        kind="attention",
        entity=8,
        layers=1,
        hidden=(16,),
        moves=4,
        species_size=3,
        move_size=2,
        item_size=2,
        ability_size=2,
        type_size=2,
    ),
}


class Batch(NamedTuple):
    """Rows of what agents observe, and a key for each."""

    features: npt.NDArray[np.float32]
    ids: npt.NDArray[np.int32]
    masks: npt.NDArray[np.int8]
    keys: npt.NDArray[np.uint64]

    def rows(self, rows: Any) -> Batch:  # noqa: ANN401 - whatever takes rows of an array
        return Batch(self.features[rows], self.ids[rows], self.masks[rows], self.keys[rows])

    @property
    def seen(self) -> tuple[Tensor, Tensor]:
        """Features and ids as a network takes them."""
        return torch.from_numpy(self.features), torch.from_numpy(self.ids)


def observations_of(game: str, groups: tuple[str, ...] | None = None) -> Observations:
    return Observations(game, 9, groups)


def random_batch(observations: Observations, count: int, seed: int = 0) -> Batch:
    """Observations of random bytes, in which somebody stands in every place on the field."""
    raw = random_rows(observations.game, observations.bytes, count, seed)
    stand(raw, observations, np.random.default_rng(seed))
    seen = observations.expand(raw)
    keys = derive_keys(seed, np.arange(count))
    return Batch(seen["features"], seen["ids"], seen["action_mask"], keys)


def stand(
    raw: npt.NDArray[np.uint8], observations: Observations, random: np.random.Generator
) -> None:
    """Has Pokémon stand on the field, whom chance picks."""
    slots = observations.actions.slots
    for team in ("own_team", "opponent_team"):
        block = SPEC.layout(observations.game).block(team, "condition")
        for row in raw:
            write(row[None], block, 0, "slot", 0)
            for entry in range(block.count):
                write(row[None], block, entry, "slot", 0)
            for slot, entry in enumerate(random.permutation(block.count)[:slots]):
                write(row[None], block, int(entry), "slot", slot + 1)


def every_group() -> tuple[str, ...]:
    return ObservationSpec.load().groups
