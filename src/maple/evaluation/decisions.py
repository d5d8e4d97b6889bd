"""Writes down what networks decided and what else they thought of, in words.

One decision is what its agent saw, every legal action with its name and its probability, what was
chosen, and the value that the network saw in it. Neither decides nor plays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import orjson
from poke_env.data import GenData

from bridge.journal import SideId
from bridge.throughput.quantities import percent
from maple.env import Observations

if TYPE_CHECKING:
    from maple.env.actions import Row

__all__ = ["Decision", "Narrator", "Option", "Standing", "to_lines", "to_text"]

_FULL: Final = 255
"""How a Pokémon's HP and the PP of a move are written that have all of them."""
_MOVE: Final = re.compile(r"move (\d)(?: at (own place|foe) (\d))?(.*)")
_SWITCH: Final = re.compile(r"switch to Pokémon (\d)")
_BAR: Final = 20
_UNSEEN: Final = ("unknown", "none")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Standing:
    """A Pokémon on the field, as somebody sees it."""

    name: str
    hp: float
    """From 0 to 1."""
    status: str | None


@dataclass(frozen=True, slots=True)
class Option:
    """What could have been done."""

    action: int
    name: str
    probability: float


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a network.

    Args:
        agent: Who decided.
        seat: "p1" or "p2".
        number: Which decision of the seat it is, from 1 on.
        turn: The turn of the battle.
        asked: "move", "switch" or "preview".
        own: Who stands on the own side.
        opponents: Who stands on the other.
        options: What was legal, the likeliest first; in doubles for each of the two places, for the
            second one given what the first was told to do.
        actions: The number of the option that was chosen, for each place.
        chosen: Its name. Several options can have the same one, as two Pokémon can.
        value: How well the network thought that it stood.
    """

    agent: str
    seat: SideId
    number: int
    turn: int
    asked: str
    own: tuple[Standing, ...]
    opponents: tuple[Standing, ...]
    options: tuple[tuple[Option, ...], ...]
    actions: tuple[int, ...]
    chosen: tuple[str, ...]
    value: float


class Narrator:
    """Puts observations and actions of one kind into words."""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._actions = observations.actions
        self._data = GenData.from_gen(observations.generation)

    def tell(
        self,
        agent: str,
        seat: SideId,
        number: int,
        row: Row,
        logits: npt.NDArray[np.float32],
        action: int | Sequence[int],
        value: float,
    ) -> Decision:
        """The decision for a row of bytes, of which all groups but optional ones are known."""
        actions = self._actions
        chosen = (action,) if isinstance(action, int) else tuple(action)
        raw = np.frombuffer(bytes(row), np.uint8)[np.newaxis]
        masks = actions.masks(raw)
        by_place = logits.reshape(actions.slots, actions.size)
        legal = [masks.reshape(actions.slots, actions.size)[0]]
        if actions.slots > 1:
            legal.append(actions.second_mask(masks, np.array(chosen[:1]))[0])
        seen = self._observations.decode(row)
        told = _Words(self._data, seen, actions.slots)
        return Decision(
            agent,
            seat,
            number,
            turn=seen["decision"]["asked"][0]["turn"],
            asked=told.phase,
            own=told.standing("own_team"),
            opponents=told.standing("opponent_team"),
            options=tuple(
                tuple(self._options(told, place, by_place[place], legal[place]))
                for place in range(actions.slots)
            ),
            actions=chosen,
            chosen=tuple(
                told.action(place, actions.describe_one(one), bool(legal[place].sum() == 1))
                for place, one in enumerate(chosen)
            ),
            value=float(value),
        )

    def _options(
        self,
        told: _Words,
        place: int,
        logits: npt.NDArray[np.float32],
        mask: npt.NDArray[np.int8],
    ) -> list[Option]:
        legal = np.flatnonzero(mask)
        chances = _softmax(logits[legal].astype(np.float64))
        options = [
            Option(
                int(action),
                told.action(place, self._actions.describe_one(int(action)), len(legal) == 1),
                float(chance),
            )
            for action, chance in zip(legal, chances, strict=True)
        ]
        return sorted(options, key=lambda option: -option.probability)


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    shares: Floats = weights / weights.sum()
    return shares


class _Words:
    """The names of what is seen in one observation."""

    def __init__(self, data: GenData, seen: dict[str, dict[str, list[Any]]], slots: int) -> None:
        self._data = data
        self._seen = seen
        self._slots = slots
        self.phase: str = seen["decision"]["asked"][0]["phase"]

    def standing(self, team: str) -> tuple[Standing, ...]:
        """Who of a team is on the field, by place."""
        who, states = self._seen[team]["who"], self._seen[team]["condition"]
        found = sorted(
            (state["slot"], index) for index, state in enumerate(states) if state["slot"] > 0
        )
        return tuple(
            Standing(
                self._species(who[index]["species"]),
                states[index]["hp"] / _FULL,
                None if states[index]["status"] in _UNSEEN else states[index]["status"],
            )
            for _, index in found
        )

    def action(self, place: int, described: str, is_only: bool) -> str:
        """What an action means, from how `Actions` describes it."""
        if found := _SWITCH.fullmatch(described):
            who = self._species(self._seen["own_team"]["who"][int(found[1]) - 1]["species"])
            return f"pick {who}" if self.phase == "preview" else f"switch to {who}"
        if found := _MOVE.fullmatch(described):
            move = self._move(place, int(found[1]) - 1, is_only)
            return f"{move}{self._aim(found[2], found[3])}{found[4]}"
        return described

    def _aim(self, side: str | None, place: str | None) -> str:
        if side is None or place is None:
            return ""
        team = "own_team" if side == "own place" else "opponent_team"
        states = self._seen[team]["condition"]
        index = next((i for i, state in enumerate(states) if state["slot"] == int(place)), None)
        if index is None:
            return f" at {side} {place}"
        name = self._species(self._seen[team]["who"][index]["species"])
        return f" at {'own ' if team == 'own_team' else ''}{name}"

    def _move(self, place: int, index: int, is_only: bool) -> str:
        states = self._seen["own_team"]["condition"]
        user = next((i for i, state in enumerate(states) if state["slot"] == place + 1), None)
        if user is None:
            return f"move {index + 1}"
        if is_only and self._seen["actives"]["volatiles"][place]["mustrecharge"]:
            return "recharge"
        at = 4 * user + index
        if is_only and not self._seen["own_moves"]["state"][at]["pp"]:
            return "Struggle"
        return self._name(self._data.moves, self._seen["own_moves"]["which"][at])

    def _species(self, name: str) -> str:
        return self._name(self._data.pokedex, name)

    @staticmethod
    def _name(known: dict[str, dict[str, Any]], identity: str) -> str:
        return str(known.get(identity, {}).get("name", identity))


# Files


def to_lines(battle: str, decisions: Iterable[Decision]) -> bytes:
    """A line of JSON for each decision."""
    return b"".join(
        orjson.dumps({"battle": battle, **asdict(one)}, option=orjson.OPT_APPEND_NEWLINE)
        for one in decisions
    )


def to_text(battle: str, decisions: Iterable[Decision]) -> str:
    """The same to be read."""
    return "\n".join((battle, *(line for one in decisions for line in _text(one)), ""))


def _text(one: Decision) -> Iterator[str]:
    yield ""
    yield (
        f"turn {one.turn}, {one.agent}, {one.asked}: {_side(one.own)} against "
        f"{_side(one.opponents)}, value {one.value:+.2f}"
    )
    for options, action in zip(one.options, one.actions, strict=True):
        for option in options:
            bar = "#" * round(option.probability * _BAR)
            mark = ">" if option.action == action else " "
            yield f"  {mark} {percent(option.probability):>7}  {bar:<{_BAR}}  {option.name}"
        if len(one.options) > 1 and options is not one.options[-1]:
            yield "    and then"


def _side(standing: Sequence[Standing]) -> str:
    return " and ".join(map(_one, standing)) or "nobody"


@cache
def _one(who: Standing) -> str:
    status = f" {who.status}" if who.status else ""
    return f"{who.name} {100 * who.hp:.0f} %{status}"
