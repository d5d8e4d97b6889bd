"""What was measured of a run: plain data, written and read as JSON. Neither measures nor judges."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from ..session import Overhead
from .components import WHOLE
from .settings import RunSettings

__all__ = ["Batch", "BatchFigures", "Ending", "Mode", "TrainingTime"]

Ending: TypeAlias = Literal["complete", "interrupted", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFigures:
    """What came of a batch: counts, and what learning from it was like.

    `rounds` is how often agents were decided for. The return is what an agent was rewarded with in
    a battle, on average; None if none ended.
    """

    decisions: int
    rounds: int
    minibatches: int
    battles: int
    returns: float | None
    policy_loss: float
    value_loss: float
    entropy: float
    divergence: float
    gradient: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch. Times are seconds; None is what was not measured.

    `phases` are those of all round trips to Node that carried choices, `trips` of them, which
    overlap. `node_busy` is how much of the time of its processes Node worked on battles, and
    `profiling` how much of the batch it took to time its calls.
    """

    wall: float
    components: dict[str, float]
    figures: BatchFigures
    python_cpu: float | None
    node_cpu: float | None
    node_busy: float | None
    profiling: float | None
    trips: int
    phases: dict[str, float]

    def share(self, key: str) -> float:
        """How much of it a component took."""
        return self.components[key] / self.wall


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """The batches of one mode, in their order."""

    name: str
    turbo: bool
    batches: list[Batch]

    @property
    def middle(self) -> Batch:
        """The batch of median length, whose components add up as those of no average do."""
        middle = statistics.median_low(self.times())
        return next(batch for batch in self.batches if batch.wall == middle)

    def times(self, key: str = WHOLE) -> list[float]:
        """What a component took in each batch, or the whole of it."""
        return [batch.wall if key == WHOLE else batch.components[key] for batch in self.batches]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """All that was measured in a run. The first mode is the one that others are compared with."""

    began: str
    command: str
    settings: RunSettings
    pool: int
    threads: int
    cores: int
    cpu: str | None
    ending: Ending
    failure: str | None
    modes: list[Mode]
    overhead: Overhead | None = None
    """What profiling has cost, as it was measured before the first batch."""

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    @classmethod
    def from_json(cls, data: bytes) -> TrainingTime:
        return msgspec.json.decode(data, type=cls)
