"""Runs rows in turns and says how they compare."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import BridgeError
from ..runtime import Runtime
from .child import RowFailed
from .cold import ColdStarts, measure_cold
from .rows import SIMULATOR_FORMATS, Plan, RowSpec, Source, Start, vanilla_row
from .sample import Sample, Spread, compare, summarise

__all__ = ["TARGETS", "Bound", "Comparison", "Duel", "Outcome", "Target", "run", "run_cold"]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a figure is to be; `limit` may be unset, and `aim` is what would be better still."""

    text: str
    limit: float | None = None
    at_least: bool = False
    aim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Bound):
    """What a figure of one row is to be, or what it is to be beside that of another.

    `beside` says how the two are compared: as a ratio, unless it says otherwise.
    """

    above: str
    below: str | None = None
    figure: Callable[[Sample], float]
    beside: Callable[[float, float], float] = operator.truediv

    def measured(self, samples: Mapping[str, Sequence[Sample]]) -> Spread | None:
        """What it is, if the rows that it takes were measured."""
        above = samples.get(self.above)
        if not above:
            return None
        if self.below is None:
            return Spread.of([self.figure(sample) for sample in above])
        below = samples.get(self.below)
        return compare(above, below, self.figure, self.beside) if below else None


def _cpu(above: str, below: str, **bound: Any) -> Target:
    return Target(
        text=f"CPU per decision, {above} / {below}",
        above=above,
        below=below,
        figure=lambda sample: sample.cpu_ms_per_decision,
        **bound,
    )


def _speed(above: str, below: str, **bound: Any) -> Target:
    return Target(
        text=f"battles/s, {above} / {below}",
        above=above,
        below=below,
        figure=lambda sample: sample.battles_per_s,
        at_least=True,
        **bound,
    )


def _node_memory(above: str, below: str) -> Target:
    return Target(
        text=f"memory of Node, {above} / {below}",
        above=above,
        below=below,
        figure=lambda sample: sample.node_memory,
        limit=1.0,
    )


# What the bridge costs was promised as a share of what the simulator as it comes costs; of a
# simulator that is several times faster the same cost is a larger share, which is told beside it.
TARGETS = (
    _cpu("pool_vanilla", "pool", limit=3.0, at_least=True),
    _speed("pool", "pool_vanilla"),
    _node_memory("pool", "pool_vanilla"),
    _cpu("pool_vanilla", "limit_vanilla", limit=1.4),
    _cpu("pool_vanilla", "limit_per_core_vanilla"),
    _cpu("pool", "limit"),
    _cpu("pool", "limit_per_core"),
    _speed("pool_vanilla", "showdown_websocket", limit=2.0),
    _speed("pool", "showdown_websocket"),
    _speed("poke_env_local", "showdown_websocket", limit=3.0),
    _speed("poke_env_serve", "showdown_websocket", limit=1.5),
    _speed("pool_vanilla", "process_per_battle", limit=10.0),
    _speed("pool", "process_per_battle"),
    Target(
        text="resets/s of SinglesEnv, resets_local / resets_showdown",
        above="resets_local",
        below="resets_showdown",
        figure=lambda sample: sample.battles_per_s,
        limit=3.0,
        at_least=True,
    ),
    _cpu("pool_timed_vanilla", "pool_untimed_vanilla", limit=1.01),
    _cpu("pool_timed", "pool_untimed"),
    Target(
        text="Python CPU per decision, rooms_2000 / rooms_64",
        above="rooms_2000",
        below="rooms_64",
        figure=lambda sample: sample.python_cpu_ms_per_decision,
        limit=1.1,
    ),
)
_LEAST_GAIN = 3.0
_LEAST_GAINS = {"gen9randombattle": 4.5}


def simulator_target(format: str) -> Target:
    """What turbo is to gain in a format."""
    return Target(
        text=f"CPU per battle of {format}, vanilla / turbo",
        above=vanilla_row(format),
        below=format,
        figure=lambda sample: sample.node_cpu_ms_per_battle,
        limit=_LEAST_GAINS.get(format, _LEAST_GAIN),
        at_least=True,
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """A bound and what was measured for it."""

    target: Bound
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
            "aim": self.target.aim,
            "at_least": self.target.at_least,
            "reached": self.is_reached,
        }


@dataclass(frozen=True, slots=True)
class Duel:
    """What turbo gains in a format: less CPU time, and no more memory."""

    format: str
    cpu: Comparison
    memory: Comparison


@dataclass(slots=True)
class Outcome:
    """What a run is to measure, all its samples so far, and what they say."""

    machine: dict[str, Any]
    plan: Plan
    rows: Mapping[str, RowSpec]
    targets: Sequence[Target] = TARGETS
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    cold: ColdStarts | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def measured(self, table: str | None = None) -> list[tuple[str, list[Sample]]]:
        """The rows that have samples, of one table or of all, in the order they are listed in."""
        return [
            (name, self.samples[name])
            for name, spec in self.rows.items()
            if name in self.samples and table in (None, spec.table)
        ]

    def comparisons(self) -> list[Comparison]:
        found = [comparison for target in self.targets if (comparison := self.compare(target))]
        if self.cold is not None:
            target = Bound(
                text="from cold to the first answer, vanilla / turbo", limit=2.0, at_least=True
            )
            found.append(Comparison(target, self.cold.gain("answer")))
        return found

    def duels(self) -> list[Duel]:
        """The simulator with turbo beside itself without, by format."""
        return [
            Duel(name, cpu, memory)
            for name in SIMULATOR_FORMATS
            if (cpu := self.compare(simulator_target(name)))
            and (memory := self.compare(_node_memory(name, vanilla_row(name))))
        ]

    def compare(self, target: Target) -> Comparison | None:
        """How what was measured compares with a target, if its rows were."""
        measured = target.measured(self.samples)
        return Comparison(target, measured) if measured else None

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
            "simulator": {
                duel.format: {"cpu": duel.cpu.as_data(), "memory": duel.memory.as_data()}
                for duel in self.duels()
            },
            "cold": self.cold and asdict(self.cold),
            "memory_per_room": self.memory_per_room(),
            "notes": self.notes,
            "failures": self.failures,
        }


def run_cold(outcome: Outcome, runtime: Runtime, progress: Progress) -> None:
    """Measures cold starts; a failure is noted."""
    progress("cold: starting controllers")
    try:
        outcome.cold = measure_cold(runtime, outcome.plan.cold_samples)
    except BridgeError as error:
        outcome.failures.append(f"cold: {error}")
        progress(f"cold: failed, {error}")


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
    repeats = max(getattr(plan, spec.repeats) for spec in rows.values())
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
                    progress(f"{name}: {number + 1} of {repeats}, {rows[name].told(sample)}")
            _require_alike({name for name, spec in rows.items() if spec.alike}, outcome)


def _require_alike(rows: Set[str], outcome: Outcome) -> None:
    """That the last samples are of battles that came out the same."""
    played = {
        name: (sample.battles, sample.decisions, sample.turns)
        for name in rows
        for sample in outcome.samples[name][-1:]
    }
    if len(set(played.values())) > 1:
        raise RowFailed(f"battles that are to be the same are not: {played}")
