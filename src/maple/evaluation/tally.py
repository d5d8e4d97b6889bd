"""Keeps count of the battles of an evaluation while they are played. Plays none itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bridge import Result as RoomResult
from bridge.journal import Journal, SideId

from .decisions import Decision
from .report import Pair
from .results import Outcome, Played, Result, count

__all__ = ["Fixture", "Kept", "Tally"]

SEATS: Final[tuple[SideId, SideId]] = ("p1", "p2")


@dataclass(frozen=True, slots=True)
class Fixture:
    """A battle that is to be played.

    The battles of a pair come in twos: with the same seed, and so with the same teams, first with
    the agent in the first seat and then with the agent in the second. So neither of the two has
    better teams in all of them.
    """

    agent: str
    opponent: str
    number: int

    @property
    def pair(self) -> Pair:
        return self.agent, self.opponent

    @property
    def twin(self) -> int:
        """The same for the two battles that have the same seed."""
        return self.number // 2

    @property
    def players(self) -> tuple[str, str]:
        """Who has the first seat and who the second."""
        agent, opponent = self.pair
        return (opponent, agent) if self.number % 2 else (agent, opponent)

    @property
    def seat(self) -> SideId:
        """The agent's."""
        return SEATS[self.number % 2]


@dataclass(slots=True)
class Kept:
    """A battle of which more is known than how it went."""

    fixture: Fixture
    journal: Journal
    result: RoomResult
    decisions: list[Decision]


class Tally:
    """The battles that were played, in the order of their numbers whenever they ended.

    Args:
        pairs: Who plays whom.
        battles: How many battles each pair plays.
        keep: Of how many of the first battles of each pair what was put into them is kept.
        on_battle: Called for each that has ended.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        battles: int,
        *,
        keep: int = 0,
        on_battle: Callable[[Played], None] | None = None,
    ) -> None:
        self.pairs = tuple(pairs)
        self.battles = battles
        self.keep = keep
        self._on_battle = on_battle
        self._played: dict[Fixture, Played] = {}
        self._kept: dict[Fixture, Kept] = {}

    def __repr__(self) -> str:
        return f"<Tally: {len(self._played)} of {self.battles * len(self.pairs)} battles>"

    def fixtures(self) -> Iterator[Fixture]:
        """All battles: the first of each pair, then the second of each pair, and so on."""
        for number in range(self.battles):
            for agent, opponent in self.pairs:
                yield Fixture(agent, opponent, number)

    def is_kept(self, fixture: Fixture) -> bool:
        return fixture.number < self.keep

    def note(
        self,
        fixture: Fixture,
        seed: str,
        result: RoomResult | None,
        reason: str,
        kept: Kept | None = None,
    ) -> None:
        """Takes note of a battle that has ended, or failed for a reason."""
        played = Played(
            fixture.agent,
            fixture.opponent,
            fixture.number,
            fixture.seat,
            _outcome(fixture, result),
            0 if result is None else result.turns,
            reason,
            seed,
        )
        self._played[fixture] = played
        if kept is not None:
            self._kept[fixture] = kept
        if self._on_battle is not None:
            self._on_battle(played)

    @property
    def played(self) -> tuple[Played, ...]:
        """In the order of the pairs, and of their battles."""
        order = {pair: index for index, pair in enumerate(self.pairs)}
        fixtures = sorted(self._played, key=lambda one: (order[one.pair], one.number))
        return tuple(self._played[fixture] for fixture in fixtures)

    @property
    def kept(self) -> tuple[Kept, ...]:
        order = {pair: index for index, pair in enumerate(self.pairs)}
        fixtures = sorted(self._kept, key=lambda one: (order[one.pair], one.number))
        return tuple(self._kept[fixture] for fixture in fixtures)

    def result(self, agent: str, opponent: str) -> Result:
        """How a pair has done so far."""
        found = (p for f, p in self._played.items() if f.pair == (agent, opponent))
        return count(agent, opponent, found)

    @property
    def results(self) -> list[Result]:
        """Of all pairs, in their order."""
        return [self.result(*pair) for pair in self.pairs]


def _outcome(fixture: Fixture, result: RoomResult | None) -> Outcome:
    if result is None:
        return "failed"
    if result.winner is None:
        return "tie"
    won: Literal["win", "loss"] = "win" if result.winner == fixture.seat else "loss"
    return won
