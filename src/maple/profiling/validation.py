"""Whether what a session says fits together, beyond the types of its fields. Mends nothing."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

import msgspec
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException

from bridge.histogram import Histogram

from .errors import UnreadableSession
from .session import (
    Bounds,
    Distribution,
    Feed,
    FeedLap,
    Lap,
    Metric,
    ProcessPart,
    Session,
    Trace,
    Usage,
)

__all__ = ["check_session"]

_FEED_KINDS = ("ipc", "inference")
_NUMBERS = ("count", "mean", "p50", "p99", "max")
_TORCH_EVENT = {
    "name": str,
    "category": str,
    "pid": int,
    "tid": int,
    "start": int,
    "duration": int,
}
_LARGEST = 2**63 - 1
_NO_HISTOGRAM = (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    zlib.error,
    ArithmeticError,
    AssertionError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the library raises for a text that is no histogram, or for one of other limits."""


def check_session(session: Session) -> None:
    """Raises UnreadableSession, which names the place, unless everything can be worked with."""
    _check_size(session, "")
    for name, cores in (("cores", session.machine.cores), ("all_cores", session.machine.all_cores)):
        if cores < 1:
            _refuse(f"machine.{name}", "is not at least 1")
    for number, (before, after) in enumerate(itertools.pairwise(session.machine_cpu), 1):
        if after.at < before.at:
            _refuse(f"machine_cpu[{number}].at", "is before the one before")
    for place, part in _each("processes", session.processes):
        _check_part(part, place)
    for place, usage in _each("usages", session.usages):
        _check_usage(usage, place)
    for place, event in _each("torch_events", session.torch_events or ()):
        for key, kind in _TORCH_EVENT.items():
            _check_entry(event, key, kind, place)


def _check_part(part: ProcessPart, place: str) -> None:
    _check_bounds(part.windows, f"{place}.windows")
    if part.operations and not part.windows:
        _refuse(f"{place}.windows", "is empty")
    for where, track in _each(f"{place}.tracks", part.tracks):
        if not track.capacities:
            _refuse(f"{where}.capacities", "is empty")
    paths = {(operation.track, operation.path) for operation in part.operations}
    for where, operation in _each(f"{place}.operations", part.operations):
        if not operation.path:
            _refuse(f"{where}.path", "is empty")
        _check_index(operation.track, part.tracks, f"{where}.track")
        if operation.path[1:] and (operation.track, operation.path[:-1]) not in paths:
            _refuse(f"{where}.path", "has no parent")
        for name in ("calls", "ended", "busy", "least", "covered"):
            if getattr(operation, name) < 0:
                _refuse(f"{where}.{name}", "is below zero")
        _check_bounds(operation.intervals, f"{where}.intervals")
        if operation.hdr is not None:
            _check_hdr(operation.hdr, f"{where}.hdr")
    for where, lap in _each(f"{place}.laps", part.laps):
        _check_columns(lap, where, most=len(part.operations))
        _check_lap(lap, where)
    for name, metric in part.metrics.items():
        _check_metric(metric, f"{place}.metrics[{name!r}]")
    for where, feed in _each(f"{place}.feeds", part.feeds):
        _check_feed(feed, where)
    if part.trace is not None:
        _check_trace(part.trace, part, f"{place}.trace")


def _check_trace(trace: Trace, part: ProcessPart, place: str) -> None:
    _check_columns(trace, place, besides=("threads",))
    for name, column, named in (
        ("thread", trace.thread, trace.threads),
        ("operation", trace.operation, part.operations),
    ):
        if column and not 0 <= min(column) <= max(column) < len(named):
            wrong = next(i for i, one in enumerate(column) if not 0 <= one < len(named))
            _check_index(column[wrong], named, f"{place}.{name}[{wrong}]")


def _check_lap(lap: Lap | FeedLap, place: str) -> None:
    if lap.laps < 1:
        _refuse(f"{place}.laps", "is not at least 1")
    if lap.time < 0:
        _refuse(place, "ends before it begins")
    for name, count in lap.counts.items():
        if count < 0:
            _refuse(f"{place}.counts[{name!r}]", "is below zero")


def _check_metric(metric: Metric, place: str) -> None:
    if metric.count < 1:
        _refuse(f"{place}.count", "is not at least 1")


def _check_feed(feed: Feed, place: str) -> None:
    if feed.kind not in _FEED_KINDS:
        _refuse(f"{place}.kind", f"is {feed.kind!r}, and known are {' and '.join(_FEED_KINDS)}")
    if feed.until <= feed.since:
        _refuse(place, "ends before it begins")
    for name in ("capacity", "workers"):
        if getattr(feed, name) < 1:
            _refuse(f"{place}.{name}", "is not at least 1")
    for where, operation in _each(f"{place}.operations", feed.operations):
        if operation.total is not None:
            _check_distribution(operation.total, f"{where}.total")
        for name, distribution in operation.parts.items():
            _check_distribution(distribution, f"{where}.parts[{name!r}]")
    for where, lap in _each(f"{place}.laps", feed.laps):
        _check_lap(lap, where)
    for name, distribution in feed.sizes.items():
        _check_distribution(distribution, f"{place}.sizes[{name!r}]")
    if feed.node_work is not None:
        _check_columns(feed.node_work, f"{place}.node_work")


def _check_distribution(distribution: Distribution, place: str) -> None:
    for key in _NUMBERS:
        _check_entry(distribution, key, (int, float), place)
    _check_entry(distribution, "hdr", str, place)
    _check_hdr(distribution["hdr"], f"{place}.hdr")


def _check_usage(usage: Usage, place: str) -> None:
    if not usage.samples:
        _refuse(f"{place}.samples", "is empty")
    for number, (before, after) in enumerate(itertools.pairwise(usage.samples), 1):
        if after.at <= before.at:
            _refuse(f"{place}.samples[{number}].at", "is not after the one before")


# What may stand anywhere


def _check_hdr(text: str, place: str) -> None:
    try:
        decoded = Histogram.decode(text)
        Histogram(longest=decoded.longest).add(decoded)
    except _NO_HISTOGRAM as error:
        raise UnreadableSession(f"{place} cannot be decoded") from error


def _check_entry(data: dict[str, Any], key: str, kind: type | tuple[type, ...], place: str) -> None:
    if key not in data:
        _refuse(place, f"has no {key}")
    if not isinstance(data[key], kind) or isinstance(data[key], bool):
        _refuse(f"{place}.{key}", f"is {data[key]!r:.40}")


def _check_bounds(bounds: Bounds, place: str) -> None:
    for where, (low, high) in _each(place, bounds):
        if high < low:
            _refuse(where, "ends before it begins")


def _check_columns(
    struct: msgspec.Struct, place: str, *, besides: Collection[str] = (), most: int | None = None
) -> None:
    """The lists of a struct are of one length, which may be limited."""
    columns = {
        name: len(column)
        for name, column in msgspec.structs.asdict(struct).items()
        if isinstance(column, list) and name not in besides
    }
    if len(set(columns.values())) > 1:
        lengths = ", ".join(f"{name} {length}" for name, length in columns.items())
        _refuse(place, f"has columns of different lengths: {lengths}")
    for name, length in columns.items():
        if most is not None and length > most:
            _refuse(f"{place}.{name}", f"has {length} entries, and there are {most} operations")


def _check_index(index: int, named: Sequence[object], place: str) -> None:
    if not 0 <= index < len(named):
        _refuse(place, f"is {index}, and there are {len(named)}")


def _check_size(value: Any, place: str) -> None:  # noqa: ANN401 - whatever is inside
    """Numbers are at most as large as arrays take them."""
    match value:
        case int():
            if not -_LARGEST <= value <= _LARGEST:
                _refuse(place, "is too large a number")
        case msgspec.Struct():
            for name in value.__struct_fields__:
                _check_size(getattr(value, name), f"{place}.{name}".lstrip("."))
        case dict():
            for key, one in value.items():
                _check_size(one, f"{place}[{key!r}]")
        case [int(), *_]:
            # Columns are long, and hold nothing but numbers.
            if min(value) < -_LARGEST or max(value) > _LARGEST:
                _refuse(place, "has too large a number")
        case list() | tuple():
            for where, one in _each(place, value):
                _check_size(one, where)


def _each(place: str, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{place}[{number}]", value) for number, value in enumerate(values))


def _refuse(place: str, reason: str) -> NoReturn:
    raise UnreadableSession(f"{place} {reason}")
