"""What ratios of neighbouring batches say of two modes: faster, slower, or within noise.

The rule is that of `noise.judge_ratios`, which needs five batches. Measures and shows nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .. import noise
from .components import COMPONENTS, WHOLE
from .result import Mode

__all__ = [
    "Compared",
    "Judgement",
    "Verdict",
    "compare",
    "did_the_same",
    "judge",
]


class Verdict(StrEnum):
    """Of the second mode beside the first."""

    FASTER = "faster"
    SLOWER = "slower"
    NOISE = "within noise"
    TOO_FEW = "too few batches to tell"
    UNSTEADY = "too unsteady to tell"


_OF_A_MODE = {
    noise.Verdict.BETTER: Verdict.FASTER,
    noise.Verdict.WORSE: Verdict.SLOWER,
    noise.Verdict.NOISE: Verdict.NOISE,
    noise.Verdict.TOO_FEW: Verdict.TOO_FEW,
    noise.Verdict.UNSTEADY: Verdict.UNSTEADY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How many times as fast, from neighbouring batches: the median, and its spread."""

    speed_up: float
    lowest: float
    highest: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Something in both modes: medians of all batches in seconds, and what to make of them.

    There is no judgement of what takes no time.
    """

    before: float
    after: float
    judgement: Judgement | None


def compare(before: Mode, after: Mode) -> dict[str, Compared]:
    """The whole batch and every component in both modes, by their keys."""
    return {
        key: Compared(
            before=statistics.median(before.times(key)),
            after=statistics.median(after.times(key)),
            judgement=judge(_ratios(before, after, key)),
        )
        for key in (WHOLE, *(component.key for component in COMPONENTS))
    }


def did_the_same(modes: Sequence[Mode]) -> bool:
    """Whether the batches of all modes came to the same, so that only their time differs."""
    return all(
        len({batch.figures for batch in batches}) == 1
        for batches in zip(*(mode.batches for mode in modes), strict=False)
    )


def judge(ratios: Sequence[float]) -> Judgement | None:
    """What ratios of times say, the first mode's over the second's; None if there are none."""
    if not ratios:
        return None
    speed_up, _, verdict = noise.judge_ratios(ratios, noise.Wanted.MORE)
    return Judgement(
        speed_up=speed_up,
        lowest=min(ratios),
        highest=max(ratios),
        verdict=_OF_A_MODE[verdict],
    )


def _ratios(before: Mode, after: Mode, key: str) -> list[float]:
    """Of batches that were neighbours; what takes no time in one of them has no ratio."""
    pairs = zip(_per_decision(before, key), _per_decision(after, key), strict=False)
    return [first / second for first, second in pairs if first > 0 and second > 0]


def _per_decision(mode: Mode, key: str) -> list[float]:
    batches = zip(mode.times(key), mode.batches, strict=True)
    return [time / batch.figures.decisions for time, batch in batches]
