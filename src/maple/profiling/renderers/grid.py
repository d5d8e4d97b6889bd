"""Rows of text in columns, bars, and quantities of the profiler, for terminals and files alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bridge.throughput.quantities import MISSING, duration, percent

from ..analysis import Analysis, Row

__all__ = ["at_once", "bar", "beside", "columns", "gain", "heading", "recorded_of", "share_of"]

_BAR = 26
_MOST_DIGITS = 6
_PAUSED = 1.05
_EIGHTHS = " ▏▎▍▌▋▊▉"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Lines in which the first `left` columns stand to the left, the others to the right."""
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    lines = [_line(head, widths, left)]
    lines.append("-" * len(lines[0]))
    return [*lines, *(_line(row, widths, left) for row in rows)]


def heading(text: str, width: int = 60) -> list[str]:
    return ["", text, "-" * max(width, len(text))]


def bar(share: float, width: int = _BAR) -> str:
    """A bar of so much of the width; what is there is never quite invisible."""
    eighths = max(round(min(1.0, share) * width * 8), 1 if share > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def at_once(capacity: float) -> str:
    """How many calls could be under way: a whole number, unless that varied over the time."""
    return f"{capacity:,.0f}" if capacity >= 100 else f"{capacity:.3g}"


def recorded_of(analysis: Analysis) -> str:
    """How long was recorded, and of how much if there were pauses."""
    paused = analysis.span > _PAUSED * analysis.wall
    return f"{duration(analysis.wall)}{f' of {duration(analysis.span)}' if paused else ''}"


def share_of(row: Row) -> str:
    """The share of an operation, and of how many at once it is one."""
    return (
        f"{percent(row.share)}{f' of {at_once(row.capacity)} at once' if row.capacity > 1 else ''}"
    )


def beside(ratio: float, limits: Sequence[float], *, digits: int) -> str:
    """So many digits or more: as many as tell on which side of each limit it lies."""

    def sides(number: float) -> list[int]:
        return [(number > limit) - (number < limit) for limit in limits]

    while sides(round(ratio, digits)) != sides(ratio) and digits < _MOST_DIGITS:
        digits += 1
    return f"{ratio:.{digits}f}"


def gain(times: float | None) -> str:
    """How many times faster; without a limit if nothing else was there."""
    if times is None:
        return MISSING
    return "all of it" if math.isinf(times) else f"{times:.2f} ×"


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    placed = [
        cell.ljust(width) if number < left else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()
