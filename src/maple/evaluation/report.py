"""All that an evaluation found, as plain data. Neither plays battles nor draws tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import orjson

from .ratings import Rating, rate
from .results import Played, Result, count

__all__ = ["Ending", "Pair", "Report"]

Ending: TypeAlias = Literal["finished", "interrupted", "failed"]
Pair: TypeAlias = tuple[str, str]
"""An agent and its opponent, by name."""


@dataclass(frozen=True)
class Report:
    """What was asked for, and what was played of it.

    Args:
        format: What was played.
        seed: What decided all battles.
        wanted: How many battles each pair was to play.
        choosing: Whether networks drew their actions ("sample") or took the likeliest ("greedy").
        pairs: Who was to play whom.
        players: The names of all, those who were asked about before those whom they were to beat.
        played: The battles.
        seconds: How long it took.
        ending: "finished" only if all of it was played.
        failure: Why it failed, if it did.
    """

    format: str
    seed: int | str
    wanted: int
    choosing: Literal["sample", "greedy"]
    pairs: tuple[Pair, ...]
    players: tuple[str, ...]
    played: tuple[Played, ...]
    seconds: float = 0.0
    ending: Ending = "finished"
    failure: str | None = None

    @cached_property
    def results(self) -> list[Result]:
        """Of each pair, in their order; of some of them no battle may have been played."""
        battles: dict[Pair, list[Played]] = {pair: [] for pair in self.pairs}
        for one in self.played:
            battles[one.agent, one.opponent].append(one)
        return [count(*pair, found) for pair, found in battles.items()]

    @cached_property
    def ratings(self) -> list[Rating]:
        return rate(self.results, self.played)

    @property
    def rows(self) -> list[str]:
        """The players who have a row in the matrix: agents, and those who met everybody."""
        agents = {agent for agent, _ in self.pairs}
        return [name for name in self.players if name in agents or self._has_met_all(name)]

    def _has_met_all(self, name: str) -> bool:
        return all(other == name or self.cell(name, other) for other in self.players)

    def cell(self, row: str, column: str) -> Result | None:
        """How the row did against the column; None if they were not to play each other."""
        return self._cells.get((row, column))

    @cached_property
    def _cells(self) -> dict[Pair, Result]:
        reversed_results = {(one.opponent, one.agent): one.reversed() for one in self.results}
        return reversed_results | {(one.agent, one.opponent): one for one in self.results}

    @property
    def failed(self) -> Sequence[Played]:
        """The battles that came to no end."""
        return [one for one in self.played if one.outcome == "failed"]

    def describe(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": self.format,
            "seed": self.seed,
            "wanted": self.wanted,
            "choosing": self.choosing,
            "players": list(self.players),
            "results": [result.describe() for result in self.results],
            "ratings": [asdict(rating) for rating in self.ratings],
            "battles": [asdict(one) for one in self.played],
            "seconds": self.seconds,
            "ending": self.ending,
            "failure": self.failure,
        }

    def to_json(self) -> bytes:
        return orjson.dumps(self.describe(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
