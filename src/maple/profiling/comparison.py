"""Two sessions side by side, with a verdict for each row that knows what is noise. Draws nothing.

What varies from lap to lap of one run is noise for sure, and runs of the same code on the same
machine differ by a few percent besides: both have to be exceeded before anything is called better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from .analysis import Analysis, Row
from .battles import battle_figures
from .errors import NothingRecorded
from .intervals import length, union
from .metrics import merge_metrics
from .noise import DRIFT, Lap, Verdict, Wanted, judge, judge_quotients
from .session import Metric, ProcessPart

__all__ = ["Compared", "Comparison", "Section", "Verdict", "compare"]

_COUNTED = {"episodes": "wall time of an episode", "steps": "wall time of a step"}
_RATES = {"decisions": "decisions a second", "battles_ended": "battles a second"}


class Section(StrEnum):
    """What a row is about."""

    OVERALL = "overall"
    OPERATIONS = "operations"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A quantity in both sessions; `ratio` is the second over the first, with its interval.

    `calls` is how many calls, or values of a metric, it comes from.
    """

    section: Section
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
    """What differs: in the whole of the runs, in the time of a call, in the average of a metric."""

    first: Analysis
    second: Analysis
    overall: tuple[Compared, ...]
    operations: tuple[Compared, ...]
    metrics: tuple[Compared, ...]

    @property
    def rows(self) -> tuple[Compared, ...]:
        return (*self.overall, *self.operations, *self.metrics)


def compare(first: Analysis, second: Analysis) -> Comparison:
    for analysis in (first, second):
        if not analysis.rows:
            raise NothingRecorded(f"{analysis.session.name} has no operations to compare")
    return Comparison(
        first=first,
        second=second,
        overall=tuple(_overall(first, second)),
        operations=tuple(_operations(first, second)),
        metrics=tuple(_metrics(first, second)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A quantity in one session: what it was on the whole, and in each lap or at each look.

    What is a quotient has its two parts in each of `laps`. It was measured `once` if it has none.
    """

    value: float | None
    series: Sequence[float] = ()
    laps: Sequence[Lap] | None = None
    once: bool = False
    calls: int | None = None

    @property
    def compared(self) -> float:
        """What its laps come to."""
        if self.laps is None:
            return float(np.median(self.series))
        return sum(much for much, _ in self.laps) / sum(many for _, many in self.laps)


def _compared(
    name: str,
    first: _Measured | None,
    second: _Measured | None,
    *,
    section: Section = Section.OVERALL,
    place: str = "",
    depth: int = 0,
    unit: str = "",
    wanted: Wanted = Wanted.LESS,
    drift: float = DRIFT,
) -> Compared:
    one = None if first is None else first.value
    other = None if second is None else second.value
    ratio, interval = None, None
    if first is None or second is None:
        verdict = Verdict.NEW if first is None else Verdict.GONE
    elif first.once or second.once:
        verdict = Verdict.ONCE
    else:
        if first.laps is not None and second.laps is not None:
            judged = judge_quotients(first.laps, second.laps, wanted=wanted, drift=drift)
        else:
            judged = judge(first.series, second.series, wanted=wanted, drift=drift)
        ratio, interval, verdict = judged
        if verdict is not Verdict.TOO_FEW:
            # What is compared is also what is shown.
            one, other = first.compared, second.compared
    if verdict in (Verdict.TOO_FEW, Verdict.ONCE) and one and one > 0 and other and other > 0:
        ratio = other / one
    calls = None
    if first and second and first.calls is not None and second.calls is not None:
        calls = first.calls, second.calls
    return Compared(
        section=section,
        name=name,
        place=place,
        depth=depth,
        unit=unit,
        first=one,
        second=other,
        ratio=ratio,
        interval=interval,
        verdict=verdict,
        calls=calls,
    )


# Operations


def _operations(first: Analysis, second: Analysis) -> Iterator[Compared]:
    before, after = _rows(first), _rows(second)
    for key in dict.fromkeys((*before, *after)):
        row = after.get(key) or before[key]
        yield _compared(
            row.name,
            _time_of_a_call(before.get(key)),
            _time_of_a_call(after.get(key)),
            section=Section.OPERATIONS,
            place=row.place,
            depth=row.depth,
            unit="ns a call",
        )


def _rows(analysis: Analysis) -> dict[tuple[str, tuple[str, ...]], Row]:
    return {(place.key, row.path): row for place in analysis.places for row in place.rows}


def _time_of_a_call(row: Row | None) -> _Measured | None:
    """Laps in which none ended are left out: calls may be longer than laps."""
    if row is None:
        return None
    series = [ended / calls for calls, ended in row.laps if calls]
    return _Measured(value=row.mean, series=series, calls=row.calls)


# The whole


def _overall(first: Analysis, second: Analysis) -> Iterator[Compared]:
    both = first, second
    laps = [_laps_by_hand(analysis) for analysis in both]
    if any(laps):
        yield _compared("a lap", *map(_mean_of, laps), unit="ns")
    for count, title in _COUNTED.items():
        counts = [analysis.count(count) for analysis in both]
        if any(counts):
            yield _compared(
                title,
                *(
                    _Measured(value=analysis.wall / number, laps=_time_and(count, analysis))
                    if number
                    else None
                    for analysis, number in zip(both, counts, strict=True)
                ),
                unit="ns",
            )
    figures = [{one.name: one.value for one in battle_figures(analysis)} for analysis in both]
    for count, title in _RATES.items():
        if any(title in one for one in figures):
            yield _compared(
                title,
                *(
                    _Measured(value=one[title], laps=_count_and_seconds(count, analysis))
                    if title in one
                    else None
                    for one, analysis in zip(figures, both, strict=True)
                ),
                wanted=Wanted.MORE,
            )
    yield from _system(first, second)


def _system(first: Analysis, second: Analysis) -> Iterator[Compared]:
    both = first, second
    shares = [_cpu_shares(analysis) for analysis in both]
    if any(shares):
        # More of it is no good or bad in itself: it may be that more was done.
        yield _compared(
            "CPU of the machine",
            *(
                _Measured(value=analysis.machine.cpu_share, series=series) if series else None
                for analysis, series in zip(both, shares, strict=True)
            ),
            unit="share",
            wanted=Wanted.NEITHER,
        )
    memory = [
        [float(sum(moment.rss.values())) for moment in analysis.machine.timeline if moment.rss]
        for analysis in both
    ]
    if any(memory):
        yield _compared("resident memory", *map(_mean_of, memory), unit="bytes")
    peaks = [analysis.machine.rss_peak for analysis in both]
    if any(peaks):
        one, other = (None if peak is None else _Measured(value=peak, once=True) for peak in peaks)
        yield _compared("peak memory", one, other, unit="bytes")


def _mean_of(series: Sequence[float]) -> _Measured | None:
    return _Measured(value=float(np.mean(series)), series=series) if series else None


def _laps_by_hand(analysis: Analysis) -> list[float]:
    """How long each lap took that somebody has set, of every process."""
    parts = [part for part in analysis.session.processes if part.by_hand]
    return [lap.time / lap.laps for part in parts for lap in part.laps]


def _cpu_shares(analysis: Analysis) -> list[float]:
    machine = analysis.machine
    return [
        sum(moment.cores.values()) / machine.cores for moment in machine.timeline if moment.cores
    ]


def _time_and(count: str, analysis: Analysis) -> list[Lap]:
    """Of each lap its time, and what was counted: by processes that worked one after the other.

    Of others side by side, no lap of one is the time of what all have counted.
    """
    parts = [part for part in analysis.session.processes if count in part.counts]
    if not _are_in_turn(parts):
        return []
    return [(lap.time, lap.counts.get(count, 0)) for part in parts for lap in part.laps]


def _are_in_turn(parts: Sequence[ProcessPart]) -> bool:
    windows = np.array([window for part in parts for window in part.windows], np.int64)
    windows = windows.reshape(-1, 2)
    return length(union(windows)) == int((windows[:, 1] - windows[:, 0]).sum())


def _count_and_seconds(count: str, analysis: Analysis) -> list[Lap]:
    """Of each lap what the bridge has counted, and its time; if it tells of one thing alone."""
    feeds = [place.feed for place in analysis.fed if place.feed and place.feed.kind == "ipc"]
    if len(feeds) != 1:
        return []
    return [(lap.counts.get(count, 0), lap.time / 1e9) for lap in feeds[0].laps]


# Metrics


def _metrics(first: Analysis, second: Analysis) -> Iterator[Compared]:
    before, after = _by_role(first), _by_role(second)
    for key in dict.fromkeys((*before, *after)):
        role, name, unit = key
        yield _compared(
            name,
            before.get(key),
            after.get(key),
            section=Section.METRICS,
            place=role,
            unit=unit,
            wanted=Wanted.NEITHER,
            # What the same code does, unlike how long that takes, does not differ by itself.
            drift=0.0,
        )


def _by_role(analysis: Analysis) -> dict[tuple[str, str, str], _Measured]:
    """The average of each metric, in all processes of a role together and in each of their laps."""
    found: dict[tuple[str, str, str], list[tuple[ProcessPart, Metric]]] = defaultdict(list)
    for part in analysis.session.processes:
        for name, metric in part.metrics.items():
            found[part.role, name, metric.unit].append((part, metric))
    averages = {}
    for key, entries in found.items():
        _, name, _ = key
        whole = merge_metrics([metric for _, metric in entries])
        laps = [lap.metrics.get(name, (0, 0.0)) for part, _ in entries for lap in part.laps]
        averages[key] = _Measured(
            value=whole.total / whole.count,
            series=[total / count for count, total in laps if count],
            calls=whole.count,
        )
    return averages
