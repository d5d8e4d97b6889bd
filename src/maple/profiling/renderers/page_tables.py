"""The tables of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..analysis import Analysis, Row
from ..findings import Bottleneck, Stage
from ..metrics import percentile, session_metrics
from ..session import Metric
from .grid import at_once, gain
from .page_html import Cell, Colours, measured, metered, role_colour, table

__all__ = ["bottlenecks", "gpus", "metrics", "operations", "processes", "stages"]

_BARS = 24


def bottlenecks(found: Sequence[Bottleneck], colours: Colours) -> str:
    if not found:
        return ""
    heads = (
        *("operation", "score", "of the run", "own", "calls", "a call", "memory rise", "GPU rise"),
        *("category", "place"),
    )
    rows = [
        (
            Cell(one.name),
            metered(one.score / 100, f"{one.score:.1f}", colours[one.category]),
            Cell(percent(one.share)),
            Cell(duration(one.own)),
            Cell(number(one.calls)),
            Cell(duration(one.per_call)),
            Cell(size(one.memory)),
            Cell(size(one.gpu)),
            Cell(one.category),
            Cell(one.place),
        )
        for one in found
    ]
    kept = measured(heads, rows)
    return table(
        [heads[column] for column in kept],
        [("", [[row[column] for column in kept] for row in rows])],
        worded=("category", "place"),
        kind="long",
    )


def stages(stages: Sequence[Stage]) -> str:
    if not stages:
        return ""
    rows = [
        (
            Cell(stage.name),
            Cell(gain(stage.gain)),
            metered(stage.utilisation, percent(stage.utilisation)),
            Cell(duration(stage.busy)),
            Cell(at_once(stage.capacity)),
            Cell(stage.place),
        )
        for stage in sorted(stages, key=lambda stage: -(stage.gain or 0.0))
    ]
    heads = ("stage", "gain at most", "in use", "busy", "capacity", "place")
    return table(heads, [("", rows)], worded=("place",), kind="long")


def operations(analysis: Analysis) -> str:
    heads = (
        *("operation", "calls", "total", "own", "covered", "average", "min", "p50", "p99", "max"),
        *("share", "at once", "memory rise", "GPU rise"),
    )
    places = []
    for place in analysis.places:
        top = min(row.depth for row in place.rows)
        labels = place.labels()
        cells = [_operation(row, labels[row.path], row.depth - top) for row in place.rows]
        places.append((place.name, cells))
    if not places:
        return ""
    kept = measured(heads, [row for _, rows in places for row in rows])
    groups = [(name, [[row[column] for column in kept] for row in rows]) for name, rows in places]
    return table([heads[column] for column in kept], groups, kind="sortable")


def _operation(row: Row, label: str, level: int) -> Sequence[Cell]:
    return (
        Cell(label, label, indent=level),
        _quantity(row.calls, number),
        _quantity(row.busy, duration),
        _quantity(row.own, duration),
        Cell(f"{'≤ ' if row.is_bound else ''}{duration(row.covered)}", row.covered),
        _quantity(row.mean, duration),
        _quantity(row.shortest, duration),
        _quantity(row.p50, duration),
        _quantity(row.p99, duration),
        _quantity(row.longest, duration),
        _quantity(row.share, percent),
        Cell(at_once(row.capacity), row.capacity),
        _quantity(None if row.memory is None else row.memory.peak, size),
        _quantity(None if row.gpu is None else row.gpu.peak, size),
    )


def _quantity(value: float | None, write: Callable[[float | None], str]) -> Cell:
    return Cell(write(value), value)


def processes(analysis: Analysis) -> str:
    rows = [
        (
            Cell(process.role),
            Cell(str(process.pid)),
            Cell(MISSING)
            if process.cpu_share is None
            else metered(process.cpu_share, percent(process.cpu_share), role_colour(process.role)),
            Cell(duration(process.cpu)),
            Cell(duration(process.watched or None)),
            Cell(size(process.rss_first)),
            Cell(size(process.rss_peak)),
            Cell(size(process.rss_last)),
        )
        for process in analysis.machine.processes
    ]
    heads = (
        *("process", "pid", "CPU of the machine", "CPU time", "watched"),
        *("memory, first", "peak", "last"),
    )
    return f"<h3>Processes</h3>{table(heads, [('', rows)], kind='long')}" if rows else ""


def gpus(analysis: Analysis) -> str:
    rows = [
        (
            Cell(gpu.name),
            Cell(MISSING) if gpu.busy is None else metered(gpu.busy, percent(gpu.busy)),
            Cell(size(gpu.memory_peak)),
            Cell(size(gpu.capacity)),
        )
        for gpu in analysis.gpus
    ]
    heads = ("GPU", "busy", "memory peak", "memory")
    return f"<h3>GPUs</h3>{table(heads, [('', rows)])}" if rows else ""


def metrics(analysis: Analysis) -> str:
    rows = [_metric(name, metric) for name, metric in session_metrics(analysis.session)]
    names = dict.fromkeys(name for part in analysis.session.processes for name in part.counts)
    counts = [
        (
            Cell(name),
            Cell(number(count)),
            Cell(number(count / (analysis.wall / 1e9)) if analysis.wall else MISSING),
        )
        for name in names
        if (count := analysis.count(name)) is not None
    ]
    heads = ("metric", "values", "mean", "p50", "p99", "lowest", "highest", "last", "spread")
    shown = table(heads, [("", rows)]) if rows else ""
    if counts:
        shown += f"<h3>Counted</h3>{table(('count', 'in all', 'a second'), [('', counts)])}"
    return shown


def _metric(name: str, metric: Metric) -> Sequence[Cell]:
    label = f"{name} ({metric.unit})" if metric.unit else name
    return (
        Cell(label),
        Cell(number(metric.count)),
        *(
            Cell(_figure(value))
            for value in (
                metric.total / metric.count,
                percentile(metric, 50),
                percentile(metric, 99),
                metric.lowest,
                metric.highest,
            )
        ),
        Cell(MISSING if math.isnan(metric.last) else _figure(metric.last)),
        Cell("", picture=_spark(metric)),
    )


def _figure(value: float) -> str:
    return f"\N{MINUS SIGN}{number(-float(value))}" if value < 0 else number(float(value))


def _spark(metric: Metric) -> str:
    """How values are spread from the lowest to the highest."""
    width = metric.highest - metric.lowest
    if width <= 0:
        return ""
    bars = [0] * _BARS
    for value, count in metric.counts:
        share = min(1.0, max(0.0, (value - metric.lowest) / width))
        bars[min(_BARS - 1, int(share * _BARS))] += count
    most = max(bars)
    drawn = "".join(
        f'<rect x="{i}" width=".85" y="{1 - bar / most:.3f}" height="{bar / most:.3f}"/>'
        for i, bar in enumerate(bars)
        if bar
    )
    return (
        f'<svg class="spark" viewBox="0 0 {_BARS} 1" preserveAspectRatio="none" aria-hidden="true">'
        f"{drawn}</svg>"
    )
