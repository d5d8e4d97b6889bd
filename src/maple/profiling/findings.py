"""What to do about a session: where it is slow, what that could gain at most, and what to try.

Everything here follows from an analysis; nothing is known that was not measured. Operations are
judged by their own time: what a parent's children explain is theirs. Where that takes too much and
none of them does, it is the parent as a whole that is named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bridge.throughput.quantities import percent

from .advice import WAIT_FOR_NODE, advise
from .analysis import Analysis, Place, Row, node_share

__all__ = [
    "CRITICAL_SHARE",
    "LARGE",
    "SLOW",
    "Bottleneck",
    "Findings",
    "Recommendation",
    "Stage",
    "find",
]

CRITICAL_SHARE = 0.30
"""Of the time, more than which is CRITICAL."""
SLOW = 100_000_000
"""Nanoseconds a call, more than which is SLOW."""
LARGE = 100_000_000
"""Bytes that memory rises by, more than which is MEMORY or GPU MEMORY."""

_WEIGHTS = {"share": 40.0, "per_call": 30.0, "memory": 15.0, "gpu": 15.0}
_WAITING = "Waiting"
_NODE = "Node"
_NODE_WORK = ("ipc_simulate", "ipc_node_encode")
_QUEUE_WORK = ("inference_batch_build", "inference_forward")
"""Of what the bridge tells, what is done one after the other. All else is waiting, or shared: each
of the frames that are written or read together has the time of all."""

Severity = Literal["CRITICAL", "SLOW", "MEMORY", "GPU MEMORY"]
_OF_TIME: tuple[Severity, ...] = ("CRITICAL", "SLOW")
_SEVERITIES: tuple[Severity, ...] = (*_OF_TIME, "MEMORY", "GPU MEMORY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """An operation in a place, with all its rows there, and how much it stands in the way.

    The score is 0 to 100: 40 for its share of the time, 30 for the time of a call (all of it from
    100 ms on), 15 each for memory and GPU memory (from 100 MB on). What was not measured adds
    nothing. The share is of the wall time: how much of it could go with this at most; of Node's
    work, of the time of its processes.
    """

    name: str
    place: str
    category: str
    score: float
    share: float
    calls: int
    own: float
    per_call: float | None
    memory: int | None
    gpu: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A step on the way of a run: how much of its capacity was in use, and what it is worth.

    `gain` is how many times faster the whole run could be at most if this took no time at all
    (Amdahl's law): infinite where nothing would be left of the run, as far as was measured, and
    None where that cannot be told.
    """

    name: str
    operation: str
    """Its last name; several of a place may have it."""
    place: str
    capacity: float
    busy: float
    utilisation: float
    gain: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What stands out, by how much, and what to try."""

    severity: Severity
    operation: str
    place: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    bottlenecks: tuple[Bottleneck, ...]
    stages: tuple[Stage, ...]
    recommendations: tuple[Recommendation, ...]

    def about(self, analysis: Analysis) -> Findings:
        """Those of the operations that an analysis shows, of one that has shown more."""
        shown = {(row.place, row.name) for row in analysis.rows}
        return Findings(
            bottlenecks=tuple(one for one in self.bottlenecks if (one.place, one.name) in shown),
            stages=tuple(one for one in self.stages if (one.place, one.operation) in shown),
            recommendations=tuple(
                one for one in self.recommendations if (one.place, one.operation) in shown
            ),
        )


def find(analysis: Analysis) -> Findings:
    bottlenecks = sorted(_bottlenecks(analysis), key=lambda found: -found.score)
    return Findings(
        bottlenecks=tuple(bottlenecks),
        stages=tuple(sorted(_stages(analysis), key=lambda stage: -(stage.gain or 0.0))),
        recommendations=tuple(
            sorted(
                (
                    *_recommendations(analysis, bottlenecks),
                    *_about_wholes(analysis, bottlenecks),
                ),
                key=lambda found: _SEVERITIES.index(found.severity),
            )
        ),
    )


# Bottlenecks


def _bottlenecks(analysis: Analysis) -> Iterator[Bottleneck]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    places = {place.name: place for place in analysis.timed}
    for place in analysis.timed:
        for row in place.rows:
            groups[place.name, row.name].append(row)
    for (name, _), rows in groups.items():
        removable = _removable(places[name], rows, analysis.wall)
        yield _bottleneck(rows, removable / analysis.wall if analysis.wall else 0.0)
    for place in analysis.fed:
        yield from _fed_bottlenecks(place)


def _fed_bottlenecks(place: Place) -> Iterator[Bottleneck]:
    assert place.feed is not None
    for names, workers in ((_NODE_WORK, place.feed.workers), (_QUEUE_WORK, 1)):
        for name in names:
            rows = [row for row in place.rows if row.name == name]
            if rows:
                busy = sum(row.busy for row in rows)
                yield _bottleneck(rows, busy / (place.feed.length * workers))


def _bottleneck(rows: Sequence[Row], share: float) -> Bottleneck:
    calls, own = sum(row.calls for row in rows), sum(row.own for row in rows)
    share = min(1.0, share)
    per_call = own / calls if calls else None
    memory, gpu = (_peak(rows, gauge) for gauge in ("memory", "gpu"))
    parts = {
        "share": share,
        "per_call": 0.0 if per_call is None else per_call / SLOW,
        "memory": 0.0 if memory is None else memory / LARGE,
        "gpu": 0.0 if gpu is None else gpu / LARGE,
    }
    return Bottleneck(
        name=rows[0].name,
        place=rows[0].place,
        category=rows[0].category,
        score=sum(_WEIGHTS[part] * min(1.0, max(0.0, value)) for part, value in parts.items()),
        share=share,
        calls=calls,
        own=own,
        per_call=per_call,
        memory=memory,
        gpu=gpu,
    )


def _peak(rows: Sequence[Row], gauge: str) -> int | None:
    found = [getattr(row, gauge).peak for row in rows if getattr(row, gauge) is not None]
    return max(found, default=None)


# Stages


def _stages(analysis: Analysis) -> Iterator[Stage]:
    for place in analysis.timed:
        labels = place.labels()
        for row in place.rows:
            if not row.own:
                continue
            yield Stage(
                name=labels[row.path],
                operation=row.name,
                place=place.name,
                capacity=row.capacity,
                busy=row.own,
                utilisation=row.own_share,
                gain=_gain(_removable(place, [row], analysis.wall), analysis.wall),
            )
    for place in analysis.fed:
        yield from _fed_stages(analysis, place)


def _removable(place: Place, rows: Sequence[Row], wall: int) -> float:
    """How much of the wall time could go at most with what operations do by themselves."""
    return _at_most(place, sum(row.alone for row in rows), rows, wall)


def _removable_whole(place: Place, row: Row, wall: int) -> float:
    """The same of an operation with all that is in it."""
    inside = [one for one in place.rows if one.path[: len(row.path)] == row.path]
    return _at_most(place, row.elapsed, inside, wall)


def _at_most(place: Place, covered: float, removed: Sequence[Row], wall: int) -> float:
    """No more than it covers, nor so much that all else would take less than it can.

    What ran beside it would still have to be done, with as many at once as there were then.
    Those that wait may have no reason to, without what they wait for.
    """
    whole, gone = (
        sum(row.least for row in rows if row.category != _WAITING) for rows in (place.rows, removed)
    )
    return max(0.0, min(covered, wall - (whole - gone)))


def _fed_stages(analysis: Analysis, place: Place) -> Iterator[Stage]:
    """What works beside the main thread holds it up only while that waits for it."""
    assert place.feed is not None
    share = node_share(place.feed)
    if share is not None:
        waiting = _waiting(analysis, for_node=True)
        yield Stage(
            name=_NODE,
            operation=_NODE,
            place=place.name,
            capacity=place.feed.workers,
            busy=share * place.feed.workers * place.feed.length,
            utilisation=share,
            gain=None if waiting is None else _gain(waiting, analysis.wall),
        )
    forward = next((row for row in place.rows if row.name == "inference_forward"), None)
    if forward is not None:
        wall = place.feed.length
        waiting = _waiting(analysis, for_node=False)
        yield Stage(
            name=forward.name,
            operation=forward.name,
            place=place.name,
            capacity=1,
            busy=forward.busy,
            utilisation=min(1.0, forward.busy / wall),
            gain=None if waiting is None else _gain(min(waiting, forward.busy), analysis.wall),
        )


def _waiting(analysis: Analysis, *, for_node: bool) -> float | None:
    """For how long the main place waited, for Node or for what may be anything else.

    None if it has no operation that says so.
    """
    if analysis.main is None:
        return None
    waits = [row for row in analysis.main.rows if row.category == _WAITING]
    rows = [row for row in waits if (row.name == WAIT_FOR_NODE) is for_node]
    return _removable(analysis.main, rows, analysis.wall) if rows else None


def _gain(removable: float, wall: float) -> float:
    left = wall - removable
    return wall / left if left > 0.001 * wall else math.inf


# Recommendations


def _recommendations(
    analysis: Analysis, bottlenecks: Sequence[Bottleneck]
) -> Iterator[Recommendation]:
    for severity in _SEVERITIES:
        for found in bottlenecks:
            reason = _reason(severity, found)
            if reason is not None:
                yield Recommendation(
                    severity=severity,
                    operation=found.name,
                    place=found.place,
                    reason=reason,
                    advice=advise(severity, found.name, found.category, analysis),
                )


def _about_wholes(
    analysis: Analysis, bottlenecks: Sequence[Bottleneck]
) -> Iterator[Recommendation]:
    """The innermost operations that take too much only together with what is in them."""
    for severity in _OF_TIME:
        named = {(one.place, one.name) for one in bottlenecks if _reason(severity, one)}
        for place in analysis.timed:
            large = [row for row in place.rows if _is_large(severity, place, row, analysis.wall)]
            for row in large:
                inside = [one for one in place.rows if one.path[: len(row.path)] == row.path]
                is_named = any((place.name, one.name) in named for one in inside)
                if not is_named and not any(one in large for one in inside if one is not row):
                    yield _about_whole(severity, place, row, analysis)


def _is_large(severity: Severity, place: Place, row: Row, wall: int) -> bool:
    if severity == "SLOW":
        return row.mean is not None and row.mean > SLOW
    return _removable_whole(place, row, wall) > CRITICAL_SHARE * wall


def _about_whole(severity: Severity, place: Place, row: Row, analysis: Analysis) -> Recommendation:
    largest, part = _largest_part(place, row)
    if severity == "SLOW":
        assert row.mean is not None
        whole, most = (f"{time / 1e6:,.0f} ms" for time in (row.mean, part * row.mean))
        whole = f"{whole} a call"
    else:
        removable = _removable_whole(place, row, analysis.wall)
        whole, most = f"{percent(removable / analysis.wall)} of the time", percent(part)
    if place.children(row):
        name = "its own" if largest is row else largest.name
        reason = f"{whole} with all that is in it, the largest part of it {name} ({most})"
    else:
        reason = f"{whole} in {' / '.join(row.path[:-1])}" if row.depth else whole
    return Recommendation(
        severity=severity,
        operation=row.name,
        place=row.place,
        reason=reason,
        advice=advise(severity, largest.name, largest.category, analysis),
    )


def _largest_part(place: Place, row: Row) -> tuple[Row, float]:
    """What takes the most of an operation: itself or one of its children, and what share of it.

    Children side by side may be busy for longer than what they are in: they divide what they
    explain of it.
    """
    children = place.children(row)
    together = sum(child.busy for child in children)
    explained = row.busy - row.own
    parts = [(child, explained * child.busy / together) for child in children if together]
    largest, time = max([(row, row.own), *parts], key=lambda part: part[1])
    return largest, time / row.busy if row.busy else 0.0


def _reason(severity: Severity, found: Bottleneck) -> str | None:
    match severity:
        case "CRITICAL" if found.share > CRITICAL_SHARE:
            return f"{percent(found.share)} of the time"
        case "SLOW" if found.per_call is not None and found.per_call > SLOW:
            return f"{found.per_call / 1e6:,.0f} ms a call"
        case "MEMORY" if found.memory is not None and found.memory > LARGE:
            return f"memory rose by {found.memory / 1e6:,.0f} MB"
        case "GPU MEMORY" if found.gpu is not None and found.gpu > LARGE:
            return f"GPU memory rose by {found.gpu / 1e6:,.0f} MB"
    return None
