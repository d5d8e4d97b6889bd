"""Two sessions side by side, with a verdict for each row that knows what is noise. Draws nothing.

What varies from lap to lap of one run is noise for sure, and runs of the same code on the same
machine differ by a few percent besides: both have to be exceeded before anything is called better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .analysis import Analysis, Row
from .battles import battle_figures
from .errors import NothingRecorded
from .noise import Verdict, judge

__all__ = ["Compared", "Comparison", "Verdict", "compare"]

_COUNTED = {"episodes": "wall time of an episode", "steps": "wall time of a step"}
_RATES = ("decisions a second", "battles a second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A quantity in both sessions; `ratio` is the second over the first, with its interval."""

    name: str
    place: str
    depth: int
    unit: str
    first: float | None
    second: float | None
    ratio: float | None
    interval: tuple[float, float] | None
    verdict: Verdict
    calls: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs: of the runs as a whole, and of each operation, by the time of a call."""

    first: Analysis
    second: Analysis
    overall: tuple[Compared, ...]
    operations: tuple[Compared, ...]


def compare(first: Analysis, second: Analysis) -> Comparison:
    for analysis in (first, second):
        if not analysis.rows:
            raise NothingRecorded(f"{analysis.session.name} has no operations to compare")
    return Comparison(
        first=first,
        second=second,
        overall=tuple(_overall(first, second)),
        operations=tuple(_operations(first, second)),
    )


# Operations


def _operations(first: Analysis, second: Analysis) -> Iterator[Compared]:
    before, after = _rows(first), _rows(second)
    for key in dict.fromkeys((*before, *after)):
        yield _compared(before.get(key), after.get(key))


def _rows(analysis: Analysis) -> dict[tuple[str, tuple[str, ...]], Row]:
    return {(place.key, row.path): row for place in analysis.places for row in place.rows}


def _compared(before: Row | None, after: Row | None) -> Compared:
    row = after or before
    assert row is not None
    ratio, interval, verdict = None, None, Verdict.NONE
    # Where there are laps, what is compared is also what is shown.
    medians: Iterable[float | None] = (
        None if before is None else before.mean,
        None if after is None else after.mean,
    )
    if before is None:
        verdict = Verdict.NEW
    elif after is None:
        verdict = Verdict.GONE
    elif before.laps and after.laps:
        ratio, interval, verdict = judge(_per_call(before), _per_call(after))
        if ratio is not None:
            medians = (float(np.median(_per_call(row))) for row in (before, after))
    if ratio is None and before and after and before.mean and after.mean is not None:
        ratio = after.mean / before.mean
    first, second = medians
    return Compared(
        name=row.name,
        place=row.place,
        depth=row.depth,
        unit="ns a call",
        first=first,
        second=second,
        ratio=ratio,
        interval=interval,
        verdict=verdict,
        calls=(before.calls, after.calls) if before and after else None,
    )


def _per_call(row: Row) -> list[float]:
    """The time of a call in each lap that had any."""
    return [ended / calls for calls, ended in row.laps if calls]


# The whole


def _overall(first: Analysis, second: Analysis) -> Iterator[Compared]:
    before, after = _laps(first), _laps(second)
    if before and after:
        ratio, interval, verdict = judge(before, after)
        medians = float(np.median(before)), float(np.median(after))
        yield _whole("a lap", "ns", *medians, ratio, interval, verdict)
    for name, title in _COUNTED.items():
        one, other = first.count(name), second.count(name)
        if one and other:
            yield _whole(title, "ns", first.wall / one, second.wall / other)
    figures = [{f.name: f.value for f in battle_figures(a)} for a in (first, second)]
    for name in _RATES:
        if name in figures[0] and name in figures[1]:
            yield _whole(name, "", figures[0][name], figures[1][name])
    measures: tuple[tuple[str, str, Callable[[Analysis], float | None]], ...] = (
        ("CPU of the machine", "share", lambda analysis: analysis.machine.cpu_share),
        ("peak memory", "bytes", lambda analysis: analysis.machine.rss_peak),
    )
    for name, unit, measure in measures:
        before_it, after_it = measure(first), measure(second)
        if before_it is not None and after_it is not None:
            yield _whole(name, unit, before_it, after_it)


def _laps(analysis: Analysis) -> list[float]:
    """How long each lap took that somebody has set, of every process."""
    parts = [part for part in analysis.session.processes if part.by_hand]
    return [lap.time / lap.laps for part in parts for lap in part.laps]


def _whole(
    name: str,
    unit: str,
    first: float,
    second: float,
    ratio: float | None = None,
    interval: tuple[float, float] | None = None,
    verdict: Verdict = Verdict.NONE,
) -> Compared:
    return Compared(
        name=name,
        place="",
        depth=0,
        unit=unit,
        first=first,
        second=second,
        ratio=ratio if ratio is not None else second / first if first else None,
        interval=interval,
        verdict=verdict,
    )
