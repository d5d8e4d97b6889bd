"""The machine over time, as charts of a page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from bridge.throughput.quantities import number, percent, size

from ..analysis import Analysis
from ..usage import stretches
from .page_html import Told, role_colour, swatch

__all__ = ["render_timeline"]


class _Step(NamedTuple):
    """An interval of a chart, and what stands on top of what in it."""

    since: int
    until: int
    values: Mapping[str, float]


def render_timeline(analysis: Analysis, told: Told) -> str:
    """Nothing, if nobody looked twice."""
    return "".join(_charts(analysis, told))


def _charts(analysis: Analysis, told: Told) -> Iterator[str]:
    session, timeline = analysis.session, analysis.machine.timeline
    pairs = list(itertools.pairwise(timeline))
    if pairs:
        roles = list(dict.fromkeys(role for moment in timeline for role in moment.rss))
        limit = analysis.machine.cores
        cores = [_Step(before.at, now.at, now.cores) for before, now in pairs]
        around = zip(stretches(timeline), timeline, strict=True)
        memory = [_Step(since, until, moment.rss) for (since, until), moment in around]
        yield f'<div class="legend">{"".join(_role(role) for role in roles)}</div>'
        yield _chart(f"CPU cores in use, of {limit}", cores, roles, number, told, limit=limit)
        yield _chart("Memory", memory, roles, size, told)
    for gpu in analysis.gpus:
        samples = [sample for sample in session.gpus if sample.gpu == gpu.name]
        steps = [
            _Step(before.at, now.at, {gpu.name: now.busy})
            for before, now in itertools.pairwise(samples)
            if now.busy is not None
        ]
        if steps:
            yield _chart(f"GPU {gpu.name}, busy", steps, [gpu.name], percent, told, limit=1)


def _role(role: str) -> str:
    return f"<span>{swatch(role_colour(role))}{escape(role)}</span>"


def _chart(
    title: str,
    steps: Sequence[_Step],
    names: Sequence[str],
    write: Callable[[float | None], str],
    told: Told,
    limit: float | None = None,
) -> str:
    """Areas upon each other, in a frame of 100 by 100 that is stretched to its place."""
    since, until = steps[0].since, max(step.until for step in steps)
    whole = max(1, until - since)
    highest = max(sum(step.values.values()) for step in steps)
    step, count = _round_steps(max(highest, limit or 0.0), 3)
    top = step * count

    def x(moment: int) -> float:
        return 100 * (moment - since) / whole

    def y(value: float) -> float:
        return 100 - 100 * value / top

    up = [index * step for index in range(count + 1)]
    along, unit, scale = _times_along(whole / 1e9)
    grid = "".join(f'<line class="grid" x2="100" y1="{y(v):.3f}" y2="{y(v):.3f}"/>' for v in up)
    areas = "".join(_areas(steps, names, x, y))
    limits = labels = ""
    if limit is not None:
        limits = f'<line class="limit" x2="100" y1="{y(limit):.3f}" y2="{y(limit):.3f}"/>'
    labels += "".join(
        f'<span class="up" style="bottom:{100 - y(value):.3f}%">{_trimmed(write(value))}</span>'
        for value in up
    )
    labels += "".join(
        f'<span class="along" style="left:{100 * time * scale * 1e9 / whole:.3f}%">{time:g} {unit}'
        "</span>"
        for time in along
    )
    number = told.chart([_moment(step, since, whole, names, write) for step in steps])
    return (
        f'<figure class="chart" data-chart="{number}"><figcaption>{escape(title)}</figcaption>'
        '<div class="frame"><svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}, over time">{grid}{areas}{limits}</svg>{labels}</div>'
        "</figure>"
    )


def _areas(
    steps: Sequence[_Step],
    names: Sequence[str],
    x: Callable[[int], float],
    y: Callable[[float], float],
) -> Iterator[str]:
    floor = [0.0] * len(steps)
    for position, name in enumerate(names):
        ceiling = [low + step.values.get(name, 0.0) for low, step in zip(floor, steps, strict=True)]
        above = [(step.since, step.until, high) for step, high in zip(steps, ceiling, strict=True)]
        under = [(step.until, step.since, low) for step, low in zip(steps, floor, strict=True)]
        points = "L".join(
            f"{x(one):.2f} {y(value):.2f}L{x(other):.2f} {y(value):.2f}"
            for one, other, value in (*above, *reversed(under))
        )
        yield f'<path class="area" style="--colour:{role_colour(name, position)}" d="M{points}Z"/>'
        floor = ceiling


def _moment(
    step: _Step,
    since: int,
    whole: int,
    names: Sequence[str],
    write: Callable[[float | None], str],
) -> dict[str, Any]:
    between = f"{(step.since - since) / 1e9:.1f} to {(step.until - since) / 1e9:.1f} s"
    lines = [(name, write(step.values.get(name))) for name in names]
    if len(names) > 1:
        lines.append(("together", write(sum(step.values.values()) if step.values else None)))
    return {
        "from": round((step.since - since) / whole, 6),
        "until": round((step.until - since) / whole, 6),
        "title": between,
        "lines": lines,
    }


def _round_steps(highest: float, wanted: int) -> tuple[float, int]:
    """Round steps that reach up to a value, and how many of them."""
    rough = (highest or 1.0) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough * 0.999)
    return step, math.ceil((highest or 1.0) / step - 1e-9)


def _times_along(length: float) -> tuple[list[float], str, float]:
    """Round times up to one in seconds; their unit, and how many seconds that has."""
    unit, scale = next(
        (unit, scale)
        for unit, scale, least in (("h", 3600.0, 7200.0), ("min", 60.0, 240.0), ("s", 1.0, 0.0))
        if length >= least
    )
    step, count = _round_steps(length / scale, 5)
    times = [round(index * step, 9) for index in range(count + 1)]
    return [time for time in times if time * scale <= length * 1.001], unit, scale


def _trimmed(text: str) -> str:
    """A round quantity without the zeros that a measured one keeps."""
    figure, space, unit = text.partition(" ")
    return (figure.rstrip("0").rstrip(".") if "." in figure else figure) + space + unit
