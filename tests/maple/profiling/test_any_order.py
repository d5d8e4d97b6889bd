"""That figures hold whatever comes in whatever order: resets, pauses, ends at the same moment."""

from __future__ import annotations

import contextvars
import random
from dataclasses import dataclass, field

import pytest

from maple.profiling import Profiler
from maple.profiling.analysis import Analysis, analyse
from maple.profiling.calls import Call
from tests.maple.profiling.stage import SECOND, FakeClock, operations

_TASKS = 6
_MOST_OPEN = 6


@pytest.mark.parametrize("seed", range(60))
def test_nothing_takes_less_than_no_time_or_more_than_what_it_is_in(seed: int) -> None:
    chance = random.Random(seed)
    clock = FakeClock(1000)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    tasks = [_Task(contextvars.Context())]
    for _ in range(chance.choice((20, 80, 200))):
        _do_something(chance, profiler, clock, tasks)
        if chance.random() < 0.05:
            _check(analyse(profiler.session("test")))
    profiler.disable()
    _check(analyse(profiler.session("test")))


def test_calls_under_way_at_a_reset_are_told_apart_though_all_begin_anew_then(
    profiler: Profiler, clock: FakeClock
) -> None:
    alone, inside, around = (_Task(contextvars.Context()) for _ in range(3))
    alone.begin(profiler, "request")
    around.begin(profiler, "accept")
    inside.context = around.context.copy()
    inside.begin(profiler, "request")
    clock.go(1)
    profiler.reset()
    clock.go(3)
    around.end()
    clock.go(2)
    alone.end()
    clock.go(1)
    inside.end()
    found = operations(profiler)
    # One from the reset on, and the other from when nothing was around it any more.
    assert found["request"].busy == (5 + 3) * SECOND
    assert found["request"].covered == 6 * SECOND
    assert found["accept/request"].busy == 3 * SECOND
    assert found["accept"].own == 0


def test_a_call_that_ends_just_when_the_profiler_is_turned_off_is_over_when_it_goes_on(
    profiler: Profiler, clock: FakeClock
) -> None:
    around = _around_a_task(profiler)
    profiler.disable()
    around.end()
    clock.go(1)
    profiler.enable(system=False)
    clock.go(1)
    _check(analyse(profiler.session("test")))
    assert operations(profiler)["env_step/env_wait"].busy == 1 * SECOND


def test_what_is_inside_of_a_call_follows_it_though_the_one_around_ended_in_a_pause(
    profiler: Profiler, clock: FakeClock
) -> None:
    around = _around_a_task(profiler)
    clock.go(1)
    profiler.disable()
    clock.go(2)
    around.end()
    clock.go(1)
    profiler.enable(system=False)
    clock.go(4)
    found = operations(profiler)
    assert found["env_step/env_wait"].busy == 4 * SECOND
    assert found["env_step"].own == 0
    assert found["request/env_step/env_wait"].busy == 1 * SECOND


@dataclass
class _Task:
    """A context, and the calls that are open in it."""

    context: contextvars.Context
    calls: list[Call] = field(default_factory=list)

    def begin(self, profiler: Profiler, name: str) -> None:
        call = profiler.profile(name)
        assert isinstance(call, Call)
        self.context.run(call.__enter__)
        self.calls.append(call)

    def end(self, position: int = -1) -> None:
        self.context.run(self.calls.pop(position).__exit__, None, None, None)


def _around_a_task(profiler: Profiler) -> _Task:
    """A request in which another task was started, which is in a step that waits."""
    around = _Task(contextvars.Context())
    around.begin(profiler, "request")
    inside = _Task(around.context.copy())
    inside.begin(profiler, "env_step")
    inside.begin(profiler, "env_wait")
    return around


def _do_something(
    chance: random.Random, profiler: Profiler, clock: FakeClock, tasks: list[_Task]
) -> None:
    task = chance.choice(tasks)
    match chance.random():
        case draw if draw < 0.35 and len(task.calls) < _MOST_OPEN:
            task.begin(profiler, chance.choice("abc"))
        case draw if draw < 0.65 and task.calls:
            task.end(chance.choice((-1, -1, -1, 0)))
        case draw if draw < 0.75 and len(tasks) < _TASKS:
            tasks.append(_Task(task.context.run(contextvars.copy_context)))
        case draw if draw < 0.9:
            # Often much happens at the same moment.
            clock.now += chance.randrange(1, 1000)
        case draw if draw < 0.93:
            profiler._recording.fold()
        case draw if draw < 0.96:
            profiler.reset()
        case _:
            profiler.disable()
            clock.now += chance.randrange(3)
            if task.calls:
                task.end()
            clock.now += chance.randrange(1000)
            profiler.enable(system=False)


def _check(analysis: Analysis) -> None:
    for place in analysis.places:
        for row in place.rows:
            assert 0 <= row.own <= row.busy, row
            assert 0 <= row.least <= row.own + 1, row
            assert row.covered is not None
            assert row.covered <= min(row.busy, analysis.wall), row
            assert sum(child.share for child in place.children(row)) <= row.share + 1e-9, row
        for depth in range(len(place.capacities)):
            assert sum(row.share for row in place.level(depth)) <= 1 + 1e-9
        # No less time than that would it all take, so it cannot be more than there was.
        assert sum(row.least for row in place.rows) <= analysis.wall + len(place.rows)
