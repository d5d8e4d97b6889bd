"""Says which columns of an observation are of which Pokémon, by their names; reads no values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from maple.env import Observations

__all__ = ["Columns", "Entities", "Moves", "Numbers", "Places", "divide_columns"]

Numbers: TypeAlias = npt.NDArray[np.int64]


class Places(NamedTuple):
    """The columns that say where on the field each Pokémon of a team stands."""

    columns: Numbers
    values: tuple[float, ...]
    """What such a column is for the first place on the field, and for the second one in doubles."""


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """The columns of things that are alike: a column of one has its counterpart in all others.

    `features` are [entities, columns], and so are `ids`, by their kind.
    """

    features: Numbers
    ids: dict[str, Numbers]
    places: Places | None

    def __len__(self) -> int:
        return len(self.features)


class Moves(NamedTuple):
    """The columns of each move of each Pokémon, [Pokémon, moves, columns]; of ids by their kind."""

    features: Numbers
    ids: dict[str, Numbers]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of observations: those of both teams' Pokémon, and of everything else.

    A team of which nothing is observed has no entities; everything else is a single one. Estimates
    of damage stand with the own Pokémon: what each does to those opposite, and what they do to it.
    Those of own moves are once more in `own_moves`, unless nothing is observed of them.
    """

    own: Entities
    opponent: Entities
    field: Entities
    own_moves: Moves | None


def divide_columns(observations: Observations) -> Columns:
    """Which columns of these observations are whose."""
    features = _owners(observations, observations.feature_names())
    ids = _owners(observations, observations.id_names())
    kinds = observations.id_kinds()

    def entities(whose: str) -> Entities:
        its_ids = {
            kind: _table(whose, [one for one in ids if kinds[one.at] == kind])
            for kind in dict.fromkeys(kinds)
        }
        its_features = _table(whose, features)
        # Who has features need not have ids of each kind.
        none = np.empty((len(its_features), 0), np.int64)
        return Entities(
            its_features,
            {kind: table if table.size else none for kind, table in its_ids.items()},
            _places(observations, whose, features),
        )

    own_moves = Moves(
        _move_table(observations, features),
        {
            kind: _move_table(observations, [one for one in ids if kinds[one.at] == kind])
            for kind in dict.fromkeys(kinds)
        },
    )
    return Columns(
        entities("own"),
        entities("opponent"),
        entities("field"),
        own_moves if own_moves.features.size else None,
    )


class _Column(NamedTuple):
    """Where a column is, whose, and by what name everybody has it who is like its owner."""

    at: int
    whose: str
    number: int
    name: str


def _owners(observations: Observations, names: list[str]) -> list[_Column]:
    """Whose the columns of these names are: group, entry, block, and what of it."""
    team, moves = observations.spec.data["team"], observations.spec.data["moves"]
    slots = observations.actions.slots
    owners = []
    for at, name in enumerate(names):
        group, entry, block, rest = name.split(".", 3)
        number = int(entry)
        match group, block:
            case "own_team" | "opponent_team", _:
                owner = group.removesuffix("_team"), number, f"{block}.{rest}"
            case "own_moves" | "opponent_moves", _:
                number, move = divmod(number, moves)
                owner = group.removesuffix("_moves"), number, f"move.{move}.{block}.{rest}"
            case "damage", "own":
                # By Pokémon, move, and at whom it is aimed.
                number, target = divmod(number, slots)
                number, move = divmod(number, moves)
                owner = "own", number, f"move.{move}.damage.{target}"
            case "damage", "opponent":
                # By whoever stands opposite, move, and whom it hits.
                move, number = divmod(number, team)
                owner = "own", number, f"suffered.{move}"
            case _:
                owner = "field", 0, name
        owners.append(_Column(at, *owner))
    return owners


def _table(whose: str, columns: list[_Column]) -> Numbers:
    """The columns of one owner in each row, in the same order in all."""
    by_number: dict[int, dict[str, int]] = {}
    for column in columns:
        if column.whose == whose:
            by_number.setdefault(column.number, {})[column.name] = column.at
    order = sorted(by_number.get(0, ()), key=lambda name: by_number[0][name])
    if any(its.keys() != by_number[0].keys() for its in by_number.values()):
        raise AssertionError(f"the columns of one Pokémon are not those of another: {order}")
    rows = [[by_number[number][name] for name in order] for number in sorted(by_number)]
    return np.array(rows, np.int64).reshape(len(rows), len(order))


def _move_table(observations: Observations, columns: list[_Column]) -> Numbers:
    """The columns of each own move in each row of each Pokémon."""
    of_moves = [
        [one for one in columns if one.name.startswith(f"move.{move}.")]
        for move in range(observations.spec.data["moves"])
    ]
    return np.stack([_table("own", one) for one in of_moves], axis=1)


def _places(observations: Observations, whose: str, features: list[_Column]) -> Places | None:
    columns = _table(whose, [one for one in features if one.name == "condition.slot"])
    if not columns.size:
        return None
    block = observations.spec.layout(observations.game).block(f"{whose}_team", "condition")
    [divisor] = [one.divisor for one in block.fields if one.name == "slot"]
    places = range(1, observations.actions.slots + 1)
    return Places(columns[:, 0], tuple(place / (divisor or 1) for place in places))
