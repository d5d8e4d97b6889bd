"""How fast training is, collection and updates together, as a table."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from rich import box
from rich.table import Table

from bridge.benchmarks.run import Outcome
from bridge.benchmarks.sample import Sample

__all__ = ["cores_in_use", "explain_training", "training_table"]


def cores_in_use(sample: Sample) -> float:
    """How many cores all processes of a row kept busy, on average."""
    return (sample.python_cpu + sample.node_cpu) / sample.wall


def explain_training(outcome: Outcome) -> Iterator[str]:
    """What each row was measured with, a line each."""
    for row, _samples in outcome.measured("training"):
        notes = outcome.notes.get(row, {})
        found = (f"{name.replace('_', ' ')} {value}" for name, value in notes.items())
        yield f"{row}: {', '.join(found)}"


def training_table(outcome: Outcome) -> Table | None:
    """Decisions that were collected and learned from per second, if that was measured."""
    rows = outcome.measured("training")
    if not rows:
        return None
    table = Table("row", "what it is", box=box.MARKDOWN)
    for heading in (
        *("samples", "decisions/s", "lowest to highest", "Python CPU ms/decision"),
        *("Node CPU ms/decision", "cores in use", "memory MB"),
    ):
        table.add_column(heading, justify="right")
    for name, samples in rows:
        speeds = [sample.decisions_per_s for sample in samples]
        table.add_row(
            name,
            outcome.rows[name].description,
            str(len(samples)),
            f"{statistics.median(speeds):.0f}",
            f"{min(speeds):.0f} to {max(speeds):.0f}",
            f"{_median(samples, lambda sample: sample.python_cpu_ms_per_decision):.3f}",
            f"{_median(samples, lambda sample: sample.node_cpu_ms_per_decision):.3f}",
            f"{_median(samples, cores_in_use):.2f}",
            f"{_median(samples, lambda sample: 1e-6 * sample.memory):.0f}",
        )
    return table


def _median(samples: list[Sample], figure: Callable[[Sample], float]) -> float:
    return statistics.median(figure(sample) for sample in samples)
