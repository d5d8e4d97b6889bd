"""A process that plays: fills rollouts in shared memory with weights from shared memory.

It has an event loop, a registry and battles of its own, and is told what to do through a pipe. It
ends when it is told to, and when whoever started it is gone. poke-env's objects never leave it.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

from .orders import Order, Report
from .processes import Failed, tell
from .threads import Threads, use_threads

if TYPE_CHECKING:
    from maple.profiling.workers import WorkerProfiling

    from .shared import SharedWeights
    from .stage import Stage

__all__ = ["Collect", "Collected", "Ready", "Said", "WorkerTask", "work"]


@dataclass(frozen=True, slots=True)
class Collect:
    """Asks a worker to fill one of its rollouts."""

    buffer: int
    order: Order


@dataclass(frozen=True, slots=True)
class Ready:
    """Says that a worker's environment is open."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Says that a rollout is full."""

    buffer: int
    report: Report


@dataclass(frozen=True, slots=True)
class Said:
    """A line of a worker's log."""

    level: str
    event: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """All that a worker needs, sent to it when it is started."""

    stage: Stage
    """What it plays."""
    battles: int
    """At a time."""
    pool: int
    seed: int
    """Of its battles: another one for every worker, and for the one that replaces it."""
    weights: SharedWeights
    buffers: list[Any]
    decisions: int
    parts: int
    threads: Threads
    should_end: Any
    """A shared byte that is not 0 when all workers are to end."""
    profiling: WorkerProfiling | None


def work(task: WorkerTask, pipe: Connection) -> None:
    """What a worker does from its first moment to its last."""
    # Ctrl-C is for the learner, which tells its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _log_to(pipe)
    try:
        with ExitStack() as stack:
            if task.profiling is not None:
                stack.enter_context(task.profiling.record("worker"))
            _serve(task, pipe)
    except Exception as error:  # noqa: BLE001 - the learner tells, or starts another one
        if not _is_over(task):
            tell(pipe, Failed(f"{type(error).__name__}: {error}", traceback.format_exc()))


def _serve(task: WorkerTask, pipe: Connection) -> None:
    from maple.agents import load_weights
    from maple.profiling import profile

    from .collector import CollectorStopped
    from .rollout import Rollout

    use_threads(task.threads)
    collector = task.stage.collector(task.battles, task.pool, task.seed, parts=task.parts)
    try:
        shape = collector.shape(task.decisions)
        rollouts = [Rollout(shape, buffer) for buffer in task.buffers]
        parent = os.getppid()

        def should_stop() -> bool:
            return _is_over(task) or os.getppid() != parent

        is_heard = tell(pipe, Ready())
        while is_heard and not should_stop():
            with profile("order_wait"):
                asked = _next_order(pipe)
            if asked is None:
                return
            weights, version = task.weights.read()
            load_weights(collector.network, weights)
            try:
                order = replace(asked.order, version=version)
                report = collector.collect(rollouts[asked.buffer], order, should_stop)
            except CollectorStopped:
                return
            is_heard = tell(pipe, Collected(asked.buffer, report))
    finally:
        collector.close()


def _next_order(pipe: Connection) -> Collect | None:
    """What the learner wants; None if it is gone."""
    try:
        order: Collect = pipe.recv()
    except (EOFError, ConnectionResetError):
        return None
    return order


def _log_to(pipe: Connection) -> None:
    """The learner has the log, and the terminal."""

    def send(_logger: object, level: str, facts: structlog.typing.EventDict) -> NoReturn:
        plain = {name: str(value) for name, value in facts.items()}
        tell(pipe, Said(level, plain.pop("event"), plain))
        raise structlog.DropEvent

    structlog.configure(
        processors=[send], wrapper_class=structlog.make_filtering_bound_logger(logging.INFO)
    )


def _is_over(task: WorkerTask) -> bool:
    return bool(ctypes.c_uint8.from_buffer(task.should_end).value)
