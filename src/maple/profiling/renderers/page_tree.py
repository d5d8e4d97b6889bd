"""The places of a page: the categories of each, and its tree of operations as blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from bridge.throughput.quantities import duration, number, percent, size

from ..analysis import Analysis, Place, Row
from .grid import at_once
from .page_html import Colours, Told, counted, swatch

__all__ = ["render_places"]

# A place that did little is drawn larger at first, and one that did nothing else always as it is.
_FIT_BELOW = 1 / 3
_FULL = 0.95


def render_places(analysis: Analysis, told: Told) -> str:
    return "\n".join(_place(place, analysis, told) for place in analysis.places)


def _place(place: Place, analysis: Analysis, told: Told) -> str:
    colours = Colours(analysis)
    blocks = list(_blocks(place))
    used = min(1.0, sum(block.size for block in blocks if block.level == 0))
    is_fitted = 0 < used < _FIT_BELOW
    levels = 2 + max(block.level for block in blocks)
    shown = used if is_fitted else 1
    drawn = "\n".join(_block(block, colours, told) for block in blocks)
    wall = _wall(place, analysis)
    whole = f"{escape(place.name)}<small>{duration(wall)}{_times(place.capacities[0])}</small>"
    switch = (
        '<button type="button" class="small fit" hidden>'
        f"{'All of the time' if is_fitted else 'Only the operations'}</button>"
        if used < _FULL
        else ""
    )
    return (
        f'<section class="card place{" fitted" if is_fitted else ""}">\n<header>'
        f"<h2>{escape(place.name)}</h2><p>{escape(_summary(place, used, wall))}</p>{switch}"
        "</header>\n"
        f"{_categories(place, analysis, colours)}\n"
        f'<div class="icicle" style="--levels:{levels};--from:0;--span:{shown:.9g}">\n'
        '<button type="button" class="block whole" style="--start:0;--size:1;--level:0">'
        f"<span>{whole}</span></button>\n{drawn}\n</div>\n</section>"
    )


def _wall(place: Place, analysis: Analysis) -> int:
    return place.feed.length if place.feed else analysis.wall


def _summary(place: Place, used: float, wall: int) -> str:
    where = f", {counted(place.processes, 'process', 'processes')}" if place.processes > 1 else ""
    return (
        f"operations took {percent(used)} of {duration(wall)}{_times(place.capacities[0])}{where}; "
        "click a block to look into it"
    )


def _times(capacity: float) -> str:
    return f" × {at_once(capacity)} at once" if capacity > 1 else ""


def _categories(place: Place, analysis: Analysis, colours: Colours) -> str:
    found = [one for one in analysis.categories if one.place == place.name and one.own > 0]
    found.sort(key=lambda one: -one.own)
    parts = "".join(
        f'<div style="--colour:{colours[one.name]};flex:{1000 * one.share:.6g} 1 0"></div>'
        for one in found
    )
    idle = max(0.0, 1 - sum(one.share for one in found))
    names = "".join(
        f"<span>{swatch(colours[one.name])}{escape(one.name)} "
        f"<small>{duration(one.own)}, {percent(one.share)}</small></span>"
        for one in found
    )
    return (
        f'<div class="bar categories">{parts}'
        f'<div class="idle" style="flex:{1000 * idle:.6g} 1 0"></div></div>'
        f'<div class="legend">{names}</div>'
    )


class _Block(NamedTuple):
    """Where a row is drawn, in shares of the whole; `is_own` is what its children leave of it."""

    row: Row
    level: int
    start: float
    size: float
    is_own: bool


def _blocks(place: Place) -> Iterator[_Block]:
    """A block is as wide as its share, and its children are inside of it."""
    known = {row.path for row in place.rows}
    children: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in place.rows:
        above = row.path[:-1]
        # Of an analysis of one operation alone, the parents are not there.
        children[above if above in known else ()].append(row)

    def below(path: tuple[str, ...], level: int, start: float, room: float) -> Iterator[_Block]:
        together = sum(row.share for row in children[path])
        # Children side by side may have taken more of their capacity than their parent of its own.
        scale = min(1.0, room / together) if together > 0 else 0.0
        for row in children[path]:
            width = row.share * scale
            yield _Block(row, level, start, width, False)
            if children[row.path]:
                own = width * row.own / row.busy if row.busy > 0 else 0.0
                inner = list(below(row.path, level + 1, start, width - own))
                yield from inner
                if own > 0:
                    last = max(one.start + one.size for one in inner if one.level == level + 1)
                    yield _Block(row, level + 1, last, own, True)
            start += width

    return below((), 0, 0.0, 1.0)


def _block(block: _Block, colours: Colours, told: Told) -> str:
    row = block.row
    style = (
        f"--start:{block.start:.9g};--size:{block.size:.9g};--level:{block.level + 1};"
        f"--colour:{colours[row.category]}"
    )
    if block.is_own:
        tip = told.tip(
            f"{row.name}, by itself",
            "what its children do not explain",
            [("own", duration(row.own)), ("of the time", percent(row.own_share))],
        )
        return f'<div class="block own" data-tip="{tip}" style="{style}"></div>'
    tip = told.tip(row.name, " / ".join(row.path[:-1]), _told_of(row))
    label = f"{row.name}, {duration(row.busy)}, {percent(row.share)}"
    return (
        f'<button type="button" class="block" data-tip="{tip}" style="{style}" '
        f'aria-label="{escape(label)}"><span>{escape(row.name)}'
        f"<small>{percent(row.share)}</small></span></button>"
    )


def _told_of(row: Row) -> Iterator[tuple[str, str]]:
    yield "category", row.category
    yield "calls", number(row.calls)
    yield "busy, all calls", duration(row.busy)
    yield "own", duration(row.own)
    if row.covered is not None:
        yield "covered", _at_most(row)
    yield "share", percent(row.share)
    yield "at once, at most", at_once(row.capacity)
    for name, time in (
        *(("mean", row.mean), ("min", row.shortest), ("p50", row.p50), ("p99", row.p99)),
        ("max", row.longest),
    ):
        if time is not None:
            yield name, duration(time)
    if row.memory is not None:
        yield "memory, peak", size(row.memory.peak)
    if row.gpu is not None:
        yield "GPU memory, peak", size(row.gpu.peak)


def _at_most(row: Row) -> str:
    return f"{'≤ ' if row.is_bound else ''}{duration(row.covered)}"
