"""A seeded policy that picks a random legal choice.

node/lib/random-policy.js is its twin: the same seed and requests give the same choices in both
languages, so that benchmarks with and without IPC play the very same battles. Change both or
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

__all__ = ["RandomPolicy"]

Request = dict[str, Any]

_AIMS: dict[str, tuple[Callable[[int], str], ...]] = {
    "normal": (lambda _: " +1", lambda _: " +2"),
    "any": (lambda _: " +1", lambda _: " +2"),
    "adjacentFoe": (lambda _: " +1", lambda _: " +2"),
    "adjacentAlly": (lambda slot: f" -{2 - slot}",),
    "adjacentAllyOrSelf": (lambda slot: f" -{slot + 1}", lambda slot: f" -{2 - slot}"),
}
_GIMMICKS = (
    ("canMegaEvo", "mega"),
    ("canMegaEvoX", "megax"),
    ("canMegaEvoY", "megay"),
    ("canUltraBurst", "ultra"),
    ("canTerastallize", "terastallize"),
)
_NOWHERE = ("",)
# More than a side, or a Pokémon, can have.
_SWITCHES = tuple(f"switch {number}" for number in range(1, 100))
_MOVES = tuple(f"move {number}" for number in range(1, 100))
_NOTHING: frozenset[str] = frozenset()
_ONCE = frozenset(("mega", "megax", "megay", "ultra", "zmove", "dynamax", "terastallize"))


class RandomPolicy:
    """Chooses uniformly among the choices that a request shows as legal."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        if not 0 < seed < 1 << 32:
            raise ValueError(f"the seed of a policy is a positive number of 32 bits, not {seed}")
        self._state = seed

    def choose(self, request: Request) -> str:
        """A choice for a request that is not a wait."""
        if request.get("teamPreview"):
            return self._order(request)
        forced = request.get("forceSwitch")
        slots = len(forced or request["active"])
        if slots == 1:
            return self._act(request, 0, _NOTHING, _NOTHING)
        taken: set[str] = set()
        spent: set[str] = set()
        chosen = []
        for slot in range(slots):
            option = self._act(request, slot, taken, spent)
            chosen.append(option)
            if option.startswith("switch"):
                taken.add(option)
            elif (word := option[option.rfind(" ") + 1 :]) in _ONCE:
                spent.add(word)
        return ", ".join(chosen)

    def _act(self, request: Request, slot: int, taken: Set[str], spent: Set[str]) -> str:
        """What one Pokémon does, if others of its side have `taken` and `spent` something."""
        if request.get("forceSwitch"):
            options = _replacements(request, slot, taken)
        else:
            options = _actions(request, slot, taken, spent)
        return options[self._below(len(options))] if options else "pass"

    def _below(self, n: int) -> int:
        """A number in [0, n), from a 32-bit xorshift."""
        x = self._state
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        self._state = x
        return x % n

    def _order(self, request: Request) -> str:
        slots = list(range(1, len(request["side"]["pokemon"]) + 1))
        for i in range(len(slots) - 1, 0, -1):
            j = self._below(i + 1)
            slots[i], slots[j] = slots[j], slots[i]
        size = request.get("maxChosenTeamSize") or len(slots)
        return "team " + ",".join(map(str, slots[:size]))


def _replacements(request: Request, slot: int, taken: Set[str]) -> list[str]:
    if not request["forceSwitch"][slot]:
        return []
    return _bench(request, taken, fainted=bool(request["side"]["pokemon"][slot].get("reviving")))


def _bench(request: Request, taken: Set[str], *, fainted: bool) -> list[str]:
    options = [
        switch
        for switch, pokemon in zip(_SWITCHES, request["side"]["pokemon"], strict=False)
        if not pokemon["active"] and pokemon["condition"].endswith(" fnt") is fainted
    ]
    return [option for option in options if option not in taken] if taken else options


def _actions(request: Request, slot: int, taken: Set[str], spent: Set[str]) -> list[str]:
    active = request["active"][slot]
    pokemon = request["side"]["pokemon"][slot]
    if not active or pokemon["condition"].endswith(" fnt") or pokemon.get("commanding"):
        return []
    gimmicks = [word for key, word in _GIMMICKS if active.get(key)]
    if spent:
        gimmicks = [word for word in gimmicks if word not in spent]
    is_single = len(request["active"]) == 1
    if is_single and "canZMove" not in active and "maxMoves" not in active:
        options = _plain_moves(active, gimmicks)
    else:
        options = _moves(active, gimmicks, slot, spent, _nowhere if is_single else _aims)
    if not active.get("trapped"):
        options += _bench(request, taken, fainted=False)
    return options


def _plain_moves(active: dict[str, Any], gimmicks: list[str]) -> list[str]:
    """The same as `_moves`, and faster, where nothing is aimed and no move has another form."""
    options = []
    for name, move in zip(_MOVES, active["moves"], strict=False):
        if not move.get("disabled"):
            options.append(name)
            if gimmicks:
                options.extend([f"{name} {word}" for word in gimmicks])
    return options


def _moves(
    active: dict[str, Any],
    gimmicks: list[str],
    slot: int,
    spent: Set[str],
    aims: Callable[[str | None, int], Sequence[str]],
) -> list[str]:
    can_dynamax = active.get("canDynamax")
    max_moves = active.get("maxMoves", {}).get("maxMoves") or ()
    z_moves = active.get("canZMove") or ()
    options = []
    for index, move in enumerate(active["moves"]):
        if move.get("disabled"):
            continue
        name = _MOVES[index]
        max_move = max_moves[index] if index < len(max_moves) else None
        target = max_move["target"] if max_move and not can_dynamax else move.get("target")
        for aim in aims(target, slot):
            options.append(name + aim)
            options.extend([f"{name}{aim} {word}" for word in gimmicks])
        z_move = z_moves[index] if index < len(z_moves) else None
        if z_move and "zmove" not in spent:
            options.extend(f"{name}{aim} zmove" for aim in aims(z_move["target"], slot))
        if can_dynamax and max_move and "dynamax" not in spent:
            options.extend(f"{name}{aim} dynamax" for aim in aims(max_move["target"], slot))
    return options


def _aims(target: str | None, slot: int) -> Sequence[str]:
    """What a move can be aimed at where a side has several Pokémon."""
    makers = _AIMS.get(target) if target is not None else None
    return [make(slot) for make in makers] if makers else _NOWHERE


def _nowhere(_target: str | None, _slot: int) -> Sequence[str]:
    """A move in singles is not aimed."""
    return _NOWHERE
