"""Writes a comparison as text or as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..comparison import Compared, Comparison
from ..noise import DRIFT, Verdict
from .grid import columns, heading

__all__ = ["render_comparison", "render_csv"]

_WRITERS = {"ns": duration, "ns a call": duration, "bytes": size, "share": percent, "": number}
_FIELDS = (
    *("place", "name", "depth", "unit", "first", "second", "ratio"),
    *("low", "high", "verdict", "calls_first", "calls_second"),
)

_HOW_IT_IS_JUDGED = f"""\
Better or worse: the interval, resampled from laps, does not hold 1, and the difference is above
the {DRIFT:.0%} by which runs of the same code may differ. Where there are laps, times are their
medians; what has none is not judged. Of many rows, some may be called better or worse by chance."""


def render_comparison(comparison: Comparison) -> str:
    first, second = comparison.first.session, comparison.second.session
    head = ("", "first", "second", "second / first", "95 % interval", "verdict")
    lines = [
        f"first:  {first.name}, {duration(comparison.first.wall)}, began {first.began}",
        f"second: {second.name}, {duration(comparison.second.wall)}, began {second.began}",
        *_differences(comparison),
        *heading("OVERALL"),
        *columns(head, [_row(one) for one in comparison.overall]),
    ]
    for place in dict.fromkeys(one.place for one in comparison.operations):
        rows = [one for one in comparison.operations if one.place == place]
        lines += heading(f"TIME OF A CALL: {place}")
        lines += columns(("operation", *head[1:]), [_row(one) for one in rows])
    lines += ["", _HOW_IT_IS_JUDGED, _counted(comparison.operations)]
    return "\n".join(lines) + "\n"


def render_csv(comparison: Comparison) -> str:
    """One line for each row, with times in nanoseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FIELDS)
    for one in (*comparison.overall, *comparison.operations):
        low, high = one.interval or (None, None)
        calls = one.calls or (None, None)
        writer.writerow(
            (
                *(one.place, one.name, one.depth, one.unit, one.first, one.second, one.ratio),
                *(low, high, one.verdict.value, *calls),
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


def _row(one: Compared) -> tuple[str, ...]:
    write = _WRITERS[one.unit]
    interval = MISSING if one.interval is None else "{:.3f} to {:.3f}".format(*one.interval)
    return (
        "  " * one.depth + one.name,
        write(one.first),
        write(one.second),
        MISSING if one.ratio is None else f"{one.ratio:.3f}",
        interval,
        one.verdict.value,
    )


def _counted(rows: Sequence[Compared]) -> str:
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if verdict and count)
