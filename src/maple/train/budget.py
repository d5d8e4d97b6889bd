"""How long a run is, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .config import TrainConfig

__all__ = ["Budget", "Counters"]


@dataclass(slots=True)
class Counters:
    """What a run has done, the times before it was interrupted included."""

    updates: int = 0
    decisions: int = 0
    battles: int = 0
    seconds: float = 0.0


class Budget:
    """The battles, decisions and minutes of which the first to be used up ends a run."""

    def __init__(self, config: TrainConfig) -> None:
        self._config = config

    def progress(self, counters: Counters) -> float:
        """The share that is done, from 0 to 1; schedules follow it."""
        return min(1.0, max(self._shares(counters)))

    def is_used_up(self, counters: Counters) -> bool:
        return self.progress(counters) >= 1

    def _shares(self, counters: Counters) -> Iterator[float]:
        if self._config.episodes is not None:
            yield counters.battles / self._config.episodes
        if self._config.decisions is not None:
            yield counters.decisions / self._config.decisions
        if self._config.minutes is not None:
            yield counters.seconds / (60 * self._config.minutes)
