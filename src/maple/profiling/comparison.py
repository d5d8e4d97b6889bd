"""Two sessions side by side, with a verdict for each row that knows what is noise. Draws nothing.

What varies from lap to lap of one run is noise for sure, and runs of the same code on the same
machine differ by a few percent besides: both have to be exceeded before anything is called better.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from .analysis import Analysis, Place, Row
from .battles import battle_figures
from .errors import NothingRecorded
from .intervals import length, union
from .metrics import merge_metrics
from .noise import (
    DRIFT,
    LEAST_EFFECT,
    Lap,
    Verdict,
    Wanted,
    judge,
    judge_in_turn,
    judge_quotients,
)
from .session import Feed, Metric, ProcessPart

__all__ = ["Compared", "Comparison", "Section", "Verdict", "compare"]

_LEAST_TURNS = 2
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
    in_turn: bool
    """Whether each lap of one was recorded beside one of the other."""

    @property
    def rows(self) -> tuple[Compared, ...]:
        return (*self.overall, *self.operations, *self.metrics)


def compare(first: Analysis, second: Analysis) -> Comparison:
    for analysis in (first, second):
        if not analysis.rows:
            raise NothingRecorded(f"{analysis.session.name} has no operations to compare")
    in_turn = _took_turns(first, second)
    judged = _judged_in_turn if in_turn else _judged
    return Comparison(
        first=first,
        second=second,
        overall=tuple(_overall(first, second, judged)),
        operations=tuple(_operations(first, second, judged)),
        metrics=tuple(_metrics(first, second, judged)),
        in_turn=in_turn,
    )


def _took_turns(first: Analysis, second: Analysis) -> bool:
    """Whether they were recorded on the same machine lap by lap, each beside one of the other."""
    sessions = first.session, second.session
    if sessions[0].machine.boot != sessions[1].machine.boot:
        return False
    laps = [[part for part in one.processes if _is_a_lap(part)] for one in sessions]
    if [len(one) for one in laps] != [len(one.processes) for one in sessions]:
        return False
    if len(laps[0]) != len(laps[1]) or len(laps[0]) < _LEAST_TURNS:
        return False
    began = [[part.windows[0][0] for part in one] for one in laps]
    pairs = itertools.pairwise(zip(*began, strict=True))
    return all(max(before) < min(after) for before, after in pairs)


def _is_a_lap(part: ProcessPart) -> bool:
    """Whether it was recorded for a single lap, which somebody has set."""
    return part.by_hand and len(part.windows) == 1 and [lap.laps for lap in part.laps] == [1]


_Sizes = tuple[int, ...]
"""How many were joined in each lap, if somebody has set them: where they agree, laps are alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A quantity in one session: what it was on the whole, and in each lap or at each look.

    In each of `laps` it has two parts, of which it is the quotient: of each lap one, or of all laps
    together if it is `counted`. It was measured `once` if it has none.
    """

    value: float | None = None
    laps: Sequence[Lap] = ()
    sizes: _Sizes = ()
    counted: bool = False
    once: bool = False
    calls: int | None = None

    @property
    def series(self) -> list[float]:
        """That of each lap which has one."""
        return [much / many for much, many in self.laps if many]

    @property
    def shown(self) -> float | None:
        """What its laps come to, whatever it is compared with; the whole if it has none."""
        if self.counted:
            much, many = (sum(lap[part] for lap in self.laps) for part in (0, 1))
            return much / many if much and many else self.value
        return float(np.median(self.series)) if self.series else self.value

    def pairs(self, other: _Measured) -> list[tuple[Lap, Lap]]:
        """Laps of both that belong together: the first of both, the second of both."""
        if self.sizes != other.sizes or not self.sizes or len(self.laps) != len(other.laps):
            return []
        return list(zip(self.laps, other.laps, strict=True))


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
    judged: _Judges,
) -> Compared:
    one = None if first is None else first.shown
    other = None if second is None else second.shown
    ratio, interval = None, None
    if first is None or second is None:
        verdict = Verdict.NEW if first is None else Verdict.GONE
    elif first.once or second.once:
        verdict = Verdict.ONCE
    else:
        ratio, interval, verdict = judged(first, second, wanted, drift)
    is_open = verdict is Verdict.ONCE or verdict.is_undecided
    if ratio is None and is_open and one and one > 0 and other and other > 0:
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


_Judgement = tuple[float | None, tuple[float, float] | None, Verdict]
_Judges = Callable[[_Measured, _Measured, Wanted, float], _Judgement]


def _judged(first: _Measured, second: _Measured, wanted: Wanted, drift: float) -> _Judgement:
    pairs = first.pairs(second)
    if first.counted:
        paired = bool(pairs)
        return judge_quotients(first.laps, second.laps, paired=paired, wanted=wanted, drift=drift)
    return judge(first.series, second.series, pairs=_quotients(pairs), wanted=wanted, drift=drift)


def _judged_in_turn(
    first: _Measured, second: _Measured, wanted: Wanted, drift: float
) -> _Judgement:
    pairs = _quotients(first.pairs(second))
    if not pairs or min(map(min, pairs)) <= 0:
        return _judged(first, second, wanted, drift)
    return judge_in_turn(pairs, wanted=wanted, least=min(drift, LEAST_EFFECT))


def _quotients(pairs: Sequence[tuple[Lap, Lap]]) -> list[tuple[float, float]]:
    """Of laps that belong together, where both have something to divide by."""
    return [(one[0] / one[1], other[0] / other[1]) for one, other in pairs if one[1] and other[1]]


# Operations


def _operations(first: Analysis, second: Analysis, judged: _Judges) -> Iterator[Compared]:
    before, after = _rows(first), _rows(second)
    for key in dict.fromkeys((*before, *after)):
        row, _ = after.get(key) or before[key]
        yield _compared(
            row.name,
            _time_of_a_call(before.get(key)),
            _time_of_a_call(after.get(key)),
            section=Section.OPERATIONS,
            place=row.place,
            depth=row.depth,
            unit="ns a call",
            judged=judged,
        )


def _rows(analysis: Analysis) -> dict[tuple[str, tuple[str, ...]], tuple[Row, _Sizes]]:
    return {
        (place.key, row.path): (row, sizes)
        for place in analysis.places
        for sizes in [_sizes_in(place, analysis)]
        for row in place.rows
    }


def _sizes_in(place: Place, analysis: Analysis) -> _Sizes:
    if place.feed is not None:
        return _sizes_of_feed(place.feed)
    return _sizes(
        part
        for part in analysis.session.processes
        if any(f"{part.role}, {track.thread}" == place.key for track in part.tracks)
    )


def _sizes(parts: Iterable[ProcessPart]) -> _Sizes:
    with_laps = [part for part in parts if part.laps]
    if not all(part.by_hand for part in with_laps):
        return ()
    return tuple(lap.laps for part in with_laps for lap in part.laps)


def _sizes_of_feed(feed: Feed) -> _Sizes:
    return tuple(lap.laps for lap in feed.laps)


def _time_of_a_call(found: tuple[Row, _Sizes] | None) -> _Measured | None:
    """Laps in which none ended are left out: calls may be longer than laps."""
    if found is None:
        return None
    row, sizes = found
    laps = [(ended, calls) for calls, ended in row.laps]
    return _Measured(value=row.mean, laps=laps, sizes=sizes, calls=row.calls)


# The whole


def _overall(first: Analysis, second: Analysis, judged: _Judges) -> Iterator[Compared]:
    both = first, second
    laps = [_laps_by_hand(analysis) for analysis in both]
    if any(laps):
        yield _compared("a lap", *laps, unit="ns", judged=judged)
    for count, title in _COUNTED.items():
        counts = [analysis.count(count) for analysis in both]
        if any(counts):
            yield _compared(
                title,
                *(
                    _time_of(count, number, analysis) if number else None
                    for analysis, number in zip(both, counts, strict=True)
                ),
                unit="ns",
                judged=judged,
            )
    figures = [{one.name: one.value for one in battle_figures(analysis)} for analysis in both]
    for count, title in _RATES.items():
        if any(title in one for one in figures):
            yield _compared(
                title,
                *(
                    _rate_of(count, one[title], analysis) if title in one else None
                    for one, analysis in zip(figures, both, strict=True)
                ),
                wanted=Wanted.MORE,
                judged=judged,
            )
    yield from _system(first, second, judged)


def _system(first: Analysis, second: Analysis, judged: _Judges) -> Iterator[Compared]:
    both = first, second
    shares = [_cpu_shares(analysis) for analysis in both]
    if any(shares):
        # More of it is no good or bad in itself: it may be that more was done.
        looks = map(_looked_at, shares)
        yield _compared(
            "CPU of the machine", *looks, unit="share", wanted=Wanted.NEITHER, judged=judged
        )
    memory = [
        [float(sum(moment.rss.values())) for moment in analysis.machine.timeline if moment.rss]
        for analysis in both
    ]
    if any(memory):
        yield _compared("resident memory", *map(_looked_at, memory), unit="bytes", judged=judged)
    peaks = [analysis.machine.rss_peak for analysis in both]
    if any(peaks):
        one, other = (None if peak is None else _Measured(value=peak, once=True) for peak in peaks)
        yield _compared("peak memory", one, other, unit="bytes", judged=judged)


def _looked_at(series: Sequence[float]) -> _Measured | None:
    return _Measured(laps=[(one, 1) for one in series]) if series else None


def _laps_by_hand(analysis: Analysis) -> _Measured | None:
    """How long each lap took that somebody has set, of every process."""
    parts = [part for part in analysis.session.processes if part.by_hand]
    laps = [(lap.time, lap.laps) for part in parts for lap in part.laps]
    return _Measured(laps=laps, sizes=_sizes(parts)) if laps else None


def _cpu_shares(analysis: Analysis) -> list[float]:
    machine = analysis.machine
    return [
        sum(moment.cores.values()) / machine.cores for moment in machine.timeline if moment.cores
    ]


def _time_of(count: str, number: int, analysis: Analysis) -> _Measured:
    """Of each lap its time, and what was counted: by processes that worked one after the other.

    Of others side by side, no lap of one is the time of what all have counted.
    """
    whole = analysis.wall / number
    parts = [part for part in analysis.session.processes if count in part.counts]
    if not _are_in_turn(parts):
        return _Measured(value=whole, counted=True)
    laps = [(lap.time, lap.counts.get(count, 0)) for part in parts for lap in part.laps]
    return _Measured(value=whole, laps=laps, sizes=_sizes(parts), counted=True)


def _are_in_turn(parts: Sequence[ProcessPart]) -> bool:
    windows = np.array([window for part in parts for window in part.windows], np.int64)
    windows = windows.reshape(-1, 2)
    return length(union(windows)) == int((windows[:, 1] - windows[:, 0]).sum())


def _rate_of(count: str, whole: float, analysis: Analysis) -> _Measured:
    """Of each lap what the bridge has counted, and its time; if it tells of one thing alone."""
    feeds = [place.feed for place in analysis.fed if place.feed and place.feed.kind == "ipc"]
    if len(feeds) != 1:
        return _Measured(value=whole, counted=True)
    [feed] = feeds
    laps = [(lap.counts.get(count, 0), lap.time / 1e9) for lap in feed.laps]
    return _Measured(value=whole, laps=laps, sizes=_sizes_of_feed(feed), counted=True)


# Metrics


def _metrics(first: Analysis, second: Analysis, judged: _Judges) -> Iterator[Compared]:
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
            judged=judged,
        )


def _by_role(analysis: Analysis) -> dict[tuple[str, str, str], _Measured]:
    """The average of each metric, of all processes of a role together and of each of their laps."""
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
            laps=[(total, count) for count, total in laps],
            sizes=_sizes(part for part, _ in entries),
            calls=whole.count,
        )
    return averages
