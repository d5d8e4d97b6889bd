"""What poke-env's model of a battle does most often, in fewer steps and with the same results.

Every request names every Pokémon of a team with its moves, most of which have not changed: half of
poke-env's time goes into finding that out. A method is replaced only where it, and all that its
replacement takes for granted, reads as it did when that was written.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from poke_env.battle import Battle, Move, Pokemon
from poke_env.battle.move import MoveSet

__all__ = ["Replacement", "find_replacements", "replace", "restore"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A method or a property of poke-env, and what stands in for it."""

    owner: type
    name: str
    original: Any
    instead: Any
    texts: tuple[Callable[..., object], ...]
    """What the replacement relies on: the method itself, and what it no longer calls."""
    fingerprint: str

    @property
    def is_known(self) -> bool:
        """Whether poke-env reads as it did when this was written."""
        try:
            text = "".join(map(inspect.getsource, self.texts))
        except OSError:
            return False
        return hashlib.sha256(text.encode()).hexdigest().startswith(self.fingerprint)


def replace() -> None:
    """Puts every replacement in place that is known to do the same."""
    for each in _REPLACEMENTS:
        if each.is_known:
            setattr(each.owner, each.name, each.instead)


def restore() -> None:
    """Puts poke-env's own methods back."""
    for each in _REPLACEMENTS:
        setattr(each.owner, each.name, each.original)


def find_replacements() -> Iterator[Replacement]:
    """All of them, in place or not."""
    return iter(_REPLACEMENTS)


_add_move: Final = Pokemon._add_move
_set_hp_status: Final = Pokemon.set_hp_status
_update_from_request: Final = Pokemon.update_from_request
_moves: Final = MoveSet.__dict__["moves"]
_active_pokemon: Final = Battle.__dict__["active_pokemon"]


def add_move(pokemon: Pokemon, move_id: str) -> Move | None:
    """The move of that id, if the Pokémon is known to have it, and else as poke-env would."""
    moves = pokemon._moves
    if moves._transform_moves is None and moves._mimic_move is None:
        # The keys are ids, and the id of an id is itself.
        known = moves._base_moves.get(move_id)
        if known is not None:
            return known
    return _add_move(pokemon, move_id)


def find_moves(moves: MoveSet) -> dict[str, Move]:
    """The moves of a Pokémon, which are its own unless it copies others."""
    if moves._transform_moves is None and moves._mimic_move is None:
        return moves._base_moves
    found: dict[str, Move] = _moves.fget(moves)
    return found


def set_hp_status(pokemon: Pokemon, hp_status: str, store: bool = False) -> None:
    """Takes over the health of a Pokémon without a status, and any other as poke-env would."""
    current, _, most = hp_status.partition("/")
    if not (current.isdecimal() and most.isdecimal() and hp_status.isascii()):
        _set_hp_status(pokemon, hp_status, store)
        return
    pokemon._status = None
    pokemon._current_hp = int(current)
    pokemon._max_hp = int(most)
    if store:
        pokemon._stats["hp"] = pokemon._max_hp


def update_from_request(pokemon: Pokemon, request: dict[str, Any]) -> None:
    """Takes over what a request says of a Pokémon."""
    pokemon._active = request["active"]
    if pokemon.ability is None:
        pokemon.ability = request["baseAbility"]
    if "ability" in request and request["ability"] != request["baseAbility"]:
        pokemon.temporary_ability = request["ability"]
    pokemon._last_request = request
    pokemon.set_hp_status(request["condition"], store=True)
    pokemon._name = request["ident"][4:]
    pokemon._item = request["item"]
    if request["details"] != pokemon._last_details:
        pokemon._update_from_details(request["details"])
    for move in request["moves"]:
        pokemon._add_move(move)
    if "stats" in request:
        pokemon._stats.update(request["stats"])


def find_active(battle: Battle) -> Pokemon | None:
    """The first active Pokémon of the player's team."""
    for pokemon in battle.team.values():
        if pokemon._active:
            return pokemon
    return None


_REPLACEMENTS: Final = (
    Replacement(
        Pokemon,
        "_add_move",
        _add_move,
        add_move,
        (_add_move, MoveSet, Move.retrieve_id),
        "aa41594c754a66cf",
    ),
    Replacement(MoveSet, "moves", _moves, property(find_moves), (MoveSet,), "9cfd428c2ad43c1f"),
    Replacement(
        Pokemon,
        "set_hp_status",
        _set_hp_status,
        set_hp_status,
        (_set_hp_status,),
        "6b85a64ba2a22ae9",
    ),
    Replacement(
        Pokemon,
        "update_from_request",
        _update_from_request,
        update_from_request,
        (_update_from_request, Pokemon._update_from_details),
        "dd4924ccf4ea61b7",
    ),
    Replacement(
        Battle,
        "active_pokemon",
        _active_pokemon,
        property(find_active),
        (_active_pokemon.fget, Pokemon.__dict__["active"].fget),
        "c4f4995eb19ce89a",
    ),
)
