"""What one measurement of a row yields, and what several of them say together."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

__all__ = ["Sample", "Spread", "compare", "summarise", "together", "total"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement: how much was played, in what time, at what cost.

    `reset_wall` is the part of the time that an environment took for its resets, where it has any.
    """

    battles: int
    decisions: int
    turns: int
    wall: float
    python_cpu: float
    node_cpu: float
    python_memory: int
    node_memory: int
    reset_wall: float = 0.0

    @property
    def battles_per_s(self) -> float:
        return self.battles / self.wall

    @property
    def decisions_per_s(self) -> float:
        return self.decisions / self.wall

    @property
    def python_cpu_ms_per_decision(self) -> float:
        return 1e3 * self.python_cpu / self.decisions

    @property
    def node_cpu_ms_per_decision(self) -> float:
        return 1e3 * self.node_cpu / self.decisions

    @property
    def node_cpu_ms_per_battle(self) -> float:
        return 1e3 * self.node_cpu / self.battles

    @property
    def cpu_ms_per_decision(self) -> float:
        """All processes together."""
        return self.python_cpu_ms_per_decision + self.node_cpu_ms_per_decision

    @property
    def reset_ms(self) -> float:
        """What a reset takes, with one before each battle."""
        return 1e3 * self.reset_wall / self.battles

    @property
    def memory(self) -> int:
        return self.python_memory + self.node_memory


def total(samples: Sequence[Sample]) -> Sample:
    """Consecutive samples as one: all that was played and used, with the memory of the last."""
    last = samples[-1]
    summed = {
        name: sum(getattr(sample, name) for sample in samples)
        for name in (
            *("battles", "decisions", "turns"),
            *("wall", "python_cpu", "node_cpu", "reset_wall"),
        )
    }
    return replace(last, **summed)


def together(samples: Sequence[Sample]) -> Sample:
    """Samples of processes that ran at the same time as one."""
    longest = max(sample.wall for sample in samples)
    memory = {
        name: sum(getattr(sample, name) for sample in samples)
        for name in ("python_memory", "node_memory")
    }
    return replace(total(samples), wall=longest, **memory)


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several values, and the lowest and highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


FIGURES = (
    "battles_per_s",
    "decisions_per_s",
    "python_cpu_ms_per_decision",
    "node_cpu_ms_per_decision",
    "node_cpu_ms_per_battle",
    "memory",
    "python_memory",
    "node_memory",
    "reset_ms",
)


def summarise(samples: Sequence[Sample]) -> dict[str, Any]:
    """Plain data: each figure as a median, and its spread beside it."""
    spreads = {name: Spread.of([getattr(sample, name) for sample in samples]) for name in FIGURES}
    return {name: spread.median for name, spread in spreads.items()} | {
        "spread": {name: [spread.low, spread.high] for name, spread in spreads.items()},
        "samples": [asdict(sample) for sample in samples],
    }


def compare(
    above: Sequence[Sample],
    below: Sequence[Sample],
    figure: Callable[[Sample], float],
    beside: Callable[[float, float], float] = operator.truediv,
) -> Spread:
    """How a figure of two rows compares: neighbouring samples, so that drift cancels."""
    return Spread.of([beside(figure(a), figure(b)) for a, b in zip(above, below, strict=False)])
