"""Prints what a benchmark measured, with tables in Markdown, ready to be quoted."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from .cold import ColdStarts
from .rows import patch_row, vanilla_row
from .run import Bound, Comparison, Duel, Outcome
from .sample import Sample, compare

__all__ = ["render"]


def render(outcome: Outcome, console: Console) -> None:
    """The machine, the rows and the comparisons, and the tables of the simulator by itself."""
    console.print(", ".join(f"{name} {value}" for name, value in outcome.machine.items() if value))
    for part in _parts(outcome):
        console.print(part)


def _parts(outcome: Outcome) -> Iterator[str | Table]:
    if outcome.measured("rows"):
        yield _explanation(outcome)
        yield _rows(outcome)
    if comparisons := outcome.comparisons():
        yield _comparisons(comparisons)
    if per_room := outcome.memory_per_room():
        figures = ", ".join(f"{value / 1024:.0f} KiB in {side}" for side, value in per_room.items())
        yield f"memory per open room: {figures}"
    if outcome.cold is not None:
        yield f"a controller from cold, medians of {len(outcome.cold.turbo['answer'])} starts each"
        yield _cold(outcome.cold)
    if duels := outcome.duels():
        plan = outcome.plan
        yield (
            f"the simulator by itself, medians of {plan.simulator_repeats} samples of "
            f"{plan.simulator_battles} battles, vanilla and turbo in turns"
        )
        yield _simulator(duels, outcome)
    if patched := outcome.measured("patches"):
        yield "how many times less CPU time than vanilla, with each patch and those above it"
        yield _patches(dict(patched))


def _explanation(outcome: Outcome) -> str:
    plan = outcome.plan
    text = (
        f"{plan.format}, medians of samples of {plan.battles} battles (process_per_battle: "
        f"{plan.slow_battles}, timing: {plan.fine_battles}) or {plan.seconds:g} s (rooms); "
        f"pool of {plan.pool} with {plan.rooms} battles in flight; "
        f"{'turbo' if plan.turbo else 'vanilla'} but for rows that say otherwise"
    )
    for row in ("poke_env_local", "poke_env_serve"):
        if best := outcome.notes.get(row):
            text += (
                f"\n{row}: the best of all settings tried is a pool of {best['pool']} and "
                f"{best['concurrency']} battles in flight"
            )
    if best := outcome.notes.get("showdown_websocket"):
        text += (
            f"\nshowdown_websocket: the best of all settings tried is "
            f"{best['simulator_processes']} simulator processes and {best['concurrency']} battles "
            "in flight"
        )
    told = ("poke_env_local", "poke_env_serve", "showdown_websocket")
    for row, _samples in outcome.measured("rows"):
        if (best := outcome.notes.get(row)) and row not in told:
            found = (f"{name.replace('_', ' ')} {value}" for name, value in best.items())
            text += f"\n{row}: of all settings tried the best; {', '.join(found)}"
    for row, samples in outcome.measured("rows"):
        if any(sample.reset_wall for sample in samples):
            text += f"\n{row}: a reset takes {_median(samples, 'reset_ms', 1)} ms"
    return text


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
    for name, samples in outcome.measured("rows"):
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


def _cold(cold: ColdStarts) -> Table:
    table = _table(
        "until", figures=("vanilla ms", "turbo ms", "vanilla / turbo", "lowest to highest")
    )
    names = {"hello": "it greets", "answer": "its first battle is open", "cpu": "then, CPU time"}
    for moment, name in names.items():
        gain = cold.gain(moment)
        table.add_row(
            name,
            f"{statistics.median(cold.vanilla[moment]):.0f}",
            f"{statistics.median(cold.turbo[moment]):.0f}",
            f"{gain.median:.2f}",
            f"{gain.low:.2f} to {gain.high:.2f}",
        )
    return table


def _simulator(duels: list[Duel], outcome: Outcome) -> Table:
    table = _table(
        "format",
        figures=(
            "vanilla CPU ms/battle",
            "turbo CPU ms/battle",
            "vanilla / turbo",
            "lowest to highest",
            "target",
            "vanilla MB",
            "turbo MB",
            "result",
        ),
    )
    for duel in duels:
        vanilla, turbo = (outcome.samples[row] for row in (vanilla_row(duel.format), duel.format))
        gain = duel.cpu.measured
        table.add_row(
            duel.format,
            *(_median(samples, "node_cpu_ms_per_battle", 1) for samples in (vanilla, turbo)),
            f"{gain.median:.2f}",
            f"{gain.low:.2f} to {gain.high:.2f}",
            _bound(duel.cpu.target),
            *(_median(samples, "node_memory", 0, 1e-6) for samples in (vanilla, turbo)),
            _verdict(duel),
        )
    return table


def _verdict(duel: Duel) -> str:
    missed = [
        name
        for name, comparison in (("CPU", duel.cpu), ("memory", duel.memory))
        if not comparison.is_reached
    ]
    return f"missed: {', '.join(missed)}" if missed else "reached"


def _patches(samples: dict[str, list[Sample]]) -> Table:
    formats = list(dict.fromkeys(name.partition(":")[0] for name in samples))
    table = _table("patch", figures=tuple(formats))
    vanilla = {vanilla_row(name) for name in samples}
    for patch in dict.fromkeys(name.partition(":")[2] for name in samples if name not in vanilla):
        table.add_row(patch, *(_gain(samples, patch_row(name, patch)) for name in formats))
    return table


def _gain(samples: dict[str, list[Sample]], row: str) -> str:
    vanilla, patched = samples.get(vanilla_row(row)), samples.get(row)
    if not vanilla or not patched:
        return ""
    return f"{compare(vanilla, patched, lambda s: s.node_cpu_ms_per_battle).median:.2f}"


def _bound(target: Bound) -> str:
    if target.limit is None:
        return ""
    aim = "" if target.aim is None else f", aim {target.aim:g}"
    return f"at {'least' if target.at_least else 'most'} {target.limit:g}{aim}"


def _figures(samples: list[Sample]) -> list[str]:
    return [
        _median(samples, "battles_per_s", 1),
        _median(samples, "decisions_per_s", 0),
        _median(samples, "python_cpu_ms_per_decision", 3),
        _median(samples, "node_cpu_ms_per_decision", 3),
        _median(samples, "memory", 0, 1e-6),
    ]


def _median(samples: list[Sample], figure: str, digits: int, scale: float = 1.0) -> str:
    value = statistics.median(getattr(sample, figure) for sample in samples)
    return f"{value * scale:.{digits}f}"
