"""What the bridge has timed itself, as bars of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from bridge.throughput.quantities import duration, number, percent, size
from bridge.timing import PHASES

from ..analysis import Analysis
from ..feeds import QUEUE_PARTS
from ..session import Distribution, Feed
from .page_html import Told, facts, swatch

__all__ = ["render_phases"]

_PHASES = (*PHASES, *QUEUE_PARTS)


def render_phases(analysis: Analysis, told: Told) -> str:
    return "\n".join(
        _feed(place.name, place.feed, told) for place in analysis.fed if place.feed is not None
    )


def _feed(name: str, feed: Feed, told: Told) -> str:
    trips = [
        _trip(operation.name, operation.total, operation.parts, told)
        for operation in feed.operations
        if operation.parts
    ]
    time = feed.length / 1e9
    counts = [
        (what.replace("_", " "), f"{write(count)}, {write(count / time)} a second")
        for what, count in feed.counts.items()
        for write in [size if what.startswith("bytes_") else number]
        if count
    ]
    sizes = [(what.replace("_", " "), _spread(each, number)) for what, each in feed.sizes.items()]
    return (
        f'<section class="card phases">\n<h2>{escape(name)}: where the time of a call goes</h2>\n'
        '<p class="lead">Each bar is the mean of one operation, cut into its phases in the order '
        f"they happen.</p>\n{''.join(trips)}\n"
        f'<dl class="facts counts">{facts((*counts, *sizes))}</dl>\n</section>'
    )


def _trip(
    name: str, total: Distribution | None, parts: Mapping[str, Distribution], told: Told
) -> str:
    measured = {part: values for part, values in parts.items() if values["count"]}
    whole = sum(values["mean"] for values in measured.values())
    bars, list_ = [], []
    for part, values in measured.items():
        share = values["mean"] / whole if whole else 0.0
        known = part if part in _PHASES else "other"
        words = escape(part.replace("_", " "))
        figures = [(key, duration(values[key])) for key in ("mean", "p50", "p99", "max")]
        tip = told.tip(f"{name}: {part.replace('_', ' ')}", "", figures)
        marked = f'data-part="{escape(part)}" data-tip="{tip}"'
        bars.append(
            f'<div {marked} style="--colour:var(--{known});--on:var(--on-{known});'
            f'flex:{1000 * share:.6g} 1 0"><span>{words}</span></div>'
        )
        list_.append(
            f"<div {marked}><dt>{swatch(f'var(--{known})')}{words}</dt>"
            f"<dd>{duration(values['mean'])}<small>{percent(share)}</small></dd></div>"
        )
    below = f"{_spread(total, duration)}, {number(total['count'])} calls" if total else ""
    return (
        f'<div class="trip"><header><b>{escape(name)}</b><span>{escape(below)}</span></header>'
        f'<div class="bar">{"".join(bars)}</div><dl class="parts">{"".join(list_)}</dl></div>'
    )


def _spread(values: Distribution, write: Callable[[float | None], str]) -> str:
    return (
        f"{write(values['mean'])} on average, p50 {write(values['p50'])}, "
        f"p99 {write(values['p99'])}, at most {write(values['max'])}"
    )
