"""What a measurement found: plain data, to be saved and loaded. Neither measures nor draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import BridgeError

__all__ = [
    "Counts",
    "Distribution",
    "Ending",
    "Machine",
    "Moment",
    "Operation",
    "ProcessUse",
    "Report",
    "UnreadableReport",
]

SCHEMA = 1
_ENDED_TO_CUT = 4

Ending = Literal["complete", "interrupted", "failed"]

Distribution = dict[str, Any]
"""As in `registry.stats()`: count, mean, p50 to p99.9 and max in nanoseconds, all counts as hdr."""


class UnreadableReport(BridgeError):
    """Raised when a file is not a throughput report that this version can read."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured. None is what is not known, as of a server on another machine.

    `left` is what turbo left to vanilla, and why.
    """

    cpus: int | None = None
    cpu_model: str | None = None
    memory: int | None = None
    load: float | None = None
    system: str | None = None
    python: str | None = None
    node: str | None = None
    simulator: str | None = None
    turbo: bool | None = None
    left: tuple[str, ...] = ()
    maple: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How often things happened. None is a count that cannot be told."""

    battles_opened: int | None
    battles_ended: int | None
    battles_moved: int | None
    battles_poisoned: int | None
    decisions: int | None
    turns: int | None
    starts: int | None
    failed_starts: int | None
    deaths: int | None
    commands: int | None
    frames: int | None
    bytes_out: int | None
    bytes_in: int | None
    writes: int | None
    reads: int | None
    recycled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What one process used while it was watched.

    `watched` is for how long that was: less than the whole for one that came or went meanwhile.
    One that was `born` then is charged all it ever used, its start and warm-up included.
    `source` says who measured it: the operating system, the server itself, or nobody. `warmth`
    is how warm a Node process was in the end, from 0 to 1.
    """

    role: Literal["python", "node"]
    pid: int | None
    state: str
    born: bool
    source: Literal["system", "server"] | None
    watched: float
    cpu_seconds: float | None
    cpu_share: float | None
    cpu_ms_per_decision: float | None
    rss_before: int | None
    rss_peak: int | None
    rss_after: int | None
    rooms_peak: int | None
    rss_per_room: float | None
    warmth: float | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """The round trips of one operation: the whole of them, and each phase."""

    name: str
    total: Distribution
    phases: dict[str, Distribution]


@dataclass(frozen=True, slots=True)
class Moment:
    """Where things stood at some time; everything but rooms counts from the start."""

    seconds: float
    battles: int | None
    decisions: int | None
    rooms: int
    python_cpu: float | None
    node_cpu: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """A measured interval: what happened in it, how long it took, and what it cost."""

    kind: Literal["run", "attach"]
    subject: str
    command: str
    began: str
    seconds: float
    ending: Ending
    failure: str | None
    settings: dict[str, Any]
    machine: Machine
    counts: Counts
    ever: Counts
    rooms_before: int
    rooms_after: int
    processes: tuple[ProcessUse, ...]
    operations: tuple[Operation, ...]
    timeline: tuple[Moment, ...]
    looks: int
    looking_cpu: float | None

    @property
    def rates(self) -> dict[str, float | None]:
        """The figures that follow from the counts; None where there is nothing to divide by."""
        counts, seconds = self.counts, self.seconds
        battles = None if self.cuts_battles else counts.battles_ended
        turns = None if self.cuts_battles else counts.turns
        return {
            "battles_per_s": _quotient(counts.battles_ended, seconds),
            "decisions_per_s": _quotient(counts.decisions, seconds),
            "turns_per_s": _quotient(counts.turns, seconds),
            "frames_out_per_s": _quotient(counts.commands, seconds),
            "frames_in_per_s": _quotient(counts.frames, seconds),
            "bytes_out_per_s": _quotient(counts.bytes_out, seconds),
            "bytes_in_per_s": _quotient(counts.bytes_in, seconds),
            "writes_per_s": _quotient(counts.writes, seconds),
            "reads_per_s": _quotient(counts.reads, seconds),
            "decisions_per_battle": _quotient(counts.decisions, battles),
            "turns_per_battle": _quotient(counts.turns, counts.battles_ended),
            "frames_out_per_turn": _quotient(counts.commands, turns),
            "frames_in_per_turn": _quotient(counts.frames, turns),
            "bytes_out_per_decision": _quotient(counts.bytes_out, counts.decisions),
            "bytes_in_per_decision": _quotient(counts.bytes_in, counts.decisions),
            "frames_per_write": _quotient(counts.commands, counts.writes),
            "frames_per_read": _quotient(counts.frames, counts.reads),
            "python_cpu_ms_per_decision": self.cpu_ms_per_decision("python"),
            "node_cpu_ms_per_decision": self.cpu_ms_per_decision("node"),
        }

    def cpu_seconds(self, role: str) -> float | None:
        """What all processes of a role used together; None if that is not known of each."""
        used = [process.cpu_seconds for process in self.processes if process.role == role]
        known = [cpu for cpu in used if cpu is not None]
        return sum(known) if known and len(known) == len(used) else None

    def cpu_ms_per_decision(self, role: str) -> float | None:
        cpu = self.cpu_seconds(role)
        return None if cpu is None else _quotient(cpu * 1000, self.counts.decisions)

    @property
    def cuts_battles(self) -> bool:
        """Whether many battles began before it, or ended after it, beside those that ended in it.

        Turns and battles are counted when a battle ends, all else at once, so that their quotients
        then say little.
        """
        cut = max(self.rooms_before, self.rooms_after)
        return (self.counts.battles_ended or 0) < _ENDED_TO_CUT * cut

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self), "rates": self.rates}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        schema = data.get("schema")
        if schema != SCHEMA:
            raise UnreadableReport(
                f"not a throughput report of schema {SCHEMA}: it says {schema!r}"
            )
        plain = {name: data[name] for name in cls.__slots__}
        return cls(
            **plain
            | {
                "machine": Machine(
                    **data["machine"] | {"left": tuple(data["machine"].get("left", ()))}
                ),
                "counts": Counts(**data["counts"]),
                "ever": Counts(**data["ever"]),
                "processes": tuple(ProcessUse(**process) for process in data["processes"]),
                "operations": tuple(Operation(**operation) for operation in data["operations"]),
                "timeline": tuple(Moment(**moment) for moment in data["timeline"]),
            }
        )

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Report:
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls.from_dict(dict(data))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableReport(f"{path} is not a throughput report: {error}") from error


def _quotient(dividend: float | None, divisor: float | None) -> float | None:
    return dividend / divisor if dividend is not None and divisor else None
