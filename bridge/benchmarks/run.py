"""Runs rows in turns and says how they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from ..runtime import Runtime
from .rows import ROWS, Plan, ShowdownWebSocket
from .sample import Sample, Spread, ratio, summarise
from .timing_cost import timing_cost

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

    def comparisons(self) -> list[Comparison]:
        made = [_compare(self.samples, *claim) for claim in _CLAIMS]
        if cost := self.notes.get("timing_cost"):
            share = Spread.of(cost["shares_of_cpu_per_decision"])
            made.append(Comparison("share of timing in the CPU of a decision", share, 0.01, False))
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
                    for f, m in zip(few, many, strict=True)
                ]
            ).median
            for side in ("python", "node")
        }

    def as_data(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "plan": asdict(self.plan),
            "rows": {name: summarise(samples) for name, samples in self.samples.items()},
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


def run(
    names: Iterable[str],
    runtime: Runtime,
    plan: Plan,
    machine: dict[str, Any],
    progress: Progress,
) -> Outcome:
    """Measures rows, group by group; within a group in turns, so that all meet the same weather."""
    outcome = Outcome(machine, plan)
    wanted = set(names)
    groups = dict.fromkeys(spec.group for spec in ROWS.values())
    for group in groups:
        rows = [name for name, spec in ROWS.items() if spec.group == group and name in wanted]
        if rows:
            _measure(rows, runtime, plan, outcome, progress)
    if "pool_timed" in outcome.samples:
        progress("timing: measuring what it costs by itself")
        costs = [timing_cost(runtime) for _ in range(plan.repeats)]
        decision = Spread.of([s.cpu_ms_per_decision for s in outcome.samples["pool_timed"]]).median
        outcome.notes["timing_cost"] = {
            "python_us": Spread.of([cost["python_us"] for cost in costs]).median,
            "node_us": Spread.of([cost["node_us"] for cost in costs]).median,
            "shares_of_cpu_per_decision": [sum(c.values()) / (1e3 * decision) for c in costs],
        }
    return outcome


def _measure(
    names: Sequence[str], runtime: Runtime, plan: Plan, outcome: Outcome, progress: Progress
) -> None:
    with ExitStack() as stack:
        rows = {}
        for name in names:
            progress(f"{name}: warming up")
            row = ROWS[name].start(runtime, plan)
            stack.callback(row.close)
            rows[name] = row
            if isinstance(row, ShowdownWebSocket):
                outcome.notes["showdown_websocket"] = {
                    "simulator_processes": row.best.simulator_processes,
                    "concurrency": row.best.concurrency,
                }
        for number in range(plan.repeats):
            for name, row in rows.items():
                sample = row.sample(number)
                outcome.samples.setdefault(name, []).append(sample)
                progress(
                    f"{name}: {number + 1} of {plan.repeats}, {sample.battles_per_s:.1f} battles/s,"
                    f" {sample.cpu_ms_per_decision:.3f} ms CPU per decision"
                )
