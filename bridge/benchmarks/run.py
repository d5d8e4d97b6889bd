"""Runs rows in turns and says how they compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import BridgeError
from ..runtime import Runtime
from .rows import Plan, RowSpec, Source, Start
from .sample import Sample, Spread, ratio, summarise

__all__ = ["Comparison", "Outcome", "Target", "run"]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure of one row is to be, divided by that of another; `limit` may be unset."""

    text: str
    above: str
    below: str
    figure: Callable[[Sample], float]
    limit: float | None = None
    at_least: bool = False


TARGETS = (
    Target(
        "CPU per decision, pool / limit",
        above="pool",
        below="limit",
        figure=lambda sample: sample.cpu_ms_per_decision,
        limit=1.4,
        at_least=False,
    ),
    Target(
        "CPU per decision, pool / limit_per_core",
        above="pool",
        below="limit_per_core",
        figure=lambda sample: sample.cpu_ms_per_decision,
    ),
    Target(
        "battles/s, pool / showdown_websocket",
        above="pool",
        below="showdown_websocket",
        figure=lambda sample: sample.battles_per_s,
        limit=2.0,
        at_least=True,
    ),
    Target(
        "battles/s, pool / process_per_battle",
        above="pool",
        below="process_per_battle",
        figure=lambda sample: sample.battles_per_s,
        limit=10.0,
        at_least=True,
    ),
    Target(
        "CPU per decision, timing on / off",
        above="pool_timed",
        below="pool_untimed",
        figure=lambda sample: sample.cpu_ms_per_decision,
        limit=1.01,
        at_least=False,
    ),
    Target(
        "Python CPU per decision, 2,000 rooms / 64 rooms",
        above="rooms_2000",
        below="rooms_64",
        figure=lambda sample: sample.python_cpu_ms_per_decision,
        limit=1.1,
        at_least=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A target and what was measured for it."""

    target: Target
    measured: Spread

    @property
    def is_reached(self) -> bool | None:
        """Whether it holds; None if there is no limit to compare with."""
        median, target = self.measured.median, self.target
        if target.limit is None:
            return None
        return median >= target.limit if target.at_least else median <= target.limit

    def as_data(self) -> dict[str, Any]:
        return {
            "comparison": self.target.text,
            "measured": asdict(self.measured),
            "limit": self.target.limit,
            "at_least": self.target.at_least,
            "reached": self.is_reached,
        }


@dataclass(slots=True)
class Outcome:
    """What a run is to measure, all its samples so far, and what they say."""

    machine: dict[str, Any]
    plan: Plan
    rows: Mapping[str, RowSpec]
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def measured(self) -> list[tuple[str, list[Sample]]]:
        """The rows that have samples, in the order in which they are listed."""
        return [(name, self.samples[name]) for name in self.rows if name in self.samples]

    def comparisons(self) -> list[Comparison]:
        return [
            Comparison(
                target,
                ratio(self.samples[target.above], self.samples[target.below], target.figure),
            )
            for target in TARGETS
            if self.samples.keys() >= {target.above, target.below}
        ]

    def memory_per_room(self) -> dict[str, float]:
        """Bytes that an open room adds in Python and in Node, from few and from many rooms."""
        few, many = self.samples.get("rooms_64"), self.samples.get("rooms_2000")
        if not few or not many:
            return {}
        return {
            side: Spread.of(
                [
                    (getattr(m, f"{side}_memory") - getattr(f, f"{side}_memory")) / (2000 - 64)
                    for f, m in zip(few, many, strict=False)
                ]
            ).median
            for side in ("python", "node")
        }

    def as_data(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "plan": asdict(self.plan),
            "rows": {name: summarise(samples) for name, samples in self.measured()},
            "comparisons": [comparison.as_data() for comparison in self.comparisons()],
            "memory_per_room": self.memory_per_room(),
            "notes": self.notes,
            "failures": self.failures,
        }


def run(outcome: Outcome, runtime: Runtime, progress: Progress) -> None:
    """Measures rows, group by group, and notes each sample in the outcome as soon as it is taken.

    Within a group the samples are taken in turns, so that all rows meet the same weather. A group
    that fails is noted, and does not keep the others from being measured.
    """
    for group in dict.fromkeys(spec.group for spec in outcome.rows.values()):
        try:
            _measure(group, runtime, outcome, progress)
        except BridgeError as error:
            outcome.failures.append(f"{group}: {error}")
            progress(f"{group}: failed, {error}")


def _measure(group: str, runtime: Runtime, outcome: Outcome, progress: Progress) -> None:
    plan = outcome.plan
    rows = {name: spec for name, spec in outcome.rows.items() if spec.group == group}
    is_fine = any(spec.is_fine for spec in rows.values())
    repeats = plan.fine_repeats if is_fine else plan.repeats
    with ExitStack() as stack:
        sources: dict[Start, Source] = {}
        for name, spec in rows.items():
            if spec.start not in sources:
                progress(f"{name}: warming up")
                source = stack.enter_context(spec.start(runtime, plan))
                sources[spec.start] = source
                outcome.notes |= source.notes
        in_turn = list(sources.values())
        for number in range(repeats):
            for source in in_turn if number % 2 else reversed(in_turn):
                taken = source.sample(number)
                for name in rows.keys() & taken.keys():
                    sample = taken[name]
                    outcome.samples.setdefault(name, []).append(sample)
                    progress(
                        f"{name}: {number + 1} of {repeats}, {sample.battles_per_s:.1f} battles/s,"
                        f" {sample.cpu_ms_per_decision:.3f} ms CPU per decision"
                    )
