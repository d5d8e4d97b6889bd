"""How fast the vector environment is for its size, as a table and as a picture."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from bridge.benchmarks.run import Outcome
from bridge.benchmarks.sample import Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CURVE", "curve_row", "curve_table", "draw_curve"]

CURVE = (1, 4, 16, 64, 256)
"""Numbers of environments."""

# What a reader wants to see beside it, if it was measured in the same run.
_BASELINES = {
    "showdown_websocket": "poke-env's RandomPlayers on a Showdown server",
    "singles_env_showdown": "poke-env's SinglesEnv with the same policy (steps)",
}
_BLUE, _ORANGE, _GREY = "#1f5fa8", "#d1701f", "#6b6b6b"


def curve_row(num_envs: int) -> str:
    """The name of the row with so many environments."""
    return f"curve_{num_envs}"


def curve_table(outcome: Outcome) -> Table | None:
    """Decisions per second, CPU time and memory by number of environments, if measured."""
    points = _points(outcome)
    if not points:
        return None
    table = Table(box=box.MARKDOWN)
    for heading in (
        *("environments", "agents a batch", "samples", "decisions/s", "lowest to highest"),
        *("Python CPU µs/decision", "Node CPU µs/decision", "memory MB"),
    ):
        table.add_column(heading, justify="right")
    for count, samples in points.items():
        speeds = [sample.decisions_per_s for sample in samples]
        batches = outcome.notes.get(curve_row(count), {}).get("batches", 1)
        table.add_row(
            str(count),
            str(2 * count // batches),
            str(len(samples)),
            f"{statistics.median(speeds):.0f}",
            f"{min(speeds):.0f} to {max(speeds):.0f}",
            f"{_median(samples, 'python_cpu_ms_per_decision', 1e3):.0f}",
            f"{_median(samples, 'node_cpu_ms_per_decision', 1e3):.0f}",
            f"{_median(samples, 'memory', 1e-6):.0f}",
        )
    return table


def draw_curve(outcome: Outcome, file: Path) -> None:
    """Draws the table as a picture; needs matplotlib, and that the curve was measured."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    points = _points(outcome)
    if not points:
        raise ValueError("there is no curve to draw: it was not measured")
    figure = Figure(figsize=(8, 7), layout="constrained")
    FigureCanvasAgg(figure)
    speed, cost = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_speed(speed, points, outcome)
    _draw_cost(cost, points)
    cost.set_xscale("log", base=2)
    cost.set_xlim(min(points) / 1.8, max(points) * 1.3)
    cost.set_xticks(list(points), [str(count) for count in points])
    cost.set_xlabel("environments (battles at a time), a policy in both seats")
    figure.suptitle(f"maple.env.VectorEnv, {outcome.plan.format}", fontsize=13)
    figure.savefig(file, dpi=150)


def _draw_speed(axes: Axes, points: dict[int, list[Sample]], outcome: Outcome) -> None:
    counts = list(points)
    speeds = [[sample.decisions_per_s for sample in samples] for samples in points.values()]
    medians = [statistics.median(values) for values in speeds]
    around = (
        [median - min(values) for median, values in zip(medians, speeds, strict=True)],
        [max(values) - median for median, values in zip(medians, speeds, strict=True)],
    )
    axes.errorbar(counts, medians, around, marker="o", color=_BLUE, capsize=3, label="VectorEnv")
    for count, median in zip(counts, medians, strict=True):
        _name(axes, f"{median:,.0f}", (count, median), _BLUE)
    for (row, name), style in zip(_BASELINES.items(), ("--", ":"), strict=True):
        if samples := outcome.samples.get(row):
            median = _median(samples, "decisions_per_s")
            label = f"{name}: {median:,.0f}"
            axes.axhline(median, color=_ORANGE, linestyle=style, label=label)
    machine = outcome.machine
    axes.set_title(
        f"{machine['cores']} cores, {machine['cpu']}; medians of {len(speeds[0])} samples, "
        "with the lowest and the highest",
        fontsize=8,
        color=_GREY,
    )
    axes.set_ylim(0, 1.25 * max(max(values) for values in speeds))
    axes.set_ylabel("decisions per second")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)


def _draw_cost(axes: Axes, points: dict[int, list[Sample]]) -> None:
    counts = list(points)
    python, node = (
        [_median(samples, f"{side}_cpu_ms_per_decision", 1e3) for samples in points.values()]
        for side in ("python", "node")
    )
    highest = max(python + node)
    for name, costs, others, color in (
        ("Python", python, node, _BLUE),
        ("Node", node, python, _ORANGE),
    ):
        axes.plot(counts, costs, marker="o", color=color, label=name)
        for count, value, other in zip(counts, costs, others, strict=True):
            # Where the two are close, one is named above its point and the other below.
            above = not 0 < other - value < 0.1 * highest
            _name(axes, f"{value:.0f}", (count, value), color, above=above)
    axes.set_ylim(0, 1.25 * highest)
    axes.set_ylabel("CPU µs per decision")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right", fontsize=8)


def _name(
    axes: Axes, text: str, point: tuple[float, float], color: str, *, above: bool = True
) -> None:
    """Writes a value beside its point, clear of the bar that goes through it."""
    axes.annotate(
        text,
        point,
        xytext=(-6, 6 if above else -14),
        textcoords="offset points",
        ha="right",
        color=color,
        fontsize=9,
    )


def _points(outcome: Outcome) -> dict[int, list[Sample]]:
    measured = {count: outcome.samples.get(curve_row(count)) for count in CURVE}
    return {count: samples for count, samples in measured.items() if samples}


def _median(samples: Sequence[Sample], figure: str, scale: float = 1.0) -> float:
    return scale * float(statistics.median(getattr(sample, figure) for sample in samples))
