"""Draws what was found as one picture: operations, categories, the machine over time."""

from __future__ import annotations

import itertools
import re
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.throughput.quantities import duration, percent, size

from ..analysis import Analysis, Place, Row
from ..findings import Findings
from ..usage import Moment, stretches
from .grid import recorded_of, share_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_charts"]

_MOST = 12
_LETTERS = 38
_INCHES = 13.0
_LINE = 0.19  # inches
_INK, _GREY, _GRID, _ALARM = "#1d1f22", "#6b6f76", "#e4e2dc", "#b3261e"
_COLOURS = {
    "Environment": "#1d7a45",
    "Inference": "#2563c9",
    "IPC": "#d98a00",
    "Learning": "#7c4dbd",
    "Logging I/O": "#8a5a2b",
    "Model": "#0f8a8a",
    "Other": "#6b7a2c",
    "Policy": "#c2378b",
    "Waiting": "#a3a8b0",
    "main": "#2563c9",
    "node": "#1d7a45",
    "worker": "#9166cc",
    "other": "#a3a8b0",
}
_SPARE = ("#c8421a", "#4a6fa5", "#a03c52")


class _Bar(NamedTuple):
    """A row, its label, and where it is drawn: so high as its label has lines."""

    row: Row
    label: str
    at: float
    height: float


def draw_charts(analysis: Analysis, findings: Findings, file: Path) -> None:
    """Writes a PNG; needs matplotlib. Panels of what was not measured are left out."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    bars, left_out = _bars(analysis)
    places = [place for place in analysis.places if any(row.own > 0 for row in place.rows)]
    timeline = analysis.machine.timeline
    heights = {
        "operations": 0.9 + _LINE * sum(bar.height for bar in bars) if bars else 0.0,
        "categories": 1.0 + 0.4 * len(places) if places else 0.0,
        "machine": 2.9 if len(timeline) > 1 else 0.0,
    }
    rows = [(name, height) for name, height in heights.items() if height]
    # Names are data: a dollar sign in one is no mathematics.
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # A letter that the font does not have is drawn as a box, which is all there is to it.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        figure = Figure(
            figsize=(_INCHES, 0.9 + sum(height for _, height in rows)),
            dpi=130,
            layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.08),
        )
        FigureCanvasAgg(figure)
        _draw_title(figure, analysis, findings)
        if rows:
            parts = figure.subfigures(
                len(rows), 1, height_ratios=[h for _, h in rows], squeeze=False
            )[:, 0]
            for (name, _), part in zip(rows, parts, strict=True):
                if name == "operations":
                    shares, times = part.subplots(1, 2, sharey=True, width_ratios=(3, 2))
                    _draw_operations(shares, bars, left_out)
                    _draw_latencies(times, bars)
                elif name == "categories":
                    _draw_categories(part.subplots(), analysis, places)
                else:
                    cores, memory = part.subplots(1, 2)
                    _draw_cores(cores, timeline, analysis.machine.cores)
                    _draw_memory(memory, timeline)
        figure.savefig(file, facecolor="white")


def _draw_title(figure: Figure, analysis: Analysis, findings: Findings) -> None:
    session = analysis.session
    told = [
        session.began.replace("T", " "),
        f"{recorded_of(analysis)} on {session.machine.cores} cores",
    ]
    if not analysis.rows:
        told.append("no operation was timed")
    if findings.bottlenecks:
        worst = findings.bottlenecks[0]
        told.append(f"top bottleneck {worst.name} in {worst.place} (score {worst.score:.0f})")
    title = "\n".join(textwrap.wrap(_printable(session.name), 80))
    below = textwrap.wrap(_printable(", ".join(told)), 150)
    figure.suptitle("\n".join((title, *below)), fontsize=11, color=_INK)


# Operations


def _bars(analysis: Analysis) -> tuple[list[_Bar], int]:
    """The operations that took the most time, and how many others there are."""
    places = analysis.timed or analysis.fed
    rows = sorted((row for place in places for row in place.rows), key=lambda row: -row.elapsed)
    shown = rows[:_MOST]
    labels = {place.name: place.labels() for place in places}
    bars: list[_Bar] = []
    top = 0.0
    for row in shown:
        label = _label(labels[row.place][row.path], row.place if len(places) > 1 else None)
        height = max(2.0, 0.6 + label.count("\n") + 1)
        bars.append(_Bar(row, label, top + height / 2, height))
        top += height
    return bars, len(rows) - len(shown)


def _label(label: str, place: str | None) -> str:
    return "\n".join((*_wrapped(label), *(_wrapped(f"({place})") if place else ())))


def _wrapped(name: str) -> list[str]:
    """In lines that are short enough; broken behind an underscore where that is possible."""
    lines = [""]
    for part in re.split(r"(?<=[_ ])", _printable(name)):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _LETTERS:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > _LETTERS:
            lines[-1:] = [lines[-1][:_LETTERS], lines[-1][_LETTERS:]]
    return [line.rstrip() for line in lines]


def _draw_operations(axes: Axes, bars: Sequence[_Bar], left_out: int) -> None:
    longest = max(bar.row.elapsed for bar in bars) or 1.0
    for bar in bars:
        row = bar.row
        colour = _colour(row.category)
        whole = row.elapsed / 1e9
        own = whole * row.own / row.busy if row.busy else 0.0
        axes.barh(bar.at, whole, 1.3, color=_light(colour), linewidth=0)
        axes.barh(bar.at, own, 1.3, color=colour, linewidth=0)
        axes.annotate(
            f"{duration(row.elapsed)}, {share_of(row)}",
            (whole, bar.at),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=_INK,
        )
    axes.set_yticks([bar.at for bar in bars], [bar.label for bar in bars], fontsize=9)
    axes.set_ylim(bars[-1].at + bars[-1].height / 2, 0)
    # Room for what is written beside the longest.
    axes.set_xlim(0, 1.24 * longest / 1e9)
    rest = f"; {left_out} more are left out" if left_out else ""
    _dress(
        axes, f"Time by operation, each moment once:\nown (dark) and of its children (light){rest}"
    )
    axes.xaxis.set_major_formatter(lambda value, _: _short(duration(value * 1e9)))


def _draw_latencies(axes: Axes, bars: Sequence[_Bar]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = []
    for bar in bars:
        row, colour = bar.row, _colour(bar.row.category)
        if row.p50 is None or row.p99 is None or row.longest is None:
            continue
        # A logarithm knows no zero, and a clock no less than a nanosecond.
        p50, p99, longest = (max(1.0, time) for time in (row.p50, row.p99, row.longest))
        axes.plot((p50, longest), (bar.at, bar.at), color=colour, linewidth=1, alpha=0.7)
        axes.plot(
            (p50, p99),
            (bar.at, bar.at),
            color=colour,
            linewidth=5,
            alpha=0.4,
            solid_capstyle="butt",
        )
        axes.plot(p50, bar.at, "o", color=colour, markersize=6)
        axes.plot(longest, bar.at, "|", color=colour, markersize=9, markeredgewidth=1.6)
        axes.annotate(
            duration(row.p50),
            (p50, bar.at),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=_GREY,
        )
        drawn += [p50, longest]
    _dress(axes, "Time of a call:\np50 (dot), to p99 (thick), to the longest (line)")
    axes.tick_params(axis="y", labelleft=False)
    if drawn:
        axes.set_xscale("log")
        axes.set_xlim(min(drawn) / 2.5, max(drawn) * 2.0)
        decades = len(f"{max(drawn) / min(drawn):.0f}")
        axes.xaxis.set_major_locator(LogLocator(10, (1.0,) if decades > 2 else (1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(lambda value, _: _short(duration(value)))
    else:
        axes.set_visible(False)


# Categories


def _draw_categories(axes: Axes, analysis: Analysis, places: Sequence[Place]) -> None:
    """Each place as one bar, of what operations have taken there; what is blank is none's."""
    for position, place in enumerate(places):
        start = 0.0
        found = [one for one in analysis.categories if one.place == place.name and one.own > 0]
        for one in sorted(found, key=lambda one: -one.own):
            name, own, width = one.name, one.own, one.share
            axes.barh(position, width, 0.62, left=start, color=_colour(name), linewidth=0)
            if width > 0.09:
                axes.text(
                    start + width / 2,
                    position,
                    f"{duration(own)}\N{NO-BREAK SPACE}({percent(width)})",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="black" if name in ("Waiting", "IPC") else "white",
                )
            start += width
    labels = ["\n".join(_wrapped(place.name)) for place in places]
    axes.set_yticks(range(len(places)), labels, fontsize=9)
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    _dress(
        axes, "Categories by place: what operations took themselves, calls side by side added up"
    )
    axes.xaxis.set_major_formatter(lambda value, _: percent(value))
    _legend(axes, list(dict.fromkeys(one.name for one in analysis.categories if one.own > 0)))


# The machine


def _draw_cores(axes: Axes, timeline: Sequence[Moment], limit: int) -> None:
    between = list(itertools.pairwise(moment.at for moment in timeline))
    values = {
        role: [moment.cores.get(role, 0.0) for moment in timeline[1:]] for role in _roles(timeline)
    }
    highest = _stack(axes, between, values)
    axes.axhline(limit, color=_ALARM, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.12 * max(limit, highest))
    _dress(axes, f"CPU cores in use, by role; the machine has {limit} (line)", grid="y")
    _legend(axes, list(values))


def _draw_memory(axes: Axes, timeline: Sequence[Moment]) -> None:
    values = {
        role: [float(moment.rss.get(role, 0)) for moment in timeline] for role in _roles(timeline)
    }
    highest = _stack(axes, stretches(timeline), values)
    axes.set_ylim(0, 1.12 * (highest or 1.0))
    axes.yaxis.set_major_formatter(lambda value, _: _short(size(value)))
    _dress(axes, f"Memory, by role; {size(highest)} at the most of these looks", grid="y")
    _legend(axes, list(values))


def _stack(axes: Axes, parts: Sequence[tuple[int, int]], values: dict[str, list[float]]) -> float:
    """Draws areas upon each other over parts of the time; returns how high they reach."""
    since = parts[0][0]
    edges = [0.0, *((until - since) / 1e9 for _, until in parts)]
    floor = [0.0] * len(parts)
    for role, heights in values.items():
        top = [low + height for low, height in zip(floor, heights, strict=True)]
        axes.stairs(top, edges, baseline=floor, fill=True, color=_colour(role), alpha=0.6)
        floor = top
    axes.set_xlim(0, edges[-1])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    return max(floor)


def _roles(timeline: Sequence[Moment]) -> list[str]:
    return list(dict.fromkeys(role for moment in timeline for role in moment.rss))


# What all panels share


def _dress(axes: Axes, title: str, grid: str = "x") -> None:
    axes.set_title(title, fontsize=9.5, loc="left", color=_INK)
    axes.grid(axis="x" if grid == "x" else "y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", labelsize=8.5, length=0, labelcolor=_GREY)
    for label in axes.get_yticklabels():
        label.set_color(_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_GRID)


def _legend(axes: Axes, names: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    axes.legend(
        [Patch(color=_colour(name), linewidth=0) for name in names],
        [_printable(name) for name in names],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
        ncols=min(6, len(names)),
        fontsize=8,
        frameon=False,
        handlelength=1,
        handleheight=1,
    )


def _colour(name: str) -> str:
    return _COLOURS.get(name) or _SPARE[sum(name.encode()) % len(_SPARE)]


def _light(colour: str) -> str:
    """The same, mixed with white."""
    parts = (int(colour[position : position + 2], 16) for position in (1, 3, 5))
    return "#" + "".join(f"{255 - round(0.32 * (255 - part)):02x}" for part in parts)


def _short(quantity: str) -> str:
    """A round quantity, without the zeros of a measured one."""
    figure, _, unit = quantity.partition(" ")
    value = float(figure.replace(",", ""))
    return f"{value:g} {unit}" if value else "0"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in text)
