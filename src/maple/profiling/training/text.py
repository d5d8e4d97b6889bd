"""Writes what was measured as text, with bars, both modes side by side, and what to do about it."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Iterator, Sequence

from bridge.throughput.quantities import MISSING, number, percent, seconds

from ..noise import CONFIDENCE_IN_TURN, LEAST_EFFECT
from ..renderers.cost import cost_of_a_call
from ..renderers.grid import bar, beside, columns, heading
from .advice import recommend
from .components import COLLECTION, COMPONENTS, WHOLE
from .result import Batch, Mode, TrainingTime
from .verdict import Compared, Verdict, compare, did_the_same

__all__ = ["render"]

_WIDTH = 100

_HOW_IT_IS_JUDGED = (
    "The speed-up is the median of {pairs} ratios of neighbouring batches, by the time of a "
    "decision, and the spread is from the lowest to the highest. It is faster or slower if that is "
    f"more than {LEAST_EFFECT * 100:.0f}\N{NO-BREAK SPACE}% and an exact interval of the median, "
    f"of {CONFIDENCE_IN_TURN * 100:.0f}\N{NO-BREAK SPACE}%, does not hold 1. It cannot be told "
    "if that interval reaches to half, or to twice as fast. Of so many rows, one may be called so "
    "by chance."
)


def render(result: TrainingTime, *, breakdown: bool = False) -> str:
    """The whole report; a breakdown shows what data collection consists of too."""
    lines = [*_title(result)]
    for mode in result.modes:
        lines += _mode(mode, result.cores, breakdown=breakdown)
    if len(result.modes) == 2:
        lines += _side_by_side(*result.modes, breakdown=breakdown)
    advice = recommend(result)
    if advice:
        lines += heading("Recommendations")
    for place, text in enumerate(advice, 1):
        lines += _wrapped(text, f"{place}. ")
    lines += _cost(result)
    return "\n".join(lines) + "\n"


def _title(result: TrainingTime) -> Iterator[str]:
    settings = result.settings
    yield (
        f"Training time: {settings.format}, {settings.parallel} battles at a time, "
        f"{settings.opponents}"
    )
    widths = ", ".join(map(str, settings.hidden))
    yield (
        f"{settings.network} of {widths}, batches of {number(settings.batch)} decisions in "
        f"minibatches of {number(settings.minibatch)}, {_plural(settings.epochs, 'epoch')}"
    )
    counts = ", ".join(
        f"{_plural(len(mode.batches), 'batch', 'es')} with {mode.name}" for mode in result.modes
    )
    yield f"{result.began}: {counts}"
    yield (
        f"{_plural(result.cores, 'core')}, {_plural(result.pool, 'Node process', 'es')} a mode, "
        f"{_plural(result.threads, 'torch thread')}, seed {settings.seed}"
    )
    if result.command:
        yield f"$ {result.command}"
    if result.ending == "interrupted":
        yield "It was interrupted: this is what was measured so far."
    elif result.ending == "failed":
        yield f"It failed: {result.failure}. This is what was measured before."


# A mode


def _mode(mode: Mode, cores: int, *, breakdown: bool) -> Iterator[str]:
    yield from heading(mode.name.capitalize(), _WIDTH)
    times = mode.times()
    rates = [batch.figures.decisions / batch.wall for batch in mode.batches]
    decisions = statistics.median(batch.figures.decisions for batch in mode.batches)
    yield f"a batch           {seconds(statistics.median(times))} ({_range(times)})"
    yield (
        f"decisions         {number(round(statistics.median(rates)))} a second "
        f"({number(round(min(rates)))} to {number(round(max(rates)))}), "
        f"{number(round(decisions))} a batch"
    )
    yield f"CPU               {_cpu(mode.middle, cores)}"
    yield ""
    middle = seconds(mode.middle.wall)
    yield f"Component Breakdown of the median batch, {middle}, beside the spread of all"
    for key, label in _labels(breakdown=breakdown).items():
        took, spread = mode.middle.components[key], _range(mode.times(key))
        yield _with_bar(f"{label:<36}", took, mode.middle.share(key), f"  {spread:>18}")
    if breakdown and mode.middle.trips:
        yield from _trips(mode.middle)


def _cpu(batch: Batch, cores: int) -> str:
    if batch.python_cpu is None or batch.node_cpu is None:
        return "the batches are too short to measure it"
    share = (batch.python_cpu + batch.node_cpu) / (batch.wall * cores)
    return (
        f"Python {seconds(batch.python_cpu)}, Node {seconds(batch.node_cpu)} in the median batch: "
        f"{percent(min(1.0, share))} of {cores} cores"
    )


def _trips(batch: Batch) -> Iterator[str]:
    whole = sum(batch.phases.values())
    yield ""
    yield (
        f"Below Env Step: {number(batch.trips)} round trips to Node with choices, many at a time, "
        f"{seconds(whole / batch.trips)} each"
    )
    for phase, took in batch.phases.items():
        yield _with_bar(f"   - {phase:<31}", took / batch.trips, took / whole)
    if batch.node_busy is not None:
        yield (
            f"Node works {percent(batch.node_busy)} of the time of its processes in this batch. "
            "Waiting includes reading what it answers."
        )


# Both


def _side_by_side(before: Mode, after: Mode, *, breakdown: bool) -> Iterator[str]:
    yield from heading(f"{before.name.capitalize()} and {after.name}, side by side", _WIDTH)
    compared = compare(before, after)
    labels = {WHOLE: "a batch"} | _labels(breakdown=breakdown)
    yield from columns(
        ["median of all batches", before.name, after.name, "speed-up", "spread", "verdict"],
        [_row(label, compared[key]) for key, label in labels.items() if not key.endswith(".rest")],
    )
    yield ""
    same = (
        "Both modes played the same battles and learned the same."
        if did_the_same((before, after))
        else "The modes did not play the same battles."
    )
    pairs = min(len(before.batches), len(after.batches))
    yield from _wrapped(f"{same} {_HOW_IT_IS_JUDGED.format(pairs=pairs)}")


def _row(label: str, compared: Compared) -> list[str]:
    row = [label, seconds(compared.before), seconds(compared.after)]
    judgement = compared.judgement
    if judgement is None:
        return [*row, MISSING, MISSING, ""]
    # What leaves out 1 is to be seen to do so.
    limits = (1.0,) if judgement.verdict in (Verdict.FASTER, Verdict.SLOWER) else ()
    lowest, highest = (
        beside(ratio, limits, digits=2) for ratio in (judgement.lowest, judgement.highest)
    )
    return [*row, f"{judgement.speed_up:.2f}×", f"{lowest} to {highest}", judgement.verdict]


def _cost(result: TrainingTime) -> Iterator[str]:
    shares = [
        batch.profiling
        for mode in result.modes
        for batch in mode.batches
        if batch.profiling is not None
    ]
    if result.overhead is not None and shares:
        yield from heading("What profiling cost", _WIDTH)
        yield cost_of_a_call(result.overhead)
        yield f"To record all calls took {percent(max(shares))} of the batch with the most of them."


# Pieces


def _labels(*, breakdown: bool) -> dict[str, str]:
    """How components are called, by their keys; those of data collection only for a breakdown."""
    places = [component.key for component in COMPONENTS if not component.depth]
    return {
        component.key: "   " * component.depth + f"- {component.title}"
        if component.depth
        else f"{places.index(component.key) + 1}. {component.title}"
        for component in COMPONENTS
        if breakdown or not component.key.startswith(f"{COLLECTION}.")
    }


def _with_bar(label: str, took: float, share: float, spread: str = "") -> str:
    return f"{label}{seconds(took):>8} ({share * 100:5.1f} %){spread}  {bar(share)}".rstrip()


def _range(times: Sequence[float]) -> str:
    return f"{seconds(min(times))} to {seconds(max(times))}"


def _plural(count: int, word: str, ending: str = "s") -> str:
    return f"{number(count)} {word}{'' if count == 1 else ending}"


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark), break_long_words=False
    )
