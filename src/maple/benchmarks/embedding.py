"""A battle of poke-env as numbers, written as its users write them: the baseline's observation.

It says about as much as maple's own observation: both teams with their moves, what is on the field,
boosts and effects of the active Pokémon, and how effective moves are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from poke_env.battle import (
    Battle,
    Effect,
    Field,
    Move,
    MoveCategory,
    Pokemon,
    PokemonType,
    SideCondition,
    Status,
    Weather,
)

__all__ = ["SIZE", "embed"]

_STATS = ("hp", "atk", "def", "spa", "spd", "spe")
_BOOSTS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")
_EFFECTS = (
    Effect.CONFUSION,
    Effect.ENCORE,
    Effect.DISABLE,
    Effect.LEECH_SEED,
    Effect.SUBSTITUTE,
    Effect.TAUNT,
    Effect.YAWN,
    Effect.PROTECT,
)
_WEATHERS, _FIELDS, _SIDE_CONDITIONS = tuple(Weather), tuple(Field), tuple(SideCondition)
_TEAM = 6
_MOVES = 4


def _one_hot(kinds: Iterable[Any]) -> dict[Any, list[float]]:
    """A row of numbers for each kind."""
    listed = list(kinds)
    return {kind: [float(kind is other) for other in listed] for kind in listed}


_STATUS, _CATEGORY, _TYPE = _one_hot(Status), _one_hot(MoveCategory), _one_hot(PokemonType)
_HEALTHY = [0.0] * len(Status)
_TYPE_NUMBER = {kind: number for number, kind in enumerate(PokemonType)}

_MOVE = 4 + len(MoveCategory)
_ACTIVE_MOVE = 1 + len(PokemonType)
_POKEMON = 5 + len(Status) + len(PokemonType) + len(_STATS) + _MOVES * _MOVE
_ACTIVE = len(_BOOSTS) + len(_EFFECTS)
_DECISION = 6

SIZE = (
    2 * _TEAM * _POKEMON
    + 2 * _ACTIVE
    + _MOVES * _ACTIVE_MOVE
    + len(Weather)
    + len(Field)
    + 2 * len(SideCondition)
    + _DECISION
)
"""How many numbers there are."""


def embed(battle: Battle) -> npt.NDArray[np.float32]:
    """What the player of a battle may know about it."""
    own, other = battle.active_pokemon, battle.opponent_active_pokemon
    numbers: list[float] = []
    numbers += _team(battle.team.values(), other)
    numbers += _team(battle.opponent_team.values(), own)
    numbers += _active(own)
    numbers += _active(other)
    numbers += _active_moves(own)
    numbers += _present(_WEATHERS, battle.weather)
    numbers += _present(_FIELDS, battle.fields)
    numbers += _counts(battle.side_conditions)
    numbers += _counts(battle.opponent_side_conditions)
    numbers += (
        min(battle.turn, 100) / 100,
        float(battle.force_switch),
        float(battle.trapped),
        float(battle.can_tera),
        len(battle.available_moves) / _MOVES,
        len(battle.available_switches) / _TEAM,
    )
    return np.array(numbers, np.float32)


def _team(team: Iterable[Pokemon], foe: Pokemon | None) -> list[float]:
    numbers: list[float] = []
    for pokemon in list(team)[:_TEAM]:
        numbers += _pokemon(pokemon, foe)
    return numbers + [0.0] * (_TEAM * _POKEMON - len(numbers))


def _pokemon(pokemon: Pokemon, foe: Pokemon | None) -> list[float]:
    numbers = [
        1.0,
        pokemon.current_hp_fraction,
        float(bool(pokemon.active)),
        pokemon.level / 100,
        float(pokemon.is_terastallized),
    ]
    numbers += _STATUS[pokemon.status] if pokemon.status else _HEALTHY
    types = [0.0] * len(_TYPE)
    for kind in pokemon.types:
        types[_TYPE_NUMBER[kind]] = 1.0
    numbers += types
    base = pokemon.base_stats
    numbers += [base[stat] / 255 for stat in _STATS]
    moves = list(pokemon.moves.values())[:_MOVES]
    for move in moves:
        numbers += _move(move, foe)
    return numbers + [0.0] * (_MOVE * (_MOVES - len(moves)))


def _move(move: Move, foe: Pokemon | None) -> list[float]:
    return [
        move.base_power / 250,
        float(move.accuracy),
        move.current_pp / move.max_pp,
        foe.damage_multiplier(move) / 4 if foe is not None else 0.25,
        *_CATEGORY[move.category],
    ]


def _active(pokemon: Pokemon | None) -> list[float]:
    if pokemon is None:
        return [0.0] * _ACTIVE
    boosts, effects = pokemon.boosts, pokemon.effects
    return [
        *(boosts[stat] / 6 for stat in _BOOSTS),
        *(float(effect in effects) for effect in _EFFECTS),
    ]


def _active_moves(pokemon: Pokemon | None) -> list[float]:
    """Types and priorities of the moves to choose from."""
    numbers: list[float] = []
    for move in list(pokemon.moves.values())[:_MOVES] if pokemon is not None else ():
        numbers += [move.priority / 7, *_TYPE[move.type]]
    return numbers + [0.0] * (_MOVES * _ACTIVE_MOVE - len(numbers))


def _present(kinds: Sequence[Any], present: Collection[Any]) -> list[float]:
    return [float(kind in present) for kind in kinds]


def _counts(conditions: Mapping[SideCondition, int]) -> list[float]:
    return [min(conditions.get(kind, 0), 3) / 3 for kind in _SIDE_CONDITIONS]
