"""Who may play: opponents by name, and networks, which decide for many seats at once.

Every one of them sits in either seat; none knows against whom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bridge import Player, View
from bridge.errors import ConfigError
from bridge.formats import FormatFacts
from maple.env import Observations, OpponentFailed
from maple.env.battle import Battle, Opponent, Seat
from maple.env.opponents import OpponentKind, make_opponent

if TYPE_CHECKING:
    from maple.agents import Decided, Network
    from maple.env.actions import Action

__all__ = ["NAMED", "Entrant", "Learned", "NetworkPlayer", "Witness", "seat"]

NAMED: Final = ("random", "max", "heuristics")
"""Who is there without being made."""

Witness: TypeAlias = "Callable[[list[Seat], Decided], None]"
"""Told of decisions before they are taken: whose they are, and all that the network said."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A network and what it reads."""

    network: Network
    observations: Observations


@dataclass(frozen=True, slots=True)
class Entrant:
    """Somebody who plays under a name."""

    name: str
    kind: OpponentKind | Learned

    @property
    def is_learned(self) -> bool:
        return isinstance(self.kind, Learned)

    @classmethod
    def named(cls, name: str) -> Entrant:
        """One of those who are there without being made."""
        if name not in NAMED:
            raise ConfigError(f"nobody is called {name!r}: there are {', '.join(NAMED)}")
        return cls(name, name)


def seat(
    entrant: Entrant, facts: FormatFacts, generation: int, places: int, *, greedy: bool
) -> Opponent:
    """An entrant, ready to play so many battles at once; needs a running event loop."""
    kind = entrant.kind
    if not isinstance(kind, Learned):
        return make_opponent(kind, Observations(facts.game_type, generation), facts.id)
    own = kind.observations
    if (own.game, own.generation) != (facts.game_type, generation):
        raise ConfigError(
            f"{entrant.name} plays {own.game} of generation {own.generation}, but {facts.id} is "
            f"{facts.game_type} of generation {generation}"
        )
    return NetworkPlayer(kind, places, greedy=greedy)


class NetworkPlayer:
    """A network in any number of seats: all that ask in a turn of the event loop are one batch.

    It has a memory for both seats of each place; a place is where one battle after another is
    played.
    """

    has_own_team = False

    def __init__(self, learned: Learned, places: int, *, greedy: bool) -> None:
        from maple.agents import Actor

        self.observations = learned.observations
        self._actions = learned.observations.actions
        self._actor = Actor(learned.network, self._actions, 2 * places, greedy=greedy)
        self._loop = asyncio.get_running_loop()
        self._asked: list[Seat] = []
        self.view = View(lines=False, observe=self.observations.groups)
        self.witness: Witness | None = None

    def sit(self, battle: Battle, index: int, key: int) -> Seat:
        return Seat(battle, index, None, key)

    def player(self, name: str, team: str | None, key: int) -> Player:
        return Player(name, team, is_valid=True)

    def decide(self, seat: Seat) -> None:
        self._asked.append(seat)
        if len(self._asked) == 1:
            self._loop.call_soon(self._decide)

    def _decide(self) -> None:
        asked, self._asked = self._asked, []
        # Some may have been given up since they asked.
        seats = [seat for seat in asked if seat.is_asked and not seat.battle.room.is_over]
        if not seats:
            return
        table = seats[0].battle.table
        try:
            decided = self._infer(seats)
            if self.witness is not None:
                self.witness(seats, decided)
            for seat, action in zip(seats, decided.actions.tolist(), strict=True):
                self._take(seat, action)
        except Exception as cause:  # noqa: BLE001 - whoever waits for these battles is told
            error = OpponentFailed(f"the network failed: {type(cause).__name__}: {cause}")
            error.__cause__ = cause
            table.break_down(error)

    def _take(self, seat: Seat, action: Action) -> None:
        if self._actions.is_preview(seat.observation):
            seat.pick(self._actions, action)
        else:
            seat.choose(self._actions.choice(seat.observation, action))
        if seat.is_asked:
            self.decide(seat)
        else:
            seat.battle.table.chosen(seat.battle)

    def _infer(self, seats: list[Seat]) -> Decided:
        seen = self.observations.expand(
            self.observations.stack([seat.observation for seat in seats])
        )
        is_first = np.array([seat.steps == 0 for seat in seats])
        return self._actor.decide(
            np.array([2 * seat.battle.slot + seat.index for seat in seats]),
            seen["features"],
            seen["ids"],
            seen["action_mask"],
            np.array([seat.next_key() for seat in seats], np.uint64),
            is_first,
        )

    def update(self, policy: object) -> None:
        raise ConfigError("an entrant plays with the network that it came with")

    async def close(self) -> None:
        self._asked.clear()
