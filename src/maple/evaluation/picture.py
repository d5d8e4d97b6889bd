"""Draws who beat whom, and how strong everybody is, as one picture."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from .ratings import ANCHOR, Rating
from .report import Report
from .results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_picture"]

_INK: Final = "#1d1f22"
_GREY: Final = "#6b6f76"
_GRID: Final = "#e4e2dc"
_BLUE: Final = "#2563c9"
_NOTHING: Final = "#f3f2ee"
_COLOURS: Final = "RdBu"
"""Red for lost, blue for won: told apart by those who cannot tell red from green."""
_LETTERS: Final = 24
_DARK: Final = 0.28
"""How far from a half a cell is so dark that it is written upon in white."""


def draw_picture(report: Report, file: Path) -> None:
    """Writes a PNG with the matrix of win rates and the ratings; needs matplotlib."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rated = [rating for rating in report.ratings if rating.elo is not None]
    rows, columns = len(report.rows), len(report.players)
    width = 2.6 + 1.05 * columns
    height = 1.9 + 0.62 * max(rows, len(rated))
    # Names are data: a dollar sign in one is no mathematics.
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        # A letter that the font does not have is drawn as a box, which is all there is to it.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        figure = Figure(
            figsize=(width + 5.0, height),
            dpi=130,
            layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1),
        )
        FigureCanvasAgg(figure)
        _draw_title(figure, report)
        left, right = figure.subplots(1, 2, width_ratios=(width, 5.0))
        _draw_matrix(left, report)
        _draw_ratings(right, rated)
        figure.savefig(file, facecolor="white")


def _draw_title(figure: Figure, report: Report) -> None:
    battles = f"{report.wanted} battles for each pair"
    if report.ending != "finished":
        battles += f", of which {len(report.played)} of {report.wanted * len(report.pairs)} played"
    figure.suptitle(f"{report.format}: {battles}", fontsize=11, color=_INK)


def _draw_matrix(axes: Axes, report: Report) -> None:
    rows, columns = report.rows, report.players
    rates = np.full((len(rows), len(columns)), np.nan)
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            result = report.cell(row, column)
            if result is None or result.win_rate is None:
                continue
            rates[y, x] = result.win_rate
            _write_cell(axes, x, y, result)
    axes.set_facecolor(_NOTHING)
    axes.imshow(rates, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), [_short(name) for name in columns], rotation=25, ha="left")
    axes.set_yticks(range(len(rows)), [_short(name) for name in rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=9, labelcolor=_INK)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel(
        "Win rate of the row against the column, in percent, with its interval at 95 %",
        fontsize=8.5,
        color=_GREY,
    )


def _write_cell(axes: Axes, x: int, y: int, result: Result) -> None:
    assert result.win_rate is not None
    low, high = result.interval
    colour = "white" if abs(result.win_rate - 0.5) > _DARK else _INK
    axes.text(x, y - 0.1, f"{100 * result.win_rate:.0f}", ha="center", color=colour, fontsize=11)
    interval = f"{100 * low:.0f} to {100 * high:.0f}"
    axes.text(x, y + 0.3, interval, ha="center", color=colour, fontsize=7)


def _draw_ratings(axes: Axes, ratings: list[Rating]) -> None:
    if not ratings:
        axes.set_visible(False)
        return
    elo = [rating.elo or 0.0 for rating in ratings]
    reach = [rating.reach or 0.0 for rating in ratings]
    places = range(len(ratings))
    axes.errorbar(elo, places, xerr=reach, fmt="o", color=_BLUE, markersize=6, capsize=3)
    for place, rating, value in zip(places, ratings, elo, strict=True):
        told = f"{value:.0f} \N{PLUS-MINUS SIGN} {rating.reach:.0f}"
        axes.annotate(
            told,
            (value, place),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=_INK,
        )
    axes.set_yticks(places, [_short(rating.name) for rating in ratings], fontsize=9)
    axes.set_ylim(len(ratings) - 0.5, -0.7)
    axes.margins(x=0.15)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_GRID)
    of_whom = "" if all(rating.name != ANCHOR for rating in ratings) else f", {ANCHOR} being 1000"
    axes.set_xlabel(f"Elo rating with its error at 95 %{of_whom}", fontsize=8.5, color=_GREY)


def _short(name: str) -> str:
    text = "".join(letter if letter.isprintable() else "\N{MIDDLE DOT}" for letter in name)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
