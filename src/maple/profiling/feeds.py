"""What the bridge has timed and counted itself, read at two moments: nothing is timed twice."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec
import structlog

from bridge.histogram import Histogram
from bridge.throughput.difference import operations_between, recorded_between
from bridge.timing import Trips

from .feed_laps import FeedLaps, FeedSums, Timed, at_most
from .session import Distribution, Feed, FeedOperation, NodeWork

__all__ = ["QUEUE_PARTS", "Source", "Tells", "is_queue", "join_feeds"]

log = structlog.get_logger("maple.profiling")

Answer = TypeVar("Answer")

_COUNTED = (
    "battles_opened",
    "battles_ended",
    "battles_moved",
    "decisions",
    "decisions_ended",
    "turns",
    "starts",
    "deaths",
)
_TRAFFIC = ("commands", "frames", "bytes_out", "bytes_in", "writes", "reads")
_MOST_WORK = 100_000
_OF_QUEUE = ("rows", "batches", "failed_batches")
QUEUE_PARTS = ("queue_wait", "batch_build", "forward")
"""What a queue tells of how long its rows and batches took."""


@runtime_checkable
class Tells(Protocol):
    """A registry, an environment or an inference queue: whatever has `stats`."""

    def stats(self) -> dict[str, Any]: ...


@runtime_checkable
class _KeepsTrips(Protocol):
    """A registry or an environment, whose round trips can be looked at one by one."""

    def keep_trips(self, count: int) -> None: ...

    def latest_trips(self) -> Trips: ...


class Source:
    """Something of the bridge that is watched from when it is made until it is closed.

    What happens while it is paused does not count. So many of its latest round trips are kept one
    by one. `when_closed` is told of it, as nobody has to hold it any more then.
    """

    def __init__(
        self,
        name: str,
        tells: Tells,
        clock: Callable[[], int],
        keep: int,
        when_closed: Callable[[Source], None],
    ) -> None:
        self.name = name
        self._tells: Tells | None = tells
        self._clock = clock
        self._when_closed = when_closed
        self._keep = keep if isinstance(tells, _KeepsTrips) else 0
        self._trips: Trips | None = None
        if isinstance(tells, _KeepsTrips):
            tells.keep_trips(keep)
        self._past: list[Feed] = []
        self._laps = FeedLaps()
        self._is_paused = False
        self._begin(tells.stats())

    def _begin(self, stats: dict[str, Any]) -> None:
        self._before = self._after = stats
        self._since = self._until = self._clock()
        self._rooms = _rooms(stats)

    def watches(self, tells: Tells) -> bool:
        return self._tells is tells

    def read(self, *, trips: bool = True) -> None:
        """Takes note of where things stand; of all trips, or of their sums alone."""
        if self._is_paused:
            return
        after = self._ask(self._stats_and_trips if trips else _stats)
        if after is not None:
            self._after, self._until = after, self._clock()
            self._rooms = max(self._rooms, _rooms(after))

    def _stats_and_trips(self, tells: Tells) -> dict[str, Any]:
        stats = tells.stats()
        if self._keep and isinstance(tells, _KeepsTrips):
            self._trips = tells.latest_trips()
        return stats

    def _ask(self, question: Callable[[Tells], Answer]) -> Answer | None:
        """What it answers; None if it tells nothing more, and then it is left alone."""
        if self._tells is None:
            return None
        try:
            return question(self._tells)
        except Exception as error:  # noqa: BLE001 - it must not take all else that was recorded along
            log.warning(
                "what the profiler watches says no more: close the source before it is closed",
                source=self.name,
                cause=repr(error),
            )
            self._end()
            return None

    def lap(self) -> None:
        """Ends a lap, when everything else does."""
        self.read(trips=False)
        if self._tells is not None and not self._is_paused:
            self._laps.mark(*self._since_pause())

    def pause(self) -> None:
        """What happens from here on does not count."""
        self.read()
        self._is_paused = True

    def resume(self) -> None:
        """Counts from here on, beside what has counted before."""
        stats = self._ask(_stats) if self._is_paused else None
        if stats is not None:
            self._past = self._without_laps()
            self._laps.pause(*self._since_pause())
            self._trips = None
            self._is_paused = False
            self._begin(stats)

    def clear(self, *, fresh: bool = True) -> None:
        """Forgets what has counted: up to now, if it may be asked, or up to the last reading."""
        if fresh:
            self.read()
        self._past, self._trips = [], None
        self._laps = FeedLaps()
        self._begin(self._after)

    def close(self) -> None:
        """Reads for the last time, as what is watched may be gone afterwards."""
        self.read()
        self._ask(_keep_no_trips)
        self._end()

    def forget(self) -> None:
        """Ends it without a word to anybody: what it would tell belongs nowhere any more."""
        self._tells = None

    def _end(self) -> None:
        if self._tells is not None:
            self._tells = None
            self._when_closed(self)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def feeds(self) -> list[Feed]:
        """What happened in between."""
        return [
            msgspec.structs.replace(feed, laps=self._laps.describe(feed.kind))
            for feed in self._without_laps()
        ]

    def _without_laps(self) -> list[Feed]:
        if self._until <= self._since:
            return self._past
        before, after = self._before, self._after
        found = []
        if "round_trips" in after:
            found.append(self._round_trips(before, after))
        if queue_after := _queue(after):
            found.append(self._inference(_queue(before), queue_after))
        return join_feeds([*self._past, *found], self._keep)

    def _since_pause(self) -> tuple[int, dict[str, FeedSums]]:
        """For how long it has counted, and what each kind of feed came to in that time."""
        return self._until - self._since, _sums_between(self._before, self._after)

    def _round_trips(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Feed:
        between = operations_between(before["round_trips"], after["round_trips"])
        operations = [
            FeedOperation(name=one.name, total=one.total, parts=one.phases) for one in between
        ]
        return Feed(
            kind="ipc",
            name=self.name,
            since=self._since,
            until=self._until,
            capacity=max(self._rooms, self._at_once(operations)),
            workers=after["pool"]["size"],
            operations=operations,
            counts=_counts_of_trips(before, after),
            sizes={},
            node_work=self._node_work(),
        )

    def _node_work(self) -> NodeWork | None:
        trips = self._trips
        if trips is None:
            return None
        kept = [number for number, start in enumerate(trips.start) if start >= self._since]
        if not kept:
            return None
        columns = trips._asdict()
        return NodeWork(**{name: [column[n] for n in kept] for name, column in columns.items()})

    def _inference(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Feed:
        parts = {part: recorded_between(before.get(part), after[part]) for part in QUEUE_PARTS}
        parts = {
            part: distribution for part, distribution in parts.items() if distribution["count"]
        }
        operations = [FeedOperation(name="queue", total=None, parts=parts)] if parts else []
        sizes = recorded_between(before.get("batch_size"), after["batch_size"])
        return Feed(
            kind="inference",
            name=self.name,
            since=self._since,
            until=self._until,
            capacity=self._at_once(operations),
            workers=1,
            operations=operations,
            counts=_difference(before, after, _OF_QUEUE),
            sizes={"batch_size": sizes} if sizes["count"] else {},
        )

    def _at_once(self, operations: list[FeedOperation]) -> int:
        """At least so many were under way together, or their times would not fit in."""
        wholes = [
            w for one in operations for w in ([one.total] if one.total else one.parts.values())
        ]
        together: float = sum(whole["mean"] * whole["count"] for whole in wholes)
        return max(1, math.ceil(together / (self._until - self._since)))


def join_feeds(feeds: Sequence[Feed], keep: int = _MOST_WORK) -> list[Feed]:
    """Those of one kind and name as one, as if there had been no time between them.

    So many commands that Node worked on are kept one by one.
    """
    groups: dict[tuple[str, str], list[Feed]] = defaultdict(list)
    for feed in feeds:
        groups[feed.kind, feed.name].append(feed)
    return [alike[0] if len(alike) == 1 else _joined(alike, keep) for alike in groups.values()]


def _joined(feeds: Sequence[Feed], keep: int) -> Feed:
    first = feeds[0]
    counts: Counter[str] = Counter()
    named: dict[str, list[FeedOperation]] = defaultdict(list)
    sizes: dict[str, list[Distribution]] = defaultdict(list)
    for feed in feeds:
        counts.update(feed.counts)
        for operation in feed.operations:
            named[operation.name].append(operation)
        for name, distribution in feed.sizes.items():
            sizes[name].append(distribution)
    return Feed(
        kind=first.kind,
        name=first.name,
        since=first.since,
        until=first.since + sum(feed.length for feed in feeds),
        capacity=max(feed.capacity for feed in feeds),
        workers=max(feed.workers for feed in feeds),
        operations=[_joined_operations(alike) for alike in named.values()],
        counts=dict(counts),
        sizes={name: _together(alike) for name, alike in sizes.items()},
        node_work=_joined_work([f.node_work for f in feeds if f.node_work is not None], keep),
        laps=at_most([lap for feed in feeds for lap in feed.laps]),
    )


def _joined_work(works: Sequence[NodeWork], keep: int) -> NodeWork | None:
    if not works or not keep:
        return None
    names = NodeWork.__struct_fields__
    return NodeWork(*([one for w in works for one in getattr(w, name)][-keep:] for name in names))


def _joined_operations(alike: Sequence[FeedOperation]) -> FeedOperation:
    totals = [one.total for one in alike if one.total is not None]
    parts: dict[str, list[Distribution]] = defaultdict(list)
    for one in alike:
        for name, distribution in one.parts.items():
            parts[name].append(distribution)
    return FeedOperation(
        name=alike[0].name,
        total=_together(totals) if totals else None,
        parts={name: _together(distributions) for name, distributions in parts.items()},
    )


def _together(distributions: Sequence[Distribution]) -> Distribution:
    whole = Histogram()
    for distribution in distributions:
        whole.add(Histogram.decode(distribution["hdr"]))
    return whole.summary() | {"hdr": whole.encode()}


def _sums_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, FeedSums]:
    """What the feeds came to by kind, as they are named in a session."""
    found = {}
    if "round_trips" in after:
        then, now = (_timed_trips(stats["round_trips"]) for stats in (before, after))
        found["ipc"] = FeedSums(_counts_of_trips(before, after), now).since(FeedSums({}, then))
    if queue := _queue(after):
        earlier = _queue(before)
        counts = _difference(earlier, queue, _OF_QUEUE)
        then, now = _timed_queue(earlier), _timed_queue(queue)
        found["inference"] = FeedSums(counts, now).since(FeedSums({}, then))
    return found


def _timed_trips(trips: Mapping[str, Any]) -> Timed:
    found: Timed = {}
    for name, operation in trips.items():
        found[name, None] = _sum(operation["total"])
        for phase, distribution in operation["phases"].items():
            found[name, phase] = _sum(distribution)
    return found


def _timed_queue(stats: Mapping[str, Any]) -> Timed:
    return {("queue", part): _sum(stats[part]) for part in QUEUE_PARTS if part in stats}


def _sum(distribution: Distribution) -> tuple[int, int]:
    return distribution["count"], round(distribution["mean"] * distribution["count"])


def _counts_of_trips(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    counts = _difference(before["counters"], after["counters"], _COUNTED)
    return counts | _difference(before["traffic"], after["traffic"], _TRAFFIC)


def _stats(tells: Tells) -> dict[str, Any]:
    return tells.stats()


def _keep_no_trips(tells: Tells) -> None:
    if isinstance(tells, _KeepsTrips):
        tells.keep_trips(0)


def is_queue(stats: Mapping[str, Any]) -> bool:
    return "batch_size" in stats


def _queue(stats: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is told of an inference queue, if there is one."""
    return stats if is_queue(stats) else stats.get("inference") or {}


def _rooms(stats: Mapping[str, Any]) -> int:
    return int(stats["pool"]["rooms"]) if "pool" in stats else 0


def _difference(
    before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, int]:
    return {name: after[name] - before.get(name, 0) for name in names if name in after}
