"""What was tried as lines of a table, and what was best as settings."""

from __future__ import annotations

from typing import Final

from bridge.machine import cpu_count
from bridge.throughput.quantities import number
from maple.train.layout import Layout

from .search import SETTINGS, Choice, Search

__all__ = ["as_options", "as_yaml", "headings", "line"]

_WIDTH: Final = 8


def headings() -> str:
    return _row([*SETTINGS, "decisions/s"])


def line(choice: Choice, layout: Layout, speed: float, *, is_best: bool) -> str:
    """A choice, with threads as many as there were, and how fast it was."""
    told = number(round(speed)) if speed else "failed"
    row = _row([*(str(value) for value in _values(choice, layout).values()), told])
    return f"{row}  best so far" if is_best else row


def as_yaml(search: Search) -> str:
    """The best settings, and what they were best for."""
    speed = number(round(search.speeds[search.best]))
    if search.best != search.start:
        better = f"{number(search.gain)} times as fast as those that were given"
    elif len(search.speeds) > 1:
        better = f"with those that were given; {len(search.speeds) - 1} others were not faster"
    else:
        better = "with those that were given; no others were tried"
    config = search.config
    what = f"{config.format}, {config.network.kind}, {config.opponents.mix}"
    head = f"# {what}, on {cpu_count()} cores:\n# {speed} decisions/s, {better}\n"
    return head + "".join(f"{name}: {value}\n" for name, value in _best(search).items())


def as_options(search: Search) -> str:
    return " ".join(f"--{name} {value}" for name, value in _best(search).items())


def _best(search: Search) -> dict[str, int]:
    return _values(search.best, search.layout(search.best))


def _values(choice: Choice, layout: Layout) -> dict[str, int]:
    values = {name: getattr(choice, name) for name in SETTINGS}
    return values | {"threads": layout.threads.count}


def _row(cells: list[str]) -> str:
    return "  ".join(f"{cell:>{max(_WIDTH, len(cell))}}" for cell in cells)
