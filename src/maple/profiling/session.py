"""What was recorded: plain data, saved and loaded as JSON. Neither records nor concludes.

All times are nanoseconds, and moments are those of the machine's monotonic clock, which all its
processes share. What was not measured is None or absent, never zero.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .errors import ProfilingError, UnreadableSession

__all__ = [
    "MAIN_THREAD",
    "SCHEMA",
    "VERSION",
    "Allocation",
    "Bounds",
    "Distribution",
    "Feed",
    "FeedLap",
    "FeedOperation",
    "GpuSample",
    "Lap",
    "Machine",
    "MachineCpu",
    "Metric",
    "NodeWork",
    "Operation",
    "Overhead",
    "ProcessPart",
    "Sample",
    "Session",
    "Trace",
    "Track",
    "Usage",
    "doubts",
    "flat",
    "load_session",
    "merge_sessions",
    "plain",
]

SCHEMA = "maple.profiling.session"
VERSION = 3

_MAIN = "main"

# Milliseconds: it is told by the clock on the wall, which somebody may set a little meanwhile.
_SAME_BIRTH = 1000

MAIN_THREAD = "MainThread"
"""The track of the thread that the process began with."""

Distribution = dict[str, Any]
"""As the bridge writes it: count, mean, p50 to p99.9 and max in nanoseconds, all counts as hdr."""

Bounds = list[tuple[int, int]]
"""Moments from and to."""


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Plain data that is read strictly."""


class Machine(_Data, frozen=True):
    """Where it was recorded. `boot` names the run of the machine, whose clock the moments are of.

    `cores` is how many we may use of `all_cores`, and `epoch` the nanosecond since 1970 at which
    that clock would have read 0.
    """

    cores: int
    all_cores: int
    cpu: str | None
    memory: int
    system: str
    boot: str
    epoch: int
    versions: dict[str, str | None]


class Allocation(_Data, frozen=True):
    """How far memory rose above where it stood, in bytes: in the calls that looked at it."""

    calls: int
    total: int
    peak: int


class Operation(_Data, frozen=True):
    """An operation where it stands in the tree of its track, and what its calls add up to.

    `ended` is the time of the calls that have ended, `busy` that of all together, `covered` that of
    at least one, `own` that of calls without a child under way, and `least` how long that would
    take with as many at once as there were calls in the track, at the most of each second or so.
    `intervals` are when it was covered; more than that, if `rough`.
    """

    track: int
    path: tuple[str, ...]
    calls: int
    ended: int
    busy: int
    own: int
    least: int
    covered: int
    shortest: int | None
    longest: int | None
    hdr: str | None
    intervals: Bounds
    rough: bool
    allocations: dict[str, Allocation]


class Track(_Data, frozen=True):
    """Threads of the same name, and what each level could have used: time × calls at once."""

    thread: str
    capacities: list[int]


class Lap(_Data, frozen=True):
    """A part of the time, or several that were joined: how many, and how long without pauses.

    For each operation it has the calls that ended in it, and how long these took; besides, what was
    counted in it, and of each metric how many values there were and their sum.
    """

    laps: int
    time: int
    calls: list[int]
    ended: list[int]
    counts: dict[str, int]
    metrics: dict[str, tuple[int, float]]


class Metric(_Data, frozen=True):
    """A quantity of somebody's own: how many values, their sum and limits, and counts by value.

    A value is counted under its neighbour of a hundredth's distance, in `counts`.
    """

    unit: str
    count: int
    total: float
    lowest: float
    highest: float
    last: float
    counts: list[tuple[float, int]]


class Trace(_Data, frozen=True):
    """The latest calls one by one: thread, operation, start, duration. `dropped` came before."""

    threads: list[str]
    thread: list[int]
    operation: list[int]
    start: list[int]
    duration: list[int]
    dropped: int


class FeedOperation(_Data, frozen=True):
    """Something that was timed elsewhere: the whole of it, and the parts that it consists of."""

    name: str
    total: Distribution | None
    parts: dict[str, Distribution]


class NodeWork(_Data, frozen=True):
    """The latest commands that Node's processes worked on, one by one, in columns.

    From `start` on, a process simulates for so long, and then encodes.
    """

    operation: list[str]
    pid: list[int]
    start: list[int]
    simulate: list[int]
    node_encode: list[int]


class FeedLap(_Data, frozen=True):
    """What the bridge says of a lap that somebody has set, or of several that were joined.

    `wholes` has for each operation how many there were and how long they took, and `parts` for each
    of its parts.
    """

    laps: int
    time: int
    counts: dict[str, int]
    wholes: dict[str, tuple[int, int]]
    parts: dict[str, dict[str, tuple[int, int]]]


class Feed(_Data, frozen=True):
    """What the bridge says of an interval, from its own histograms and counts.

    `capacity` is how many trips or rows were under way at once on average, or how many rooms were
    open whenever somebody looked, if that is more; `workers` is how many processes or threads work
    on them. Laps are those that somebody has set; what came after the last of them is in none.
    """

    kind: str
    name: str
    since: int
    until: int
    capacity: int
    workers: int
    operations: list[FeedOperation]
    counts: dict[str, int]
    sizes: dict[str, Distribution]
    node_work: NodeWork | None = None
    laps: list[FeedLap] = []

    @property
    def length(self) -> int:
        return self.until - self.since


class ProcessPart(_Data, frozen=True):
    """What one process has recorded. `windows` is when it did, and `born` as in its usage.

    Of very many windows, those with the shortest pauses between them are joined: their length is
    right, and some of them stand a little earlier than they were.

    `by_hand` says that somebody has set the laps, which are alike then, and not the profiler. A
    part that is not `whole` was written in between: of a worker that was killed, or that goes on.
    """

    role: str
    pid: int
    born: int
    windows: Bounds
    tracks: list[Track]
    operations: list[Operation]
    laps: list[Lap]
    by_hand: bool
    metrics: dict[str, Metric]
    counts: dict[str, int]
    feeds: list[Feed]
    trace: Trace | None
    whole: bool


class Sample(_Data, frozen=True):
    """A process at a look, named by its moment: CPU nanoseconds since its start, resident bytes."""

    look: int
    at: int
    cpu: int
    rss: int


class Usage(_Data, frozen=True):
    """One process of ours, as the system sees it. `born` is when: milliseconds since 1970.

    `rss_peak` is the most that it had while it was watched, also between samples where the system
    keeps count of it (Linux), and else the highest sample. Of a long run not every sample is kept.
    """

    pid: int
    role: str
    born: int
    rss_peak: int
    samples: list[Sample]


class MachineCpu(_Data, frozen=True):
    """The CPU time of all cores at a look of process `pid`, in nanoseconds that only grow.

    `busy` is what any program took, and `ours` what that process did and all that it has started,
    those that have ended too; `steal` is what the hypervisor gave to other machines meanwhile.
    """

    pid: int
    look: int
    at: int
    busy: int
    ours: int
    steal: int | None


class GpuSample(_Data, frozen=True):
    """One look at a GPU: how busy it was, from 0 to 1, and bytes in use. None is what it hides."""

    at: int
    gpu: str
    busy: float | None
    memory: int | None
    capacity: int | None


class Overhead(_Data, frozen=True):
    """What profiling itself took: of a `with` that is off and on, of looking at the system.

    `measured` is what a `with` takes that looks at memory too.
    """

    disabled: float
    enabled: float
    measured: float
    sampling_cpu: int | None
    samples: int


class Session(_Data, frozen=True, kw_only=True):
    """A recorded run, of one process or of several.

    `categories` has the patterns of names by which its operations are grouped.

    `rss_peak` is the most memory that all processes had together, at least: at any look, or when
    one of them rose in between and the others had what they had at the looks around it.
    """

    schema: str = SCHEMA
    version: int = VERSION
    name: str
    began: str
    command: str
    machine: Machine
    categories: dict[str, list[str]]
    settings: dict[str, Any]
    processes: list[ProcessPart]
    usages: list[Usage]
    rss_peak: int | None
    machine_cpu: list[MachineCpu]
    gpus: list[GpuSample]
    overhead: Overhead | None
    torch_events: list[dict[str, Any]] | None = None

    @property
    def unfinished(self) -> list[ProcessPart]:
        """The parts of workers that did not come to their end, or not yet."""
        return [part for part in self.processes if not part.whole]

    @property
    def has_recorded(self) -> bool:
        """Whether any process was recorded at any time."""
        return any(part.windows for part in self.processes)

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def save(self, path: Path) -> None:
        """Writes the file whole or not at all, and makes its folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(path)

    def write(self, path: Path) -> None:
        """Writes the file whole or not at all, into a folder that is there."""
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            unfinished.write_bytes(self.to_json())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run as plain data: of what JSON does not know, what it is as text."""
    data: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=_as_plain, str_keys=True)
    return data


def flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting, with a name that has the names above it."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _as_plain(value: object) -> Any:  # noqa: ANN401 - a number, or a text
    return value.item() if isinstance(value, np.generic) else str(value)


class _Header(msgspec.Struct):
    schema: str
    version: int


def load_session(path: str | Path) -> Session:
    """Reads a session; whatever is wrong with the file is told in one line."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableSession(f"cannot read {path}: {error.strerror}") from error
    if not data.strip():
        raise UnreadableSession(f"{path} is empty")
    try:
        header = msgspec.json.decode(data, type=_Header)
    except msgspec.ValidationError as error:
        raise UnreadableSession(f"{path} is no session of the profiler: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        cut = " or was cut off" if data.lstrip()[:1] == b"{" else ""
        raise UnreadableSession(f"{path} is not JSON{cut}: {error}") from error
    if header.schema != SCHEMA:
        raise UnreadableSession(f"{path} is no session of the profiler, but {header.schema!r}")
    if header.version != VERSION:
        raise UnreadableSession(
            f"{path} is a session of version {header.version}, and this maple reads {VERSION}: "
            "analyse it with the maple that recorded it"
        )
    from .validation import check_session

    try:
        session = msgspec.json.decode(data, type=Session)
        check_session(session)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, UnreadableSession) as error:
        raise UnreadableSession(f"{path} is a damaged session: {error}") from error
    return session


def merge_sessions(sessions: Sequence[Session]) -> Session:
    """The sessions of several processes as one; name and settings are those of the first."""
    first, *others = sessions
    for other in others:
        if other.machine.boot != first.machine.boot:
            raise ProfilingError(
                f"{other.name} was recorded on another machine than {first.name}, or before it was "
                "started again: their clocks do not compare"
            )
    _refuse_parts_given_twice(sessions)
    return msgspec.structs.replace(
        first,
        processes=[part for session in sessions for part in session.processes],
        rss_peak=max((s.rss_peak for s in sessions if s.rss_peak is not None), default=None),
        usages=[
            _with_role(usage, [part for session in sessions for part in session.processes])
            for usage in _merge_usages([usage for session in sessions for usage in session.usages])
        ],
        machine_cpu=_merge_machine_cpu(sessions),
        gpus=sorted((gpu for session in sessions for gpu in session.gpus), key=lambda gpu: gpu.at),
        overhead=_merge_overheads([s.overhead for s in sessions if s.overhead is not None]),
        torch_events=_joined([s.torch_events for s in sessions if s.torch_events is not None]),
    )


def doubts(sessions: Sequence[Session]) -> Iterator[str]:
    """What speaks against that they are parts of one run, which nobody can tell for sure."""
    first = sessions[0]
    main = [one for one in sessions if any(part.role == _MAIN for part in one.processes)]
    for other in main[1:]:
        if other.command != main[0].command:
            yield (
                f"{main[0].name} and {other.name} are put together as parts of one run, but were "
                f"not recorded by the same command: {main[0].command} and {other.command}"
            )
    for number, other in enumerate(sessions):
        rest = [one for place, one in enumerate(sessions) if place != number]
        if number and not any(_are_beside(one, other) for one in rest):
            yield (
                f"{first.name} and {other.name} are put together as parts of one run, but were not "
                "recorded at the same time"
            )


def _are_beside(one: Session, other: Session) -> bool:
    """Whether one was recorded before the other had ended."""
    spans = [
        [bound for part in session.processes for window in part.windows for bound in window]
        for session in (one, other)
    ]
    if not all(spans):
        return True
    return max(map(min, spans)) <= min(map(max, spans))


def _refuse_parts_given_twice(sessions: Sequence[Session]) -> None:
    seen: set[tuple[int, tuple[tuple[int, int], ...]]] = set()
    for session in sessions:
        for part in session.processes:
            key = part.pid, tuple(part.windows)
            if part.windows and key in seen:
                raise ProfilingError(
                    f"the part of process {part.pid} ({part.role}) in {session.name} is given twice"
                )
            seen.add(key)


def _merge_overheads(overheads: Sequence[Overhead]) -> Overhead | None:
    """What a `with` takes as the first has measured it, and all looks of all of them."""
    if not overheads:
        return None
    taken = [one.sampling_cpu for one in overheads if one.sampling_cpu is not None]
    return msgspec.structs.replace(
        overheads[0],
        sampling_cpu=sum(taken) if taken else None,
        samples=sum(one.samples for one in overheads),
    )


def _merge_machine_cpu(sessions: Sequence[Session]) -> list[MachineCpu]:
    """In the order of time. Of a process that another has watched, that one has counted all."""
    watched = {usage.pid for session in sessions for usage in session.usages if usage.role != _MAIN}
    looks = [one for session in sessions for one in session.machine_cpu if one.pid not in watched]
    return sorted(looks, key=lambda one: one.at)


def _merge_usages(usages: Sequence[Usage]) -> list[Usage]:
    """Each process once. Who looked at the same time is heard if it looked more often.

    But each has seen the most memory that it says.
    """
    merged: dict[tuple[int, int], Usage] = {}
    for usage in sorted(usages, key=lambda usage: (usage.samples[0].at, -len(usage.samples))):
        before = merged.get((usage.pid, usage.born))
        if before is None:
            merged[usage.pid, usage.born] = usage
        elif usage.samples[0].at > before.samples[-1].at:
            merged[usage.pid, usage.born] = _one_after_the_other(before, usage)
        else:
            heard = max(before, usage, key=lambda one: len(one.samples))
            most = max(before.rss_peak, usage.rss_peak)
            merged[usage.pid, usage.born] = msgspec.structs.replace(heard, rss_peak=most)
    return list(merged.values())


def _with_role(usage: Usage, parts: Sequence[ProcessPart]) -> Usage:
    """A process that has recorded is called as there: who looks can tell few apart.

    But whoever looked stays the main one.
    """
    roles = [
        part.role
        for part in parts
        if part.pid == usage.pid and abs(part.born - usage.born) < _SAME_BIRTH
    ]
    if not roles or _MAIN in (usage.role, roles[-1]):
        return usage
    return msgspec.structs.replace(usage, role=roles[-1])


def _one_after_the_other(before: Usage, after: Usage) -> Usage:
    return msgspec.structs.replace(
        before,
        rss_peak=max(before.rss_peak, after.rss_peak),
        samples=[*before.samples, *after.samples],
    )


def _joined(lists: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]] | None:
    return [event for events in lists for event in events] if lists else None
