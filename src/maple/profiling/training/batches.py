"""Measures batches of training, with turbo, without it, or in turn. Neither judges nor shows them.

Both modes are open at the same time and take turns, so that what the machine does besides falls on
both; with one seed they play the same battles and learn the same from them.
"""

from __future__ import annotations

import cProfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from bridge.errors import BridgeError
from bridge.machine import cpu_count, cpu_model
from bridge.throughput.quantities import number, seconds
from maple.train.config import TrainConfig, plain
from maple.train.layout import Layout, lay_out

from .. import ProfilingError, Session, get_profiler
from .recordings import join_recordings, read_batch, with_controllers
from .result import Batch, Ending, Mode, TrainingTime
from .settings import RunSettings

if TYPE_CHECKING:
    from maple.env import VectorEnv
    from maple.train.stage import Stage
    from maple.train.status import Status
    from maple.train.trainer import Trainer

__all__ = ["Measured", "Say", "measure_training"]

Say: TypeAlias = Callable[[str], None]
"""Hears in a line how things go."""

_WARM_UP = 2
"""So many batches of each mode are not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of a run: its figures, and what was recorded, by the name of the mode.

    `with_torch` is a batch of each with torch's own operations, if it was to be looked at closely.
    """

    result: TrainingTime
    sessions: dict[str, Session]
    calls: dict[str, cProfile.Profile]
    with_torch: dict[str, Session]


def measure_training(
    config: TrainConfig,
    turbo: Sequence[bool],
    batches: int,
    *,
    warmup: int | None = None,
    profiled: int = 0,
    say: Say = lambda line: None,
    command: str = "",
) -> Measured:
    """Runs so many batches of each mode in turn, when all are warm, and reports what they took.

    A batch is an update of the trainer, which plays in its own process: `config` has no workers.
    Each of its Node processes is warmed up by so many battles, or by those in its settings.

    After them, `profiled` batches run under cProfile, and one with torch's own profiler, which none
    of the figures are of. Ctrl-C ends it early, with what was measured so far, and so does a
    failure, unless there is nothing yet.
    """
    if get_profiler().enabled:
        raise ProfilingError("the profiler is on already, and a measurement needs it for itself")
    began = datetime.now().astimezone().isoformat(timespec="seconds")
    ending: Ending = "complete"
    failure = None
    layout = lay_out(config)
    courses: list[_Course] = []
    try:
        stage = _set_stage(config, warmup)
        with ExitStack() as stack:
            for is_on in turbo:
                name = "turbo on" if is_on else "turbo off"
                say(f"{name}: starting {layout.pool} processes")
                trainer = _start(config, stage, layout, turbo=is_on)
                stack.callback(trainer.close)
                courses.append(_Course(name, is_on, trainer))
            _run(courses, batches, profiled, say)
    except KeyboardInterrupt:
        ending = "interrupted"
    except BridgeError as error:
        if not any(course.batches for course in courses):
            raise
        ending, failure = "failed", error.in_one_line()
    measured = [course for course in courses if course.batches]
    sessions = {course.name: course.session() for course in measured}
    result = TrainingTime(
        began=began,
        command=command,
        settings=RunSettings.of(config),
        pool=layout.pool,
        threads=layout.threads.count,
        cores=cpu_count(),
        cpu=cpu_model(),
        ending=ending,
        failure=failure,
        modes=[course.mode() for course in measured],
        overhead=next((one.overhead for one in sessions.values()), None),
    )
    return Measured(
        result=result,
        sessions=sessions,
        calls={course.name: course.calls for course in courses if course.calls is not None},
        with_torch={one.name: one.with_torch for one in courses if one.with_torch is not None},
    )


def _set_stage(config: TrainConfig, warmup: int | None) -> Stage:
    from maple.train.stage import set_stage

    stage = set_stage(config)
    if warmup is None:
        return stage
    return replace(stage, bridge=stage.bridge.replace(warmup_battles=warmup))


def _start(config: TrainConfig, stage: Stage, layout: Layout, *, turbo: bool) -> Trainer:
    from maple.train.trainer import Trainer

    return Trainer(config, replace(stage, bridge=stage.bridge.replace(turbo=turbo)), layout)


def _run(courses: Sequence[_Course], batches: int, profiled: int, say: Say) -> None:
    say("waiting until all processes are warm")
    for course in courses:
        course.env.warmed()
    for turn in range(_WARM_UP):
        for course in courses:
            took = course.run()
            say(f"{course.name}: warm-up batch {turn + 1} of {_WARM_UP}, {seconds(took)}")
    for turn in range(batches):
        # Each goes first every other time.
        for course in courses if turn % 2 == 0 else reversed(courses):
            batch = course.measure()
            say(
                f"{course.name}: batch {turn + 1} of {batches}, {seconds(batch.wall)}, "
                f"{number(round(batch.figures.decisions / batch.wall))} decisions/s"
            )
    for course in courses if profiled else ():
        say(f"{course.name}: {profiled} more under cProfile, which makes them slower")
        course.profile_calls(profiled)
        say(f"{course.name}: one more with torch's own operations")
        course.record_torch()


class _Course:
    """One mode while it is measured."""

    def __init__(self, name: str, turbo: bool, trainer: Trainer) -> None:
        self.name = name
        self.turbo = turbo
        self.trainer = trainer
        self.batches: list[Batch] = []
        self.recordings: list[Session] = []
        self.calls: cProfile.Profile | None = None
        self.with_torch: Session | None = None

    @property
    def env(self) -> VectorEnv:
        env = self.trainer.env
        assert env is not None, "workers play, whose parts cannot be told apart here"
        return env

    def run(self) -> float:
        """A batch that is not counted; how long it took."""
        began = time.perf_counter()
        self.trainer.update()
        return time.perf_counter() - began

    def measure(self) -> Batch:
        """A batch in a recording of its own."""
        before = replace(self.trainer.counters)
        status, recording = self._record()
        after = status.counters
        batch = read_batch(
            recording, after.decisions - before.decisions, after.battles - before.battles, status
        )
        self.recordings.append(recording)
        self.batches.append(batch)
        return batch

    def record_torch(self) -> None:
        _, self.with_torch = self._record(torch_events=True)

    def _record(self, *, torch_events: bool = False) -> tuple[Status, Session]:
        profiler = get_profiler()
        controllers = self._controllers()
        profiler.reset()
        with profiler.watch(self.env, self.name):
            profiler.enable(torch_events=torch_events)
            try:
                status = self.trainer.update()
            finally:
                profiler.disable()
        session = profiler.session(f"training_{self.name.replace(' ', '_')}")
        return status, with_controllers(session, controllers | self._controllers())

    def _controllers(self) -> set[int]:
        """The pids of its Node processes."""
        stats = self.env.stats(round_trips=False)
        return {controller["pid"] for controller in stats["controllers"]}

    def profile_calls(self, batches: int) -> None:
        calls = cProfile.Profile()
        for _ in range(batches):
            calls.runcall(self.trainer.update)
        self.calls = calls

    def mode(self) -> Mode:
        return Mode(name=self.name, turbo=self.turbo, batches=self.batches)

    def session(self) -> Session:
        """All its batches as one."""
        settings = plain(self.trainer.config) | {"turbo": self.turbo}
        return join_recordings(self.recordings, settings)
