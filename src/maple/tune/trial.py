"""Trains for some seconds in a process of its own, and tells how fast that was.

A process of its own, because torch takes its number of threads once, and because what one choice
leaves behind is not to slow down the next.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

from maple.train.config import TrainConfig
from maple.train.layout import Layout
from maple.train.processes import Failed, end, inherited, tell
from maple.train.threads import use_threads

from .errors import TrialFailed

if TYPE_CHECKING:
    from maple.train.stage import Stage

__all__ = ["Point", "measure", "speed_of"]

# Of a trial that comes to no second update: to begin, and then to go on.
_MOST_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Point:
    """How far training had come after an update."""

    seconds: float
    decisions: int


def measure(config: TrainConfig, stage: Stage, layout: Layout, seconds: float) -> float:
    """Decisions a second that are collected and learned from.

    The seconds that count follow on as many in which processes become warm. Raises TrialFailed.
    """
    points: list[Point] = []
    with _training(config, stage, layout) as pipe:
        while not _is_long_enough(points, seconds):
            if not pipe.poll(_MOST_SECONDS):
                raise TrialFailed(f"there was no update within {_MOST_SECONDS:g} s")
            try:
                told = pipe.recv()
            except (EOFError, ConnectionResetError):
                raise TrialFailed("the process that trains ended") from None
            if isinstance(told, Failed):
                raise TrialFailed(told.message)
            points.append(told)
    return speed_of(points, seconds)


def _is_long_enough(points: list[Point], seconds: float) -> bool:
    """Updates may take longer than what is to be measured: one is always measured whole."""
    since = [point for point in points if point.seconds >= points[0].seconds + seconds]
    return len(since) >= 2 and since[-1].seconds >= since[0].seconds + seconds


def speed_of(points: list[Point], seconds: float) -> float:
    """From the first update after so many seconds to the last, both whole."""
    first = next(point for point in points if point.seconds >= points[0].seconds + seconds)
    last = points[-1]
    return (last.decisions - first.decisions) / (last.seconds - first.seconds)


@contextmanager
def _training(config: TrainConfig, stage: Stage, layout: Layout) -> Iterator[Connection]:
    """A process that trains until it is killed, or nobody hears it any more."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_train, args=(config, stage, layout, theirs), name="maple trial"
    )
    with inherited(layout.threads):
        process.start()
    theirs.close()
    try:
        yield ours
    finally:
        # There is nothing that it would have to save, and its workers end when it does.
        process.kill()
        ours.close()
        end([process])


def _train(config: TrainConfig, stage: Stage, layout: Layout, pipe: Connection) -> None:
    import structlog

    from maple.train.trainer import Trainer

    # Ctrl-C is for who started it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    use_threads(layout.threads)
    try:
        trainer = Trainer(config, stage, layout)
        try:
            is_heard = True
            while is_heard:
                trainer.update()
                is_heard = tell(pipe, Point(time.perf_counter(), trainer.counters.decisions))
        finally:
            trainer.close()
    except Exception as error:  # noqa: BLE001 - told to who started it
        tell(pipe, Failed(f"{type(error).__name__}: {error}", traceback.format_exc()))
