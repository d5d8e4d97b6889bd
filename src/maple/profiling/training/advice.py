"""What to do about the time of a run: follows from its figures, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bridge.throughput.quantities import percent

from .components import COLLECTION, COMPONENTS, WAITING, WHOLE
from .result import Batch, Mode, TrainingTime
from .verdict import Judgement, Verdict, compare

__all__ = ["recommend"]

_MOST = 2
_MUCH = 0.10
_BUSY = 0.75
_SMALL_FORWARD = 64
_SMALL_MINIBATCH = 512


def recommend(result: TrainingTime) -> list[str]:
    """What turbo gains, and what to try about the largest components that something helps with."""
    return [_about_turbo(result), *_about_components(result)] if result.modes else []


def _about_components(result: TrainingTime) -> Iterator[str]:
    mode = result.modes[-1]
    titles = {component.key: component.title for component in COMPONENTS}
    for key in sorted(_ADVICE, key=mode.middle.share, reverse=True)[:_MOST]:
        share = mode.middle.share(key)
        if share >= _MUCH:
            yield f"{titles[key]} takes {percent(share)} of a batch: {_ADVICE[key](mode, result)}."


# Turbo


def _about_turbo(result: TrainingTime) -> str:
    first = result.modes[0]
    waits = first.middle.share(WAITING)
    limit = (
        f"With {first.name} batches wait {percent(waits)} of their time for the simulator, so one "
        f"that takes no time at all would make them at most {1 / (1 - waits):.2f} times as fast."
    )
    if len(result.modes) < 2:
        return limit
    judgement = compare(*result.modes)[WHOLE].judgement
    # A batch always takes some time.
    assert judgement is not None
    return f"{_about_gain(judgement)} {limit}"


def _about_gain(judgement: Judgement) -> str:
    match judgement.verdict:
        case Verdict.FASTER:
            return f"Turbo makes batches {judgement.speed_up:.2f} times as fast: keep it on."
        case Verdict.SLOWER:
            return "Turbo makes batches slower here, which it should not: run scripts/ipc_stats.py."
        case Verdict.TOO_FEW:
            return (
                "There are too few batches to say what turbo gains: --batches 5 at least, and 10 "
                "where they differ much."
            )
        case Verdict.UNSTEADY:
            return (
                "Batches differ too much to say what turbo gains: end other programs, or measure "
                "more of them (--batches 20)."
            )
        case Verdict.NOISE:
            return "What turbo gains is within noise here; its output is the same, so keep it on."


# Components


def _about_waiting(mode: Mode, result: TrainingTime) -> str:
    working = _working_while_collecting(mode.middle)
    if working is None:
        return "the bridge has timed nothing, so it is not known whether Node is busy meanwhile"
    facts = (
        f"while data is collected Node works {percent(working)} of the time of its "
        f"{'only process' if result.pool == 1 else f'{result.pool} processes'}"
    )
    if working >= _BUSY:
        tries = ", ".join(_relieve_node(mode, result))
        return f"{facts}, so battles are the limit; try {tries}"
    return f"{facts}, and waits for Python in the rest; try {', '.join(_occupy_node(result))}"


def _working_while_collecting(batch: Batch) -> float | None:
    """Node works only then; while the network learns it has nothing to do."""
    if batch.node_busy is None:
        return None
    return min(1.0, batch.node_busy / batch.share(COLLECTION))


def _relieve_node(mode: Mode, result: TrainingTime) -> Iterator[str]:
    if result.pool < result.cores:
        yield f"a process for each of the {result.cores} cores (--pool)"
    if not mode.turbo:
        yield "turbo"
    yield "fewer groups in config/observation.yml, which Node encodes"


def _occupy_node(result: TrainingTime) -> Iterator[str]:
    settings = result.settings
    if settings.synchronous:
        yield "deciding for half of the agents at a time (--synchronous false)"
    yield f"more battles (--parallel, now {settings.parallel})"


def _about_observations(mode: Mode, _result: TrainingTime) -> str:
    return (
        "try fewer groups in config/observation.yml, and more battles (--parallel), which share "
        f"the fixed cost of the {mode.middle.figures.rounds} rounds"
    )


def _about_forwards(mode: Mode, result: TrainingTime) -> str:
    figures = mode.middle.figures
    rows = figures.decisions / figures.rounds
    if rows < _SMALL_FORWARD:
        return f"a forward has {rows:.0f} rows, and more battles (--parallel) give it more"
    return f"try {_smaller(result)}{_threads(result)}"


def _about_fixed_costs(_mode: Mode, _result: TrainingTime) -> str:
    return "more battles (--parallel) share its fixed cost"


def _about_copies(_mode: Mode, _result: TrainingTime) -> str:
    return "smaller observations (config/observation.yml) are copied faster"


def _about_learning(mode: Mode, result: TrainingTime) -> str:
    settings = result.settings
    larger = ""
    if settings.minibatch < _SMALL_MINIBATCH:
        # Of many rows nearly all of a step is arithmetic, which is the same for larger ones.
        larger = f"larger minibatches (--learning.minibatch, now {settings.minibatch}), "
    return (
        f"with {mode.middle.figures.minibatches} steps of the optimizer a batch, try {larger}"
        f"fewer epochs (--ppo.epochs, now {settings.epochs}), {_smaller(result)}{_threads(result)}"
    )


def _smaller(result: TrainingTime) -> str:
    return f"a smaller network (--network.hidden, now {list(result.settings.hidden)})"


def _threads(result: TrainingTime) -> str:
    if result.threads >= result.cores:
        return ""
    return (
        f", more threads for torch (--threads, now {result.threads} of {result.cores} cores) if "
        "that does not slow down collecting, where Node needs them"
    )


_ADVICE: dict[str, Callable[[Mode, TrainingTime], str]] = {
    WAITING: _about_waiting,
    "data_collection.env_step.env_observation": _about_observations,
    "data_collection.env_send": _about_fixed_costs,
    "data_collection.policy_forward": _about_forwards,
    "data_collection.sampling": _about_fixed_costs,
    "replay_buffer": _about_copies,
    # The parts of learning are one here, as the same is to be done about them.
    "training_loop": _about_learning,
}
