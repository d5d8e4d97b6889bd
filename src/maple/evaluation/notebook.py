"""Has the decisions of networks written down in those battles in which somebody wants to read them.

Knows where battles are played; what is written, and in which words, is in `decisions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maple.env import Observations
from maple.env.battle import Seat

from .decisions import Decision, Narrator
from .entrants import Witness
from .tally import SEATS

if TYPE_CHECKING:
    from maple.agents import Decided

__all__ = ["Notebook"]


class Notebook:
    """The decisions of battles that are under way, by the place where each is played."""

    def __init__(self) -> None:
        self._pages: dict[int, list[Decision]] = {}

    def open(self, place: int) -> None:
        """Writes down, from now on, what is decided there."""
        self._pages[place] = []

    def close(self, place: int) -> list[Decision]:
        """What was decided there, turn by turn, of both seats one after the other."""
        page = self._pages.pop(place, [])
        return sorted(page, key=lambda one: (one.turn, one.seat, one.number))

    def witness_for(self, name: str, observations: Observations) -> Witness:
        """Who is to be told what a network decides that has this name."""
        known: list[Narrator] = []

        def witness(seats: list[Seat], decided: Decided) -> None:
            for index, seat in enumerate(seats):
                page = self._pages.get(seat.battle.slot)
                if page is None:
                    continue
                if not known:
                    known.append(_narrator(observations))
                page.append(
                    known[0].tell(
                        name,
                        SEATS[seat.index],
                        seat.steps,
                        seat.observation,
                        decided.logits[index],
                        decided.actions[index].tolist(),
                        float(decided.values[index]),
                    )
                )

        return witness


def _narrator(observations: Observations) -> Narrator:
    """One who reads all that is shown where decisions are written down."""
    spec = observations.spec
    groups = spec.select((*spec.default_groups, *observations.groups))
    return Narrator(Observations(observations.game, observations.generation, groups))
