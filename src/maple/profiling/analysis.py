"""What a session comes to: shares, stages, the use of the machine. Pure, and draws nothing.

A share is of the wall time × the capacity of a level: how many calls were under way at once there,
at the most of each second, on average over the run. Children that come one after the other could
use what their parent could. So the shares of a level of a place add up to at most one, however many
threads, tasks or processes have worked side by side, and those of children to that of their parent.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bridge.histogram import Histogram
from bridge.settings import suggest

from .config import ProfilingConfig
from .errors import NothingRecorded
from .intervals import Intervals, length, union
from .session import (
    MAIN_THREAD,
    Allocation,
    Distribution,
    Feed,
    Operation,
    ProcessPart,
    Session,
)
from .usage import GpuUse, MachineUse, measure_gpus, measure_machine

__all__ = ["Analysis", "Category", "Place", "Row", "analyse", "node_share", "only"]

_NODE_PARTS = ("simulate", "node_encode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An operation where it stands in a place. Times are nanoseconds; None is not measured.

    `covered` is when at least one call was under way, or at most that if `is_bound`; `own` is what
    its children do not explain, and `least` how long that takes with as many at once as there were.
    """

    name: str
    path: tuple[str, ...]
    category: str
    place: str
    calls: int
    busy: float
    own: float
    least: float
    covered: float | None
    is_bound: bool
    capacity: float
    share: float
    own_share: float
    mean: float | None
    shortest: float | None
    longest: float | None
    p50: float | None
    p99: float | None
    memory: Allocation | None = None
    gpu: Allocation | None = None
    laps: tuple[tuple[int, int], ...] = ()
    """Of each lap, the calls that ended in it and how long they took."""

    @property
    def depth(self) -> int:
        return len(self.path) - 1

    @property
    def elapsed(self) -> float:
        """What it covered, each moment once; where that is not known, all of its time."""
        return self.busy if self.covered is None else self.covered

    @property
    def alone(self) -> float:
        """For how long it was under way by itself at the most, each moment once."""
        return min(self.own, self.elapsed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where operations run: threads of one name, in processes of one role, or what a feed tells.

    `rows` is the tree from the top down, each parent before its children.
    """

    name: str
    key: str
    """What it is called in every session, however many processes there were."""
    processes: int
    capacities: tuple[float, ...]
    rows: tuple[Row, ...]
    feed: Feed | None = None

    def level(self, depth: int) -> list[Row]:
        return [row for row in self.rows if row.depth == depth]

    def children(self, row: Row) -> list[Row]:
        return [one for one in self.rows if one.path[:-1] == row.path]

    def labels(self, least: int = 1) -> dict[tuple[str, ...], str]:
        """What to call each row: so many of its last names, or as many as no other row ends with.

        One that is in itself is called by its whole path, if nothing less tells it apart.
        """
        ends = Counter(row.path[-size:] for row in self.rows for size in range(1, row.depth + 2))
        labels = {}
        for path in (row.path for row in self.rows):
            sizes = range(least, len(path))
            enough = next((size for size in sizes if ends[path[-size:]] == 1), len(path))
            labels[path] = " / ".join(path[-enough:])
        return labels

    @property
    def share(self) -> float:
        """How much of its time and capacity was spent in any operation."""
        return sum(row.share for row in self.level(min(row.depth for row in self.rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The operations of a category in a place, by what they do themselves: nothing counts twice.

    Its share is of all that was done there, and of what could have been.
    """

    name: str
    place: str
    own: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """All that a session tells."""

    session: Session
    config: ProfilingConfig
    wall: int
    places: tuple[Place, ...]
    machine: MachineUse
    is_part: bool = False
    """Whether other operations are left out."""
    gpus: tuple[GpuUse, ...] = field(default=())

    @property
    def span(self) -> int:
        """From the first moment that was recorded to the last, with all pauses."""
        bounds = [bound for part in self.session.processes for w in part.windows for bound in w]
        return max(bounds, default=0) - min(bounds, default=0)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        return tuple(itertools.chain.from_iterable(place.rows for place in self.places))

    @property
    def timed(self) -> tuple[Place, ...]:
        """The places whose operations were timed call by call."""
        return tuple(place for place in self.places if place.feed is None)

    @property
    def fed(self) -> tuple[Place, ...]:
        """The places that the bridge tells of."""
        return tuple(place for place in self.places if place.feed is not None)

    @property
    def main(self) -> Place | None:
        """Where the run is driven from: the first place of the main process, if it has any."""
        return next(iter(self.timed), None)

    @property
    def profiled_calls(self) -> int:
        """How many calls were timed one by one."""
        return sum(row.calls for place in self.timed for row in place.rows)

    @property
    def cost_of_calls(self) -> float | None:
        """Nanoseconds that it took to time them; None if nobody measured what a call costs."""
        overhead = self.session.overhead
        if overhead is None:
            return None
        rows = [row for place in self.timed for row in place.rows]
        looked = sum(row.memory.calls for row in rows if row.memory is not None)
        return (self.profiled_calls - looked) * overhead.enabled + looked * overhead.measured

    @property
    def cost_share(self) -> float | None:
        """Of the time in which processes were recorded, what it took to time their calls."""
        cost = self.cost_of_calls
        recorded = sum(
            until - since for part in self.session.processes for since, until in part.windows
        )
        return cost / recorded if cost is not None and recorded else None

    @property
    def looking_share(self) -> float | None:
        """Of one core, what looking at the processes took."""
        overhead = self.session.overhead
        if overhead is None or overhead.sampling_cpu is None or not self.wall:
            return None
        return overhead.sampling_cpu / self.wall

    def count(self, name: str) -> int | None:
        """What was counted under a name, in all processes; None if nobody did."""
        counts = [part.counts[name] for part in self.session.processes if name in part.counts]
        return sum(counts) if counts else None

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        found = []
        for place in self.places:
            own: dict[str, float] = defaultdict(float)
            for row in place.rows:
                own[row.category] += row.own
            wall = place.feed.length if place.feed else self.wall
            idle = max(0.0, wall * place.capacities[0] * (1 - place.share))
            whole = sum(own.values()) + idle
            found += [
                Category(name=name, place=place.name, own=time, share=_quotient(time, whole))
                for name, time in own.items()
            ]
        return tuple(found)


def analyse(session: Session, config: ProfilingConfig | None = None) -> Analysis:
    """Puts the parts of a session together, with its own categories or those of other settings."""
    config = config or ProfilingConfig(categories=session.categories)
    windows = union(_bounds([w for part in session.processes for w in part.windows]))
    wall = length(windows)
    groups: dict[tuple[str, str], list[_Source]] = defaultdict(list)
    for part in session.processes:
        for number, track in enumerate(part.tracks):
            groups[part.role, track.thread].append(_Source(part, number))
    names = _place_names(groups)
    timed = [
        _timed_place(names[key], ", ".join(key), sources, wall, config)
        for key, sources in groups.items()
    ]
    feeds = [(part, feed) for part in session.processes for feed in part.feeds]
    fed = [_fed_place(_feed_name(feed, feeds), feed, config) for _, feed in feeds]
    return Analysis(
        session=session,
        config=config,
        wall=wall,
        places=tuple(place for place in (*timed, *fed) if place.rows),
        machine=measure_machine(
            session.usages,
            session.machine.cores,
            windows,
            session.rss_peak,
            machine_cpu=session.machine_cpu,
            all_cores=session.machine.all_cores,
        ),
        gpus=measure_gpus(session.gpus),
    )


def only(analysis: Analysis, operation: str) -> Analysis:
    """The rows of one operation, and of all that happened in it."""
    names = {row.name for row in analysis.rows}
    if operation not in names:
        raise NothingRecorded(
            f"no operation {operation!r} was recorded; {suggest(operation, names)}"
        )
    places = [
        replace(place, rows=tuple(row for row in place.rows if operation in row.path))
        for place in analysis.places
    ]
    return replace(analysis, places=tuple(place for place in places if place.rows), is_part=True)


# What was timed call by call


@dataclass(frozen=True, slots=True)
class _Source:
    """A track of one process."""

    part: ProcessPart
    number: int

    @property
    def operations(self) -> Iterator[tuple[int, Operation]]:
        """Those of the track that ran, or in which one did, and their numbers in the process."""
        own = [(n, one) for n, one in enumerate(self.part.operations) if one.track == self.number]
        ran = {one.path for _, one in own if one.busy or one.calls}
        shown = {path[:depth] for path in ran for depth in range(1, len(path) + 1)}
        return ((number, one) for number, one in own if one.path in shown)

    def capacity(self, depth: int) -> int:
        """What the level could have used: time × calls at once."""
        capacities = self.part.tracks[self.number].capacities
        return capacities[min(depth, len(capacities) - 1)]


def _timed_place(
    name: str, key: str, sources: Sequence[_Source], wall: int, config: ProfilingConfig
) -> Place:
    capacities = _capacities(sources, wall)
    found: dict[tuple[str, ...], list[tuple[_Source, int, Operation]]] = defaultdict(list)
    for source in sources:
        for number, operation in source.operations:
            found[operation.path].append((source, number, operation))
    grouped = _capacities_of_groups(found, capacities)
    beside = _beside(sources, wall)
    rows = [
        _timed_row(name, path, entries, grouped[path[:-1]], wall, config, beside)
        for path, entries in found.items()
    ]
    return Place(
        name=name,
        key=key,
        processes=len({source.part.pid for source in sources}),
        capacities=capacities,
        rows=tuple(_from_the_top(rows)),
    )


def _timed_row(
    place: str,
    path: tuple[str, ...],
    entries: Sequence[tuple[_Source, int, Operation]],
    capacity: float,
    wall: int,
    config: ProfilingConfig,
    beside: float,
) -> Row:
    operations = [operation for _, _, operation in entries]
    encoded = [operation.hdr for operation in operations if operation.hdr is not None]
    p50, p99 = _percentiles(encoded) if encoded else (None, None)
    busy, own = sum(o.busy for o in operations), sum(o.own for o in operations)
    calls = sum(operation.calls for operation in operations)
    covered, is_bound = _covered(operations, wall)
    shortest = [o.shortest for o in operations if o.shortest is not None]
    longest = [o.longest for o in operations if o.longest is not None]
    most = max(longest, default=0)
    return Row(
        name=path[-1],
        path=path,
        category=config.category(path),
        place=place,
        calls=calls,
        busy=busy,
        own=own,
        least=sum(operation.least for operation in operations) / beside,
        covered=covered,
        is_bound=is_bound,
        capacity=capacity,
        share=_quotient(busy, wall * capacity),
        own_share=_quotient(own, wall * capacity),
        mean=sum(operation.ended for operation in operations) / calls if calls else None,
        shortest=min(shortest, default=None),
        longest=max(longest, default=None),
        p50=None if p50 is None else min(p50, most),
        p99=None if p99 is None else min(p99, most),
        memory=_allocated(operations, "memory"),
        gpu=_allocated(operations, "gpu"),
        laps=tuple(lap for source, number, _ in entries for lap in _laps(source.part, number)),
    )


def _percentiles(encoded: Sequence[str]) -> tuple[int, int]:
    first, *others = map(Histogram.decode, encoded)
    for other in others:
        first.add(other)
    p50, p99 = first.percentiles((50, 99))
    return p50, p99


def _covered(operations: Sequence[Operation], wall: int) -> tuple[int, bool]:
    """For how long at least one of them was under way; whether it may have been less."""
    if len(operations) == 1:
        return operations[0].covered, False
    together = union(_bounds([bounds for one in operations for bounds in one.intervals]))
    most = sum(operation.covered for operation in operations)
    return min(length(together), most, wall), any(operation.rough for operation in operations)


def _beside(sources: Sequence[_Source], wall: int) -> float:
    """How many processes were recorded side by side, on average over the time; at least one."""
    windows = [window for source in sources for window in source.part.windows]
    return max(1.0, _quotient(sum(until - since for since, until in windows), wall))


def _capacities(sources: Sequence[_Source], wall: int) -> tuple[float, ...]:
    """How many calls could be under way at once, level by level, on average over the time."""
    depth = max((len(o.path) for source in sources for _, o in source.operations), default=0)
    offered = [sum(source.capacity(level) for source in sources) for level in range(depth)]
    return tuple(max(1.0, _quotient(level, wall)) for level in offered)


def _capacities_of_groups(
    found: Mapping[tuple[str, ...], Sequence[tuple[_Source, int, Operation]]],
    levels: Sequence[float],
) -> dict[tuple[str, ...], float]:
    """By the path of the parent, how many of its children could be under way at once.

    Children one after the other could use what their parent could. Others could use what their
    level could, and what they have: so their shares are never more than that of their parent.
    """
    children: dict[tuple[str, ...], list[Operation]] = defaultdict(list)
    for path, entries in found.items():
        children[path[:-1]] += [operation for _, _, operation in entries]
    capacities: dict[tuple[str, ...], float] = {(): levels[0] if levels else 1.0}
    for path in sorted(children, key=len):
        if not path:
            continue
        above = capacities[path[:-1]]
        parent = sum(operation.busy for _, _, operation in found[path])
        together = sum(operation.busy for operation in children[path])
        is_in_turn = all(operation.busy == operation.covered for operation in children[path])
        capacities[path] = above
        if together > parent or not is_in_turn:
            capacities[path] = max(levels[len(path)], above * max(1.0, _quotient(together, parent)))
    return capacities


def _allocated(operations: Sequence[Operation], gauge: str) -> Allocation | None:
    found = [one.allocations[gauge] for one in operations if gauge in one.allocations]
    if not found:
        return None
    return Allocation(
        calls=sum(one.calls for one in found),
        total=sum(one.total for one in found),
        peak=max(one.peak for one in found),
    )


def _laps(part: ProcessPart, number: int) -> Iterator[tuple[int, int]]:
    for lap in part.laps:
        if number < len(lap.calls):
            yield lap.calls[number], lap.ended[number]


def _from_the_top(rows: Sequence[Row]) -> Iterator[Row]:
    """Parents before their children, and the largest first."""

    children: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.busy):
        children[row.path[:-1]].append(row)
    waiting = children[()]
    while waiting:
        row = waiting.pop()
        yield row
        waiting += children[row.path]


# What the bridge has timed


def _fed_place(name: str, feed: Feed, config: ProfilingConfig) -> Place:
    wall = feed.length
    rows = []
    for operation in feed.operations:
        above: tuple[str, ...] = ()
        if operation.total is not None:
            above = (f"{feed.kind}_{operation.name}",)
            laps = _fed_laps(feed, operation.name)
            rows.append(
                _fed_row(name, above, operation.total, feed.capacity, wall, config, laps, own=0.0)
            )
        for part, distribution in operation.parts.items():
            if distribution["count"]:
                path = (*above, f"{feed.kind}_{part}")
                laps = _fed_laps(feed, operation.name, part)
                rows.append(_fed_row(name, path, distribution, feed.capacity, wall, config, laps))
    depth = max((row.depth for row in rows), default=0)
    return Place(
        name=name,
        key=name,
        processes=feed.workers,
        capacities=(feed.capacity,) * (depth + 1),
        rows=tuple(rows),
        feed=feed,
    )


def _fed_row(
    place: str,
    path: tuple[str, ...],
    distribution: Distribution,
    capacity: int,
    wall: int,
    config: ProfilingConfig,
    laps: tuple[tuple[int, int], ...],
    own: float | None = None,
) -> Row:
    busy = distribution["mean"] * distribution["count"]
    own = busy if own is None else own
    return Row(
        name=path[-1],
        path=path,
        category=config.category(path),
        place=place,
        calls=distribution["count"],
        busy=busy,
        own=own,
        least=own / capacity,
        covered=None,
        is_bound=False,
        capacity=capacity,
        share=_quotient(busy, wall * capacity),
        own_share=_quotient(own, wall * capacity),
        mean=distribution["mean"],
        shortest=None,
        longest=distribution["max"],
        p50=distribution["p50"],
        p99=distribution["p99"],
        laps=laps,
    )


def _fed_laps(feed: Feed, operation: str, part: str | None = None) -> tuple[tuple[int, int], ...]:
    """Of each lap, how many there were of an operation or of a part of it, and for how long."""
    timed = [lap.wholes if part is None else lap.parts.get(operation, {}) for lap in feed.laps]
    return tuple(lap.get(part or operation, (0, 0)) for lap in timed)


def node_share(feed: Feed) -> float | None:
    """How much of the time of Node's processes went into battles; None if nobody timed that."""
    if feed.kind != "ipc" or not feed.operations:
        return None
    times = [
        part["mean"] * part["count"]
        for operation in feed.operations
        for name, part in operation.parts.items()
        if name in _NODE_PARTS
    ]
    return _quotient(sum(times), feed.length * feed.workers)


# Names and numbers


def _place_names(groups: Mapping[tuple[str, str], Sequence[_Source]]) -> dict[tuple[str, str], str]:
    """By role and thread, in as few words as tell them apart."""
    roles = {role for role, _ in groups}
    names = {}
    for (role, thread), sources in groups.items():
        processes = len({source.part.pid for source in sources})
        where = f"{role} × {processes}" if processes > 1 else role
        is_short = len(roles) == 1 and processes == 1 and thread not in roles
        name = where if thread == MAIN_THREAD else thread if is_short else f"{where}, {thread}"
        names[role, thread] = name
    return names


def _feed_name(feed: Feed, feeds: Sequence[tuple[ProcessPart, Feed]]) -> str:
    title = {"ipc": "IPC", "inference": "inference queue"}[feed.kind]
    alike = [(part, one) for part, one in feeds if one.kind == feed.kind]
    if len(alike) == 1:
        return title
    number = next(i for i, (_, one) in enumerate(alike) if one is feed)
    return f"{title} {number + 1} ({feed.name})"


def _bounds(bounds: Sequence[tuple[int, int]]) -> Intervals:
    return np.array(bounds, np.int64).reshape(-1, 2)


def _quotient(dividend: float, divisor: float) -> float:
    return dividend / divisor if divisor else 0.0
