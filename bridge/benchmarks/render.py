"""Prints what a benchmark measured, with tables in Markdown, ready to be quoted."""

from __future__ import annotations

import statistics

from rich import box
from rich.console import Console
from rich.table import Table

from .run import Comparison, Outcome, Target
from .sample import Sample

__all__ = ["render"]


def render(outcome: Outcome, console: Console) -> None:
    """The machine, the rows and the comparisons."""
    plan = outcome.plan
    console.print(", ".join(f"{name} {value}" for name, value in outcome.machine.items() if value))
    console.print(
        f"{plan.format}, medians of samples of {plan.battles} battles (process_per_battle: "
        f"{plan.slow_battles}, timing: {plan.fine_battles}) or {plan.seconds:g} s (rooms); "
        f"pool of {plan.pool} with {plan.rooms} battles in flight"
    )
    if best := outcome.notes.get("showdown_websocket"):
        console.print(
            f"showdown_websocket: the best of all settings tried is {best['simulator_processes']} "
            f"simulator processes and {best['concurrency']} battles in flight"
        )
    console.print(_rows(outcome))
    if comparisons := outcome.comparisons():
        console.print(_comparisons(comparisons))
    if per_room := outcome.memory_per_room():
        figures = ", ".join(f"{value / 1024:.0f} KiB in {side}" for side, value in per_room.items())
        console.print(f"memory per open room: {figures}")


def _table(*words: str, figures: tuple[str, ...]) -> Table:
    table = Table(*words, box=box.MARKDOWN)
    for heading in figures:
        table.add_column(heading, justify="right")
    return table


def _rows(outcome: Outcome) -> Table:
    table = _table(
        "row",
        "what it is",
        figures=(
            "samples",
            "battles/s",
            "decisions/s",
            "Python CPU ms/decision",
            "Node CPU ms/decision",
            "memory MB",
        ),
    )
    for name, samples in outcome.measured():
        table.add_row(name, outcome.rows[name].description, str(len(samples)), *_figures(samples))
    return table


def _comparisons(comparisons: list[Comparison]) -> Table:
    table = _table("comparison", figures=("median", "lowest to highest", "target", "result"))
    for comparison in comparisons:
        measured = comparison.measured
        table.add_row(
            comparison.target.text,
            f"{measured.median:.3f}",
            f"{measured.low:.3f} to {measured.high:.3f}",
            _bound(comparison.target),
            {True: "reached", False: "missed", None: ""}[comparison.is_reached],
        )
    return table


def _bound(target: Target) -> str:
    if target.limit is None:
        return ""
    return f"at {'least' if target.at_least else 'most'} {target.limit:g}"


def _figures(samples: list[Sample]) -> list[str]:
    def median(name: str, digits: int, scale: float = 1.0) -> str:
        value = statistics.median(getattr(sample, name) for sample in samples)
        return f"{value * scale:.{digits}f}"

    return [
        median("battles_per_s", 1),
        median("decisions_per_s", 0),
        median("python_cpu_ms_per_decision", 3),
        median("node_cpu_ms_per_decision", 3),
        median("memory", 0, 1e-6),
    ]
