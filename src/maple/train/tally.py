"""How battles ended, opponent by opponent, and the latest of them by themselves."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from maple.evaluation.intervals import wilson

from .orders import Ended

__all__ = ["Score", "Tally"]


@dataclass(slots=True)
class Score:
    """The scores of the latest battles against one opponent: a win is one, a tie a half."""

    window: int
    latest: deque[float] = field(default_factory=deque)

    def add(self, score: float) -> None:
        self.latest.append(score)
        while len(self.latest) > self.window:
            self.latest.popleft()

    @property
    def rate(self) -> float:
        """Of the latest battles."""
        return sum(self.latest) / len(self.latest)

    @property
    def interval(self) -> tuple[float, float]:
        """What the rate may really be, at 95 %."""
        return wilson(sum(self.latest), len(self.latest))

    @property
    def is_full(self) -> bool:
        """Whether there were enough battles for a rate that means something."""
        return len(self.latest) >= self.window


class Tally:
    """The scores against all opponents. Battles against oneself are won as often as lost."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.scores: dict[str, Score] = {}
        self.battles = 0
        self.cut_short = 0

    def add(self, ended: Iterable[Ended]) -> None:
        for one in ended:
            if one.score is None:
                self.cut_short += 1
                continue
            self.battles += 1
            score = self.scores.setdefault(one.opponent, Score(self._window))
            score.add(one.score)

    def forget_all_but(self, names: Container[str]) -> None:
        """A run of weeks has more past selves than it is worth remembering."""
        self.scores = {name: score for name, score in self.scores.items() if name in names}

    def rated(self, names: Iterable[str]) -> dict[str, Score]:
        """Those of the names that were met."""
        return {name: self.scores[name] for name in names if name in self.scores}

    def state(self) -> dict[str, Any]:
        """Plain data, for a checkpoint."""
        return {
            "counts": [self.battles, self.cut_short],
            "scores": {name: list(score.latest) for name, score in self.scores.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.battles, self.cut_short = state["counts"]
        self.scores = {
            name: Score(self._window, deque(latest)) for name, latest in state["scores"].items()
        }
