"""Writes what profiling itself has cost, in sentences that every report ends with."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.throughput.quantities import duration, number, percent

from ..analysis import Analysis
from ..session import Overhead

__all__ = ["cost_of_a_call", "cost_sentences"]


def cost_sentences(analysis: Analysis) -> Iterator[str]:
    """As far as it was measured."""
    overhead = analysis.session.overhead
    if overhead is None:
        yield "What profiling itself took was not measured."
        return
    yield cost_of_a_call(overhead)
    if any(row.memory is not None for row in analysis.rows):
        yield f"One that looks at memory takes {duration(overhead.measured)}."
    calls, share = analysis.profiled_calls, analysis.cost_share
    if calls and share is not None:
        yield (
            f"{number(calls)} {'call' if calls == 1 else 'calls'} took "
            f"{duration(analysis.cost_of_calls)} to record, which is {percent(share)} of the time "
            "of the processes that were recorded."
        )
    if analysis.looking_share is not None:
        looks = "1 look" if overhead.samples == 1 else f"{number(overhead.samples)} looks"
        yield (
            f"{looks} at the processes took {duration(overhead.sampling_cpu)} of CPU time: "
            f"{percent(analysis.looking_share)} of a core."
        )


def cost_of_a_call(overhead: Overhead) -> str:
    return (
        f"A `with profile(…)` takes {duration(overhead.enabled)} here, adding up included, and "
        f"{duration(overhead.disabled)} while the profiler is off."
    )
