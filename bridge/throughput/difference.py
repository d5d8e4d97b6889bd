"""What was recorded between two states of histograms that go on counting, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..histogram import PERCENTILES, Histogram
from .report import Distribution, Operation

__all__ = ["operations_between", "recorded_between"]


def operations_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Operation]:
    """The round trips from one state of `stats()["round_trips"]` to a later one."""
    operations = []
    for name, trips in after.items():
        earlier = before.get(name, {"total": None, "phases": {}})
        total = recorded_between(earlier["total"], trips["total"])
        if total["count"]:
            phases = {
                phase: recorded_between(earlier["phases"].get(phase), distribution)
                for phase, distribution in trips["phases"].items()
            }
            operations.append(Operation(name, total, phases))
    return sorted(operations, key=lambda operation: -operation.total["count"])


def recorded_between(before: Distribution | None, after: Distribution) -> Distribution:
    """What was recorded between two states of the same histogram."""
    if before is None or not before["count"]:
        return _limited(after, after["max"])
    recent = Histogram.decode(after["hdr"]).since(Histogram.decode(before["hdr"]))
    summary = recent.summary() | {"hdr": recent.encode()}
    # If there is a new longest one it is of this interval, and known to the nanosecond.
    longest = after["max"] if after["max"] > before["max"] else summary["max"]
    return _limited(summary, longest)


def _limited(summary: Distribution, longest: int) -> Distribution:
    """Figures that are known to one percent, held below the one that is known exactly."""
    names = ("mean", *(f"p{p:g}" for p in PERCENTILES), "max")
    return summary | {name: min(summary[name], longest) for name in names}
