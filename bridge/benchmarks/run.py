"""Runs rows in turns and says how they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from ..runtime import Runtime
from .rows import ROWS, Plan, RowSpec, ShowdownWebSocket, Source
from .sample import Sample, Spread, ratio, summarise

__all__ = ["Comparison", "Outcome", "run"]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A promise, the figure that was measured for it, and whether it holds."""

    claim: str
    measured: Spread
    limit: float
    at_least: bool

    @property
    def holds(self) -> bool:
        median = self.measured.median
        return median >= self.limit if self.at_least else median <= self.limit


@dataclass(slots=True)
class Outcome:
    """All samples of a run, and what they say."""

    machine: dict[str, Any]
    plan: Plan
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, list[Sample]]]:
        """The rows that were measured, in the order in which they are listed."""
        return [(name, self.samples[name]) for name in ROWS if name in self.samples]

    def comparisons(self) -> list[Comparison]:
        made = (_compare(self.samples, *claim) for claim in _CLAIMS)
        return [comparison for comparison in made if comparison is not None]

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
            "rows": {name: summarise(samples) for name, samples in self.rows()},
            "comparisons": [asdict(c) | {"holds": c.holds} for c in self.comparisons()],
            "memory_per_room": self.memory_per_room(),
            "notes": self.notes,
        }


Claim = tuple[str, str, str, Callable[[Sample], float], float, bool]

_CLAIMS: tuple[Claim, ...] = (
    (
        "CPU per decision, pool / limit",
        "pool",
        "limit",
        lambda sample: sample.cpu_ms_per_decision,
        1.4,
        False,
    ),
    (
        "battles/s, pool / showdown_websocket",
        "pool",
        "showdown_websocket",
        lambda sample: sample.battles_per_s,
        2.0,
        True,
    ),
    (
        "battles/s, pool / process_per_battle",
        "pool",
        "process_per_battle",
        lambda sample: sample.battles_per_s,
        10.0,
        True,
    ),
    (
        "CPU per decision, timing on / off",
        "pool_timed",
        "pool_untimed",
        lambda sample: sample.cpu_ms_per_decision,
        1.01,
        False,
    ),
    (
        "Python CPU per decision, 2,000 rooms / 64 rooms",
        "rooms_2000",
        "rooms_64",
        lambda sample: sample.python_cpu_ms_per_decision,
        1.1,
        False,
    ),
)


def _compare(
    samples: dict[str, list[Sample]],
    claim: str,
    above: str,
    below: str,
    figure: Callable[[Sample], float],
    limit: float,
    at_least: bool,
) -> Comparison | None:
    if above not in samples or below not in samples:
        return None
    return Comparison(claim, ratio(samples[above], samples[below], figure), limit, at_least)


def run(names: Iterable[str], runtime: Runtime, outcome: Outcome, progress: Progress) -> None:
    """Measures rows, group by group, and notes each sample in the outcome as soon as it is taken.

    Within a group the samples are taken in turns, so that all rows meet the same weather.
    """
    wanted = set(names)
    for group in dict.fromkeys(spec.group for spec in ROWS.values()):
        rows = {name: ROWS[name] for name in ROWS if ROWS[name].group == group and name in wanted}
        if rows:
            _measure(rows, runtime, outcome, progress)


def _measure(
    rows: dict[str, RowSpec], runtime: Runtime, outcome: Outcome, progress: Progress
) -> None:
    plan = outcome.plan
    is_fine = any(spec.is_fine for spec in rows.values())
    repeats = plan.fine_repeats if is_fine else plan.repeats
    with ExitStack() as stack:
        sources: dict[Callable[[Runtime, Plan], Source], Source] = {}
        for name, spec in rows.items():
            if spec.start in sources:
                continue
            progress(f"{name}: warming up")
            source = sources[spec.start] = spec.start(runtime, plan)
            stack.callback(source.close)
            if isinstance(source, ShowdownWebSocket):
                outcome.notes["showdown_websocket"] = {
                    "simulator_processes": source.best.simulator_processes,
                    "concurrency": source.best.concurrency,
                }
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
