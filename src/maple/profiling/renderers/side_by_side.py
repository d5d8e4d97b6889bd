"""Writes a comparison as text or as CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterator, Sequence

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..comparison import Compared, Comparison
from ..noise import (
    CONFIDENCE_IN_TURN,
    DRIFT,
    ENOUGH_LAPS,
    LEAST_EFFECT,
    LEAST_LAPS,
    LEAST_PAIRS,
    Verdict,
)
from ..session import Session, flat
from .grid import beside, columns, heading

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

_LARGEST = 1000
_SMALLEST = 0.001
_LIMITS = (1 - DRIFT, 1.0, 1 + DRIFT)

_HOW_IT_IS_JUDGED = f"""\
Shown are medians of laps, or of looks at CPU and memory; all laps together for episodes, steps,
decisions and battles; averages of the run where there are none. Better or worse: the whole interval
is outside of {1 - DRIFT:.2f} to {1 + DRIFT:.2f}, as runs of the same code may differ by \
{percent(DRIFT)}. It is resampled
from laps, and the wider the more neighbours resemble each other. Where that tells nothing, as while
both runs warm up, {LEAST_PAIRS} laps or more that were set by hand are compared one by one, if both
runs have as many: then the ratio is the median of theirs, or that of all together. Of CPU and of
metrics nobody knows what is better: they are higher or lower, metrics if the interval leaves out 1.
Of many rows, some may look different by chance."""

_HOW_IT_IS_JUDGED_IN_TURN = textwrap.fill(
    "The two took turns, lap by lap, so that both had the same machine: a ratio is the median of "
    "those of neighbouring laps. Its interval is exact, of "
    f"{percent(CONFIDENCE_IN_TURN)}. Better or worse: the interval leaves out 1, and the ratio is "
    f"off by more than {percent(LEAST_EFFECT)}; that takes {LEAST_LAPS} laps, all on one side. "
    "CPU and memory are medians of looks, which are not paired: their interval is resampled, of "
    "95 %. Of CPU and of metrics nobody knows what is better: they are higher or lower, metrics if "
    "the interval leaves out 1. Of many rows, some may look different by chance.",
    100,
)

_WHAT_HELPS = f"""\
Too few or too unsteady: set laps with profiler.lap(), {LEAST_LAPS} at least, \
{ENOUGH_LAPS} and more are better, and as
many in both runs. Warm up first, as with env.warmed(), and let no other programs run meanwhile."""


def render_comparison(comparison: Comparison) -> str:
    first, second = comparison.first.session, comparison.second.session
    interval = "interval" if comparison.in_turn else "95 % interval"
    head = ("", "first", "second", "second / first", interval, "verdict")
    lines = [
        f"first:  {first.name}, {duration(comparison.first.wall)}, began {first.began}",
        f"second: {second.name}, {duration(comparison.second.wall)}, began {second.began}",
        *_commands(first, second),
        *_busy_machines(comparison),
        *_differences(comparison),
        *heading("OVERALL"),
        *columns(head, [_row(one) for one in comparison.overall]),
    ]
    for place in dict.fromkeys(one.place for one in comparison.operations):
        rows = [_row(one) for one in comparison.operations if one.place == place]
        lines += heading(f"TIME OF A CALL: {place}")
        lines += columns(("operation", *head[1:]), rows)
    if comparison.metrics:
        lines += heading("METRICS")
        several = len({one.place for one in comparison.metrics}) > 1
        rows = [(_metric(one, several), *_row(one)[1:]) for one in comparison.metrics]
        lines += columns(("metric", *head[1:]), rows)
    lines += ["", _HOW_IT_IS_JUDGED_IN_TURN if comparison.in_turn else _HOW_IT_IS_JUDGED]
    if any(one.verdict.is_undecided for one in comparison.rows):
        lines.append(_WHAT_HELPS)
    lines.append(f"Operations: {_counted(comparison.operations)}.")
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


def _commands(first: Session, second: Session) -> Iterator[str]:
    if first.command != second.command:
        yield f"first:  $ {' '.join(first.command.split())}"
        yield f"second: $ {' '.join(second.command.split())}"


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
        dict(flat(analysis.session.settings)) for analysis in (comparison.first, comparison.second)
    )
    for name in dict.fromkeys((*one, *other)):
        before, after = one.get(name, MISSING), other.get(name, MISSING)
        if before != after:
            yield f"not the same {name}: {_short(before)} and {_short(after)}"


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
    interval = MISSING if one.interval is None else " to ".join(map(_times, one.interval))
    return (
        "  " * one.depth + one.name,
        write(one.first),
        write(one.second),
        MISSING if one.ratio is None else _times(one.ratio),
        interval,
        one.verdict.value,
    )


def _times(ratio: float) -> str:
    if ratio >= _LARGEST:
        return f">{_LARGEST}"
    if ratio < _SMALLEST:
        return f"<{_SMALLEST}"
    return beside(ratio, _LIMITS, digits=3 if ratio < 10 else 1 if ratio < 100 else 0)


def _metric(one: Compared, several: bool) -> str:
    """Its name, with the processes if there are several, and the unit unless that is written."""
    place = f", {one.place}" if several else ""
    unit = "" if one.unit in _WRITERS else f" ({one.unit})"
    return f"{one.name}{place}{unit}"


def _counted(rows: Sequence[Compared]) -> str:
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
