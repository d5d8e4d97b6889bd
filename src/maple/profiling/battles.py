"""What a session says of battles: from the counts of the bridge, as figures for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bridge.throughput.quantities import duration, number

from .analysis import Analysis
from .intervals import length, union

__all__ = ["Figure", "battle_figures"]

_MOST_UNFINISHED = 0.1
_LINES = {"commands": "IPC lines to Node a turn", "frames": "IPC lines from Node a turn"}


class Figure(NamedTuple):
    """A quantity with its name; `value` is in the unit that the name says, or nanoseconds."""

    name: str
    value: float
    text: str


def battle_figures(analysis: Analysis) -> list[Figure]:
    """The figures that were measured, and no others."""
    feeds = [place.feed for place in analysis.fed if place.feed is not None]
    trips = [feed for feed in feeds if feed.kind == "ipc"]
    counts: dict[str, int] = {}
    for feed in trips:
        for name, count in feed.counts.items():
            counts[name] = counts.get(name, 0) + count
    bounds = np.array([(feed.since, feed.until) for feed in trips], np.int64).reshape(-1, 2)
    seconds = length(union(bounds)) / 1e9
    sizes = [feed.sizes["batch_size"] for feed in feeds if "batch_size" in feed.sizes]
    return [*_figures(counts, seconds), *(_batches(size) for size in sizes)]


def _counts_its_turns(counts: dict[str, int]) -> bool:
    """Whether turns, which are counted when a battle ends, are about those that were played.

    Decisions are counted at once and when it ends, so they tell how much is not over, less what had
    begun before.
    """
    decisions, ended = counts.get("decisions", 0), counts.get("decisions_ended", 0)
    return abs(decisions - ended) <= _MOST_UNFINISHED * decisions


def _figures(counts: dict[str, int], seconds: float) -> Iterator[Figure]:
    battles, turns = counts.get("battles_ended", 0), counts.get("turns", 0)
    if battles:
        yield _figure("battles", battles)
        yield _figure("battles a second", battles / seconds)
        yield _figure("turns a battle", turns / battles)
    has_turns = turns > 0 and _counts_its_turns(counts)
    if has_turns:
        nanoseconds = seconds * 1e9 / turns
        yield Figure("time a turn", nanoseconds, f"{duration(nanoseconds)} of the run")
    if decisions := counts.get("decisions", 0):
        yield _figure("decisions", decisions)
        yield _figure("decisions a second", decisions / seconds)
    for name, title in _LINES.items():
        if has_turns and name in counts:
            yield _figure(title, counts[name] / turns)
    for name in ("starts", "deaths"):
        if name in counts:
            yield _figure(f"Node {name}", counts[name])


def _batches(size: dict[str, float]) -> Figure:
    text = f"{number(size['mean'])} rows on average, p50 {size['p50']}, at most {size['max']}"
    return Figure("batch size", size["mean"], text)


def _figure(name: str, value: float) -> Figure:
    return Figure(name, value, number(value))
