"""What poke-env does most often, in fewer steps and with the same results.

A tenth of the time of a battle goes into looking up, with every request, the moves that are known
since the first one. What is replaced is replaced only where poke-env reads as it did when this was
written.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Final

from poke_env.battle import Move, Pokemon
from poke_env.battle.move import MoveSet

__all__ = ["add_move", "is_known", "replace", "restore"]

_NAME: Final = "_add_move"
_original: Final[Callable[[Pokemon, str], Move | None]] = Pokemon._add_move
# What the shortcut relies on: how moves are added, where they are kept, and what their ids are.
_FINGERPRINT: Final = "aa41594c754a66cf031e066b809b0fe8"


def replace() -> None:
    """Puts the shortcut in place, if it is known to do the same."""
    if is_known():
        setattr(Pokemon, _NAME, add_move)


def restore() -> None:
    """Puts poke-env's own method back."""
    setattr(Pokemon, _NAME, _original)


def is_known() -> bool:
    """Whether poke-env reads as it did when this was written."""
    try:
        texts = [inspect.getsource(each) for each in (_original, MoveSet, Move.retrieve_id)]
    except OSError:
        return False
    return hashlib.sha256("".join(texts).encode()).hexdigest().startswith(_FINGERPRINT)


def add_move(pokemon: Pokemon, move_id: str) -> Move | None:
    """The move of that id, if the Pokémon is known to have it, and else as poke-env would."""
    moves = pokemon._moves
    if moves._transform_moves is None and moves._mimic_move is None:
        # The keys are ids, and the id of an id is itself.
        known = moves._base_moves.get(move_id)
        if known is not None:
            return known
    return _original(pokemon, move_id)
