"""Sessions to be drawn: recorded with a clock that is set by hand, or put together."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from bridge.histogram import Histogram
from maple.profiling import Profiler, Session
from maple.profiling.calls import Call
from maple.profiling.gauges import Level
from maple.profiling.session import (
    Feed,
    FeedOperation,
    GpuSample,
    MachineCpu,
    Overhead,
    Sample,
    Usage,
)
from tests.maple.profiling.stage import SECOND, Actor, FakeClock

__all__ = [
    "EVIL",
    "Rising",
    "Task",
    "distribution",
    "empty_session",
    "many_session",
    "small_session",
    "typical_session",
]

EVIL = "</script><b onclick='x'>&amp; $money ${x}"
"""A name that wants out of whatever it is written into."""

_MB = 1_000_000
_MILLISECOND = 1_000_000


class Rising:
    """A gauge that rises by so much each time it is read."""

    def __init__(self, by: int) -> None:
        self._by = by
        self._now = 0

    def read(self) -> Level:
        self._now += self._by
        return Level(self._now, self._now)


class Task:
    """Calls in a context of their own, as those of an asyncio task are."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._context = contextvars.copy_context()
        self._open: list[Call] = []

    def begin(self, name: str) -> None:
        call = self._profiler.profile(name)
        assert isinstance(call, Call)
        self._context.run(call.__enter__)
        self._open.append(call)

    def end(self) -> None:
        self._context.run(self._open.pop().__exit__, None, None, None)


def distribution(nanoseconds: Sequence[int]) -> dict[str, Any]:
    histogram = Histogram()
    histogram.record(np.array(nanoseconds, np.int64))
    return histogram.summary() | {"hdr": histogram.encode()}


def empty_session(name: str = "empty") -> Session:
    """The profiler was on, and nothing happened."""
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    clock.go(1)
    profiler.disable()
    return _settled(profiler.session(name))


def small_session(operation: str = "env_step", name: str = "small") -> Session:
    """Three calls of one operation, in four seconds, and nothing else was measured."""
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(3):
        with profiler.profile(operation):
            clock.go(1)
    clock.go(1)
    profiler.disable()
    return msgspec.structs.replace(_settled(profiler.session(name)), overhead=None)


def many_session(operations: int, name: Callable[[int], str] = "operation_{}".format) -> Session:
    """As many operations, each of which takes a little longer than the one before."""
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for number in range(operations):
        with profiler.profile(name(number)):
            clock.go(0.01 * (number + 1))
    profiler.disable()
    return _settled(profiler.session("many"))


def typical_session(evil: str = "log_metrics") -> Session:
    """Ten seconds of training: nested calls, threads, tasks, memory, metrics, Node and a GPU."""
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    profiler._gauges = {"memory": Rising(120 * _MB), "gpu": Rising(7 * _MB)}
    with Actor("writer_0") as first, Actor("writer_1") as second:
        for step in range(4):
            with profiler.profile("training_iteration"):
                with profiler.profile("env_step"):
                    with profiler.profile("env_wait"):
                        clock.go(0.9)
                    clock.go(0.1)
                with profiler.profile("gradient_calculation", track_memory=True):
                    with profiler.profile("backward"):
                        clock.go(0.5 + 0.1 * step)
                    clock.go(0.2)
                with profiler.profile(evil):
                    clock.go(0.05)
            profiler.metric("reward", step - 1.5, unit="points")
            profiler.step(16)
        writes = [Task(profiler), Task(profiler)]
        for actor, write in zip((first, second), writes, strict=True):
            actor.do(functools.partial(write.begin, "save_replay"))
            clock.go(0.1)
        for actor, write in zip((first, second), writes, strict=True):
            actor.do(write.end)
        requests = [Task(profiler) for _ in range(3)]
        for request in requests:
            request.begin("policy_request")
            clock.go(0.1)
        for request in requests:
            request.begin("policy_decode")
            clock.go(0.05)
            request.end()
            request.end()
        clock.now = 1010 * SECOND
        profiler.disable()
    session = _settled(profiler.session("typical"))
    [part] = session.processes
    part = msgspec.structs.replace(part, feeds=[_round_trips(), _inference()])
    return msgspec.structs.replace(
        session,
        processes=[part],
        usages=[
            _usage(part.pid, "main", range(1, 12), cpu=0.8, rss=400 * _MB),
            _usage(part.pid + 1, "node", range(2, 12), cpu=0.6, rss=150 * _MB),
            _usage(part.pid + 2, "node", range(2, 6), cpu=0.5, rss=140 * _MB),
            _usage(part.pid + 3, "other", range(3, 4), cpu=0.1, rss=20 * _MB),
        ],
        machine_cpu=[
            MachineCpu(
                pid=part.pid,
                look=look,
                at=(999 + look) * SECOND,
                busy=round(1.8 * look * SECOND),
                ours=round(1.5 * look * SECOND),
                steal=round(0.06 * look * SECOND),
            )
            for look in range(1, 12)
        ],
        gpus=[
            GpuSample(
                at=(1000 + second) * SECOND,
                gpu="0: a GPU",
                busy=0.1 * second,
                memory=second * 100 * _MB,
                capacity=8000 * _MB,
            )
            for second in range(8)
        ],
    )


def _settled(session: Session) -> Session:
    """The same wherever it is recorded."""
    machine = msgspec.structs.replace(
        session.machine,
        cores=2,
        all_cores=2,
        cpu="a processor",
        memory=8000 * _MB,
        versions={"maple": "1"},
    )
    overhead = Overhead(
        disabled=60.0,
        enabled=500.0,
        measured=20_000.0,
        sampling_cpu=20 * _MILLISECOND,
        samples=11,
    )
    return msgspec.structs.replace(
        session, machine=machine, overhead=overhead, command="train.py --profile"
    )


def _usage(pid: int, role: str, looks: range, *, cpu: float, rss: int) -> Usage:
    samples = [
        Sample(
            look=look,
            at=(999 + look) * SECOND,
            cpu=round(cpu * look * SECOND),
            rss=rss + look * _MB,
        )
        for look in looks
    ]
    return Usage(pid=pid, role=role, born=1, rss_peak=samples[-1].rss, samples=samples)


def _round_trips() -> Feed:
    parts = {
        "pipe_out": distribution([_MILLISECOND] * 40),
        "simulate": distribution([2 * _MILLISECOND] * 40),
        "pipe_in": distribution([_MILLISECOND] * 40),
    }
    choose = FeedOperation(name="choose", total=distribution([4 * _MILLISECOND] * 40), parts=parts)
    return Feed(
        kind="ipc",
        name="VectorEnv",
        since=1000 * SECOND,
        until=1010 * SECOND,
        capacity=2,
        workers=2,
        operations=[choose],
        counts={"decisions": 40, "battles_ended": 2, "turns": 0, "starts": 0, "deaths": 0},
        sizes={},
    )


def _inference() -> Feed:
    parts = {
        "queue_wait": distribution([_MILLISECOND] * 30),
        "forward": distribution([3 * _MILLISECOND] * 10),
    }
    return Feed(
        kind="inference",
        name="queue",
        since=1000 * SECOND,
        until=1010 * SECOND,
        capacity=1,
        workers=1,
        operations=[FeedOperation(name="queue", total=None, parts=parts)],
        counts={"rows": 30, "batches": 10},
        sizes={"batch_size": distribution([3] * 10)},
    )
