"""What came of the battles between two players: counts, rates and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from .intervals import wilson

__all__ = ["Outcome", "Played", "Result", "count"]

Outcome: TypeAlias = Literal["win", "loss", "tie", "failed"]
"""How a battle went for the agent; "failed" if it came to no end."""
_POINTS: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True)
class Played:
    """One battle of an agent against an opponent.

    Args:
        agent: Whose battle it is told as.
        opponent: Who had the other seat.
        number: Which battle of the two it is, from 0 on.
        seat: The agent's: "p1" or "p2".
        outcome: How it went for the agent.
        turns: How long it was; 0 if it came to no end.
        reason: "win", "tie" or "forfeit", or the error by which it failed.
        seed: The battle's own, as the simulator takes it.
    """

    agent: str
    opponent: str
    number: int
    seat: Literal["p1", "p2"]
    outcome: Outcome
    turns: int
    reason: str
    seed: str

    @property
    def points(self) -> float | None:
        """Of the agent: a tie is half a win; None if it came to no end."""
        return _POINTS.get(self.outcome)


@dataclass(frozen=True, slots=True)
class Result:
    """How an agent did against an opponent.

    Args:
        agent: Whose wins these are.
        opponent: Who was played against.
        wins: Battles that the agent won.
        losses: Battles that it lost.
        ties: Battles that nobody won; each counts as half a win.
        turns: The turns of all these battles together.
        failed: Battles that came to no end, and count for nothing.
    """

    agent: str
    opponent: str
    wins: int = 0
    losses: int = 0
    ties: int = 0
    turns: int = 0
    failed: int = 0

    @property
    def battles(self) -> int:
        """Those that came to an end."""
        return self.wins + self.losses + self.ties

    @property
    def points(self) -> float:
        """Wins, and half of the ties."""
        return self.wins + self.ties / 2

    @property
    def win_rate(self) -> float | None:
        """The share of battles that were won, a tie being half a win; None of no battles."""
        return self.points / self.battles if self.battles else None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true win rate is, at 95 %."""
        return wilson(self.points, self.battles)

    @property
    def mean_turns(self) -> float | None:
        return self.turns / self.battles if self.battles else None

    def with_battle(self, played: Played) -> Result:
        """The same with one more battle of these two."""
        outcome = played.outcome
        return replace(
            self,
            wins=self.wins + (outcome == "win"),
            losses=self.losses + (outcome == "loss"),
            ties=self.ties + (outcome == "tie"),
            turns=self.turns + played.turns,
            failed=self.failed + (outcome == "failed"),
        )

    def reversed(self) -> Result:
        """The same battles, as the opponent tells them."""
        return Result(
            self.opponent,
            self.agent,
            wins=self.losses,
            losses=self.wins,
            ties=self.ties,
            turns=self.turns,
            failed=self.failed,
        )

    def describe(self) -> dict[str, Any]:
        """Plain data, with what follows from the counts."""
        low, high = self.interval
        return asdict(self) | {
            "battles": self.battles,
            "win_rate": self.win_rate,
            "low": low,
            "high": high,
            "mean_turns": self.mean_turns,
        }


def count(agent: str, opponent: str, battles: Iterable[Played]) -> Result:
    """The result of these battles, all of which are of these two."""
    result = Result(agent, opponent)
    for played in battles:
        result = result.with_battle(played)
    return result
