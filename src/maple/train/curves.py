"""Draws how a run went as one picture, from its figures: win rates, speed, learning, rewards."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curves"]

Column: TypeAlias = npt.NDArray[np.float64]

_GREY: Final = "#6b6f76"
_GRID: Final = "#e4e2dc"
_WIN_RATE: Final = "win_rate/"
_REWARD: Final = "reward/"
# A figure of one update is mostly noise: drawn are means of about so many points a curve.
_POINTS: Final = 150


def draw_curves(metrics: Path, file: Path, title: str) -> bool:
    """Writes a PNG of what is in a metrics.csv; whether there is anything. Needs matplotlib."""
    import matplotlib as mpl

    columns = _read(metrics)
    if not columns:
        return False
    # Names are data: a dollar sign in one is no mathematics.
    with mpl.rc_context({"text.parse_math": False}):
        _draw_all(columns, file, title)
    return True


def _draw_all(columns: dict[str, Column], file: Path, title: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    minutes = columns["time/seconds"] / 60
    figure = Figure(figsize=(11, 7), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    (won, speed), (learning, rewards) = figure.subplots(2, 2, sharex=True)
    _draw(won, "Won of the latest battles", minutes, _named(columns, _WIN_RATE), is_share=True)
    _draw(
        speed,
        "Decisions a second, played and learned from",
        minutes,
        {"decisions/s": columns["speed/decisions_per_s"]},
    )
    _draw(
        learning,
        "Learning",
        minutes,
        {
            "entropy": columns["learning/entropy"],
            "variance that values explain": columns["learning/explained"],
            "clipped": columns["learning/clipped"],
        },
    )
    _draw(rewards, "Reward of a battle, by its parts", minutes, _named(columns, _REWARD))
    for axes in (learning, rewards):
        axes.set_xlabel("minutes of training", fontsize=9, color=_GREY)
    figure.savefig(file, facecolor="white")


def _draw(
    axes: Axes, title: str, minutes: Column, curves: dict[str, Column], *, is_share: bool = False
) -> None:
    axes.set_title(title, fontsize=10, loc="left")
    each = max(1, round(len(minutes) / _POINTS))
    for name, values in curves.items():
        axes.plot(_thinned(minutes, each), _thinned(values, each), linewidth=1.4, label=name)
    if is_share:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    elif all(np.nanmin(values) >= 0 for values in curves.values() if not np.isnan(values).all()):
        axes.set_ylim(bottom=0)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.tick_params(length=0, labelsize=8.5)
    for side in axes.spines.values():
        side.set_visible(False)
    if curves:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def _thinned(values: Column, each: int) -> Column:
    """Means of so many neighbours, less those that are not known."""
    padded = np.append(values, np.full(-len(values) % each, np.nan)).reshape(-1, each)
    known = ~np.isnan(padded)
    count = known.sum(axis=1)
    means: Column = np.full(len(count), np.nan)
    np.divide(np.where(known, padded, 0).sum(axis=1), count, out=means, where=count > 0)
    return means


def _named(columns: dict[str, Column], prefix: str) -> dict[str, Column]:
    return {
        name.removeprefix(prefix): values
        for name, values in columns.items()
        if name.startswith(prefix)
    }


def _read(metrics: Path) -> dict[str, Column]:
    """By name; what was not known yet in an update is no number."""
    with metrics.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    names = rows[0] if rows else ()
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}
