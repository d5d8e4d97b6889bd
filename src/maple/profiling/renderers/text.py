"""Writes an analysis as text: a summary per episode, and the whole of it with what to try."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..analysis import Analysis, Place, Row
from ..battles import battle_figures
from ..findings import CRITICAL_SHARE, LARGE, SLOW, Findings
from ..metrics import percentile, session_metrics
from ..session import Allocation, Metric, Session
from .cost import cost_sentences
from .grid import at_once, bar, columns, gain, heading, recorded_of, share_of

__all__ = [
    "NOTHING_STANDS_OUT",
    "render_analysis",
    "render_live",
    "render_summary",
    "unfinished_sentences",
]

NOTHING_STANDS_OUT = (
    f"Nothing stands out: no operation takes more than {percent(CRITICAL_SHARE)} of the time, "
    f"{duration(SLOW)} a call, or {size(LARGE)}."
)
_WIDTH = 100
_INDENT = 4 * " "
_LIVE = 10
_BOTTLENECKS = 10
_STAGES = 12
_MUCH_UNSEEN = 100_000_000
_TABLE = (
    "operation",
    "calls",
    "total",
    "average",
    "min",
    "max",
    "p50",
    "p99",
    "memory rise",
    "GPU rise",
)


def render_summary(analysis: Analysis) -> str:
    """How a run stands, in the order in which people ask: per episode, system, operations."""
    lines = [
        *_title(analysis),
        *_per_episode(analysis),
        *_categories(analysis),
        *_battles(analysis),
        *_metrics(analysis),
        *_system(analysis),
        *_operations(analysis),
        *_cost(analysis),
    ]
    return "\n".join(lines) + "\n"


def render_live(analysis: Analysis) -> str:
    """What somebody wants to know while it goes on: time per episode, battles, metrics."""
    steps = analysis.count("steps")
    head = [] if steps is None else [f"after {number(steps)} steps"]
    lines = [*head, *_per_episode(analysis, _LIVE), *_battles(analysis), *_metrics(analysis)]
    return "\n".join(lines) + "\n"


def render_analysis(analysis: Analysis, findings: Findings) -> str:
    """The summary, and what follows from it."""
    lines = [
        *_title(analysis),
        *_recommendations(findings),
        *_bottlenecks(findings),
        *_stages(analysis, findings),
        *_tree(analysis),
        *_per_episode(analysis),
        *_categories(analysis),
        *_battles(analysis),
        *_metrics(analysis),
        *_system(analysis),
        *_operations(analysis),
        *_cost(analysis),
    ]
    return "\n".join(lines) + "\n"


def _title(analysis: Analysis) -> Iterator[str]:
    session = analysis.session
    machine = session.machine
    yield f"{session.name}: {recorded_of(analysis)} recorded, began {session.began}"
    yield f"$ {session.command}"
    yield f"{machine.cpu or machine.system}, {machine.cores} cores, {size(machine.memory)}"
    yield from unfinished_sentences(session)


def unfinished_sentences(session: Session) -> Iterator[str]:
    """What is not all that a worker has done, as far as that is known."""
    for part in session.unfinished:
        recorded = duration(sum(until - since for since, until in part.windows))
        yield (
            f"Of process {part.pid} ({part.role}) only the first {recorded} are known: it was "
            "killed, or goes on."
        )


# Time


def _per_episode(analysis: Analysis, most: int | None = None) -> Iterator[str]:
    """Each operation by category, as a share of the time × the capacity of its level.

    If there are to be so many at most, it is those that were under way the longest by themselves.
    """
    counts = {unit: analysis.count(f"{unit}s") for unit in ("episode", "step")}
    unit, per = next(((unit, count) for unit, count in counts.items() if count), ("", 1))
    yield from heading(f"PERFORMANCE SUMMARY ({f'per {unit}' if unit else 'whole run'})")
    total = f"Total {unit.title()} Time" if unit else "Total Time"
    told = f"   ({number(per)} {unit}s)" if unit else ""
    yield f"{total}: {duration(analysis.wall / per)}{told}"
    # Of what the bridge tells, the phases are in the tables below.
    shown = [row for row in analysis.rows if row.covered is not None or not row.depth]
    if most is not None:
        longest = sorted(shown, key=lambda row: -row.alone)[:most]
        shown = [row for row in shown if row in longest]
    labels = {place.name: place.labels(least=2) for place in analysis.places}
    times = Counter(labels[row.place][row.path] for row in shown)
    timed = [row for place in analysis.timed for row in place.rows]
    largest = max(timed, key=lambda row: row.alone, default=None)
    for category in dict.fromkeys(row.category for row in shown):
        rows = [row for row in shown if row.category == category]
        yield ""
        yield f"{category} Operations:"
        names = [
            f"{label}{f', {row.place}' if times[label] > 1 else ''}:"
            for row in rows
            if (label := labels[row.place][row.path])
        ]
        width = max(map(len, names))
        for name, row in zip(names, rows, strict=True):
            mark = "  ← the most by itself" if row is largest else ""
            yield f"  {name.ljust(width)} {duration(row.busy / per):>9} ({share_of(row)}){mark}"


def _categories(analysis: Analysis) -> Iterator[str]:
    """Each place as a whole: what its operations do themselves, and the time without any."""
    rows = []
    for place in analysis.places:
        found = sorted(
            (one for one in analysis.categories if one.place == place.name),
            key=lambda category: -category.own,
        )
        rows += [(one.name, one.place, duration(one.own), percent(one.share)) for one in found]
        idle = max(0.0, 1 - sum(one.share for one in found))
        rest = "(anything else)" if analysis.is_part else "(no operation)"
        rows.append((rest, place.name, "", percent(idle)))
    if rows:
        yield from heading(
            "CATEGORIES: what their operations do themselves, calls side by side added up"
        )
        yield from columns(("category", "place", "time", "share"), rows, left=2)


def _tree(analysis: Analysis) -> Iterator[str]:
    for place in analysis.timed:
        yield from heading(
            f"WHERE THE TIME GOES: {place.name} (capacity {at_once(place.capacities[0])}; "
            f"{percent(place.share)} of it is in operations)"
        )
        head = ("operation", "share", "busy", "covered", "own", "calls", "")
        yield from columns(head, list(_tree_rows(place)), left=1)


def _tree_rows(place: Place) -> Iterator[tuple[str, ...]]:
    top = _top(place)
    for row in place.rows:
        yield (
            "  " * (row.depth - top) + row.name,
            percent(row.share),
            duration(row.busy),
            _covered(row),
            duration(row.own),
            number(row.calls),
            bar(row.share).ljust(26),
        )
        if place.children(row):
            yield (
                "  " * (row.depth - top + 1) + "(not explained)",
                percent(row.own_share),
                "",
                "",
                duration(row.own),
                "",
                bar(row.own_share).ljust(26),
            )


def _operations(analysis: Analysis) -> Iterator[str]:
    for place in analysis.places:
        yield from heading(f"OPERATIONS: {place.name}")
        top = _top(place)
        yield from columns(_TABLE, [_operation(row, row.depth - top) for row in place.rows])


def _top(place: Place) -> int:
    """The level at which it begins, which is not the first if one operation alone is shown."""
    return min(row.depth for row in place.rows)


def _operation(row: Row, level: int) -> tuple[str, ...]:
    return (
        "  " * level + row.name,
        number(row.calls),
        *(duration(time) for time in (row.busy, row.mean, row.shortest, row.longest)),
        *(duration(time) for time in (row.p50, row.p99)),
        *(_peak(allocation) for allocation in (row.memory, row.gpu)),
    )


def _covered(row: Row) -> str:
    return f"{'≤ ' if row.is_bound else ''}{duration(row.covered)}"


def _peak(allocation: Allocation | None) -> str:
    return MISSING if allocation is None else size(allocation.peak)


# Findings


def _recommendations(findings: Findings) -> Iterator[str]:
    yield from heading("RECOMMENDATIONS")
    if not findings.recommendations:
        yield NOTHING_STANDS_OUT
    for found in findings.recommendations:
        yield f"{found.severity}: {found.operation} ({found.place}): {found.reason}"
        yield textwrap.fill(
            f"try: {found.advice}", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
        )


def _bottlenecks(findings: Findings) -> Iterator[str]:
    shown = findings.bottlenecks[:_BOTTLENECKS]
    if not shown:
        return
    yield from heading(f"TOP {len(shown)} BOTTLENECKS, by own time: what children do is theirs")
    head = ("operation", "place", "score", "of the run", "a call", "calls", "memory", "GPU")
    rows = [
        (
            found.name,
            found.place,
            f"{found.score:.1f}",
            percent(found.share),
            duration(found.per_call),
            number(found.calls),
            size(found.memory),
            size(found.gpu),
        )
        for found in shown
    ]
    yield from columns(head, rows, left=2)
    yield "Of the run: how much of it could go at most. Of what the bridge has timed: its own share"
    yield "of the time, of Node's work that of its processes."


def _stages(analysis: Analysis, findings: Findings) -> Iterator[str]:
    shown = findings.stages[:_STAGES]
    if not shown:
        return
    yield from heading("STAGES: how much of each is in use, and the most that removing it gains")
    head = ("stage", "place", "capacity", "busy", "utilisation", "at most")
    rows = [
        (
            stage.name,
            stage.place,
            at_once(stage.capacity),
            duration(stage.busy),
            percent(stage.utilisation),
            gain(stage.gain),
        )
        for stage in shown
    ]
    yield from columns(head, rows, left=2)
    if len(findings.stages) > len(shown):
        yield f"and {len(findings.stages) - len(shown)} smaller ones"
    if len(analysis.timed) > 1:
        yield "Of other threads and processes: if the main one waits for all that they do there."
    if analysis.fed:
        yield "Of Node: while env_wait was under way; of a queue: while any other wait was."


# What else was measured


def _battles(analysis: Analysis) -> Iterator[str]:
    figures = battle_figures(analysis)
    if figures:
        yield from heading("BATTLES")
        width = max(len(figure.name) for figure in figures)
        for figure in figures:
            yield f"{figure.name.ljust(width)}  {figure.text}"


def _metrics(analysis: Analysis) -> Iterator[str]:
    found = list(session_metrics(analysis.session))
    if found:
        yield from heading("METRICS")
        head = ("metric", "unit", "values", "average", "lowest", "p50", "p99", "highest", "last")
        yield from columns(head, [_metric(name, metric) for name, metric in found], left=2)


def _metric(name: str, metric: Metric) -> tuple[str, ...]:
    values = (
        metric.total / metric.count,
        metric.lowest,
        percentile(metric, 50),
        percentile(metric, 99),
        metric.highest,
        metric.last,
    )
    return (name, metric.unit, number(metric.count), *(map(_figure, values)))


def _figure(value: float) -> str:
    return MISSING if math.isnan(value) else f"{value:.4g}"


def _system(analysis: Analysis) -> Iterator[str]:
    machine = analysis.machine
    if not machine.processes:
        return
    yield from heading("SYSTEM RESOURCE USAGE")
    yield f"Peak Memory Usage: {size(machine.rss_peak)}   (all processes, with what they share)"
    cpu = "not measured"
    if machine.cpu_share is not None:
        cpu = f"{percent(machine.cpu_share)} of {machine.cores} cores"
    if machine.unseen is not None and machine.unseen > _MUCH_UNSEEN:
        unseen = duration(machine.unseen)
        cpu += f", {unseen} of it before the first look at a process, or after the last"
    yield f"Average CPU Usage: {cpu}"
    if machine.others_share is not None:
        stolen = ""
        if machine.stolen_share is not None:
            stolen = f"; stolen by the hypervisor: {percent(machine.stolen_share)}"
        others = f"{percent(machine.others_share)} of {machine.all_cores} cores"
        yield f"Other programs took {others}{stolen}"
    for gpu in analysis.gpus:
        yield (
            f"GPU {gpu.name}: {percent(gpu.busy)} busy, at most {size(gpu.memory_peak)} of "
            f"{size(gpu.capacity)} in use"
        )
    if not analysis.gpus:
        yield "GPU: not measured"
    head = ("process", "pid", "watched", "CPU time", "of the machine", "RSS first", "peak", "last")
    rows = [
        (
            process.role,
            str(process.pid),
            duration(process.watched) if process.watched else "one look",
            duration(process.cpu),
            percent(process.cpu_share),
            *(size(rss) for rss in (process.rss_first, process.rss_peak, process.rss_last)),
        )
        for process in machine.processes
    ]
    yield ""
    yield from columns(head, rows)


def _cost(analysis: Analysis) -> Iterator[str]:
    yield from heading("WHAT PROFILING COST")
    yield from cost_sentences(analysis)
