"""How a run is doing, as plain data: for whoever shows it, and for logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .budget import Counters
    from .ppo import UpdateFigures

__all__ = ["Standing", "Status"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How the latest battles against one opponent went, with the interval that this leaves open."""

    rate: float
    low: float
    high: float
    battles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is known after an update.

    Rates are those of the last seconds; `left` is how many seconds remain, as far as can be told.
    """

    counters: Counters
    progress: float
    left: float | None
    decisions_per_s: float
    battles_per_s: float
    collecting: float
    """The share of the time that nobody could learn, because rollouts were waited for."""
    lag: float
    dropped: int
    workers_lost: int
    controllers_lost: int
    mix: str
    stage: int
    stages: int
    exploration: float
    standings: dict[str, Standing]
    figures: UpdateFigures
    returns: float | None
    parts: dict[str, float] = field(default_factory=dict)
    turns: float | None = None
    league: int = 0
    cut_short: int = 0

    def scalars(self) -> dict[str, float]:
        """Every number by a name with the group it belongs to."""
        found = {
            "time/updates": self.counters.updates,
            "time/decisions": self.counters.decisions,
            "time/battles": self.counters.battles,
            "time/seconds": self.counters.seconds,
            "time/progress": self.progress,
            "speed/decisions_per_s": self.decisions_per_s,
            "speed/battles_per_s": self.battles_per_s,
            "speed/collecting": self.collecting,
            "speed/lag": self.lag,
            "speed/dropped": self.dropped,
            "speed/workers_lost": self.workers_lost,
            "speed/controllers_lost": self.controllers_lost,
            "battles/cut_short": self.cut_short,
            "opponents/stage": self.stage,
            "opponents/league": self.league,
            "learning/exploration": self.exploration,
        }
        found |= {
            f"learning/{name}": value
            for name, value in asdict(self.figures).items()
            if name != "decisions"
        }
        if self.returns is not None:
            found["reward/whole"] = self.returns
        if self.turns is not None:
            found["battles/turns"] = self.turns
        found |= {f"reward/{name}": value for name, value in self.parts.items()}
        for name, standing in self.standings.items():
            found[f"win_rate/{name}"] = standing.rate
        return {name: float(value) for name, value in found.items()}
