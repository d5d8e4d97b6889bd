"""Writes a comparison as text or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..comparison import Compared, Comparison
from ..noise import DRIFT, Verdict
from .grid import columns, heading

__all__ = ["render_comparison", "render_csv"]

_WRITERS = {"ns": duration, "ns a call": duration, "bytes": size, "share": percent, "": number}
_FIELDS = (
    *("section", "place", "name", "depth", "unit", "first", "second", "ratio"),
    *("low", "high", "verdict", "calls_first", "calls_second"),
)

_MOST_SETTINGS = 20
_LONGEST = 60
_BUSY = 0.1
"""From such a share on, what others take of the machine is told."""

_HOW_IT_IS_JUDGED = f"""\
Better or worse: the interval does not hold 1, and the difference is above the {DRIFT:.0%} by which
runs of the same code may differ. It is resampled from laps, or for CPU and memory from looks at
them, and the wider the more neighbours resemble each other. Where there are enough, what is shown
are their medians, or all laps together for episodes, steps, decisions and battles. Of CPU and of
metrics nobody knows what is better: they are higher or lower, metrics also by less than that. Of
many rows, some may look different by chance."""


def render_comparison(comparison: Comparison) -> str:
    first, second = comparison.first.session, comparison.second.session
    head = ("", "first", "second", "second / first", "95 % interval", "verdict")
    lines = [
        f"first:  {first.name}, {duration(comparison.first.wall)}, began {first.began}",
        f"second: {second.name}, {duration(comparison.second.wall)}, began {second.began}",
        *_busy_machines(comparison),
        *_differences(comparison),
        *heading("OVERALL"),
        *columns(head, [_row(one) for one in comparison.overall]),
    ]
    for place in dict.fromkeys(one.place for one in comparison.operations):
        rows = [one for one in comparison.operations if one.place == place]
        lines += heading(f"TIME OF A CALL: {place}")
        lines += columns(("operation", *head[1:]), [_row(one) for one in rows])
    if comparison.metrics:
        lines += heading("METRICS")
        several = len({one.place for one in comparison.metrics}) > 1
        averages = [(_metric(one, several), *_row(one)[1:]) for one in comparison.metrics]
        lines += columns(("average", *head[1:]), averages)
    lines += ["", _HOW_IT_IS_JUDGED, f"Operations: {_counted(comparison.operations)}."]
    return "\n".join(lines) + "\n"


def render_csv(comparison: Comparison) -> str:
    """One line for each row, with times in nanoseconds and its section before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FIELDS)
    for one in comparison.rows:
        low, high = one.interval or (None, None)
        calls = one.calls or (None, None)
        writer.writerow(
            (
                *(one.section.value, one.place, one.name, one.depth, one.unit),
                *(one.first, one.second, one.ratio, low, high, one.verdict.value, *calls),
            )
        )
    return text.getvalue()


def _differences(comparison: Comparison) -> Iterator[str]:
    """What else is not the same, and could be the cause."""
    one, other = comparison.first.session.machine, comparison.second.session.machine
    for name in ("cpu", "cores", "memory", "system"):
        if getattr(one, name) != getattr(other, name):
            yield f"not the same {name}: {getattr(one, name)} and {getattr(other, name)}"
    for name in sorted(one.versions.keys() | other.versions.keys()):
        if one.versions.get(name) != other.versions.get(name):
            yield f"not the same {name}: {one.versions.get(name)} and {other.versions.get(name)}"
    lines = list(_different_settings(comparison))
    yield from lines[:_MOST_SETTINGS]
    if len(lines) > _MOST_SETTINGS:
        yield f"and {len(lines) - _MOST_SETTINGS} more"


def _different_settings(comparison: Comparison) -> Iterator[str]:
    one, other = (
        dict(_flat(analysis.session.settings)) for analysis in (comparison.first, comparison.second)
    )
    for name in dict.fromkeys((*one, *other)):
        before, after = one.get(name, MISSING), other.get(name, MISSING)
        if before != after:
            yield f"not the same {name}: {_short(before)} and {_short(after)}"


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting, with a name that has the names above it."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _busy_machines(comparison: Comparison) -> Iterator[str]:
    for name, analysis in (("first", comparison.first), ("second", comparison.second)):
        others, stolen = analysis.machine.others_share, analysis.machine.stolen_share
        if others is not None and others >= _BUSY:
            yield f"{name}: other programs took {percent(others)} of the machine"
        if stolen is not None and stolen >= _BUSY:
            yield f"{name}: other virtual machines took {percent(stolen)} of the machine"


def _row(one: Compared) -> tuple[str, ...]:
    write = _WRITERS.get(one.unit, number)
    interval = MISSING if one.interval is None else "{:.3f} to {:.3f}".format(*one.interval)
    return (
        "  " * one.depth + one.name,
        write(one.first),
        write(one.second),
        MISSING if one.ratio is None else f"{one.ratio:.3f}",
        interval,
        one.verdict.value,
    )


def _metric(one: Compared, several: bool) -> str:
    """Its name, with the processes if there are several, and the unit unless that is written."""
    place = f", {one.place}" if several else ""
    unit = "" if one.unit in _WRITERS else f" ({one.unit})"
    return f"{one.name}{place}{unit}"


def _counted(rows: Sequence[Compared]) -> str:
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
