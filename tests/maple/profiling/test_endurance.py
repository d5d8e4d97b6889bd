"""What must not hurt the profiler: interrupts, forks, signals, failures, and weeks of work."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import psutil
import pytest
from structlog.testing import capture_logs

from maple.profiling import Profiler, ProfilingConfig
from maple.profiling.calls import Call, Lane
from maple.profiling.system import SystemWatch
from maple.profiling.ticker import Ticker
from maple.profiling.tree import TOO_MANY, Tree
from tests.maple.profiling.stage import SECOND, Actor, FakeClock, operations, recorded, row

# Interrupts and signals


class Interrupting(FakeClock):
    """A clock at which Ctrl-C comes once, when it is told to."""

    is_due = False

    def __call__(self) -> int:
        if self.is_due:
            self.is_due = False
            raise KeyboardInterrupt
        return self.now


def test_an_interrupt_at_the_beginning_of_a_call_costs_no_other_call() -> None:
    clock = Interrupting()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.profile("training_total"):
        clock.is_due = True
        with pytest.raises(KeyboardInterrupt):
            profiler.profile("env_step").__enter__()
        for _ in range(10_000):
            with profiler.profile("backward"):
                clock.now += 1
    found = operations(profiler)
    assert found["training_total/backward"].calls == 10_000
    assert found["training_total"].own == 0
    assert len(profiler._recorder.own.lane) == 0


def test_an_interrupt_as_calls_are_put_aside_counts_none_of_them_twice() -> None:
    for line in range(1000):
        clock = FakeClock()
        profiler = Profiler(clock=clock)
        profiler.enable(system=False)
        for name in "xyx":
            with profiler.profile("outer"), profiler.profile(name):
                clock.go(1)
        left = line

        def interrupt(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401
            nonlocal left
            if frame.f_code is not Tree.place.__code__:
                return None
            if event == "line":
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt
            return interrupt

        sys.settrace(interrupt)
        try:
            profiler._recording.fold()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        found = operations(profiler)
        assert found["outer"].calls <= 3
        assert found["outer"].busy <= 3 * SECOND
        if left >= 0:
            # It was over before an interrupt came.
            assert (found["outer"].calls, line > 50) == (3, True)
            return
    pytest.fail("it was interrupted every time")


def test_whoever_saves_when_a_signal_comes_is_not_held_up(profiler: Profiler) -> None:
    saved = []
    before = signal.signal(signal.SIGUSR1, lambda *_: saved.append(profiler.session("saved")))
    try:
        with profiler._lock, profiler._recording._lock:
            os.kill(os.getpid(), signal.SIGUSR1)
            profiler.count("steps")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(saved) == 1


@pytest.mark.parametrize("lock", ["counting", "folding", "watching"])
def test_whoever_turns_it_off_when_a_signal_comes_is_not_held_up(
    monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    """The main thread holds what the profiler's own thread wants, and waits for that to end."""
    profiler = Profiler(ProfilingConfig(sample_interval=0.01))
    profiler.enable()
    ticker = profiler._ticker
    assert ticker is not None
    looked = threading.Semaphore(0)
    monkeypatch.setattr(profiler._recording, "look_at_memory", looked.release)
    assert profiler._watch is not None
    held = {
        "counting": profiler._lock,
        "folding": profiler._recording._lock,
        "watching": profiler._watch._lock,
    }[lock]
    before = signal.signal(signal.SIGUSR1, lambda *_: profiler.disable())
    try:
        with capture_logs() as logs, held:
            assert looked.acquire(timeout=30)
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not profiler.enabled
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not ticker._thread.is_alive()
    assert logs == []


def test_a_thread_that_does_not_end_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maple.profiling.ticker._PATIENCE", 0.01)
    is_in_it, may_end = threading.Event(), threading.Event()

    def hang() -> None:
        is_in_it.set()
        may_end.wait(30)

    ticker = Ticker(0.001, hang, "hanging")
    assert is_in_it.wait(30)
    with capture_logs() as logs:
        ticker.stop()
    may_end.set()
    ticker._thread.join(30)
    assert [(entry["log_level"], entry["thread"]) for entry in logs] == [("error", "hanging")]


def test_calls_that_begin_in_the_middle_of_adding_up_are_counted_once(
    profiler: Profiler, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = profiler._recording._tree
    place = tree.place

    def interrupted(lane: Lane, *, force: bool = False) -> int:
        for _ in range(300):  # As a handler of signals may, which comes in between.
            with profiler.profile("inside"):
                clock.now += 1
        return place(lane, force=force)

    monkeypatch.setattr(tree, "place", interrupted)
    for _ in range(600):
        with profiler.profile("env_step"):
            clock.now += 1
    monkeypatch.undo()
    found = operations(profiler)
    assert found["env_step"].calls == 600
    assert found["inside"].calls % 300 == 0
    assert found["inside"].calls == found["inside"].busy


class Folding:
    """What a call needs on its way out, where another thread folds before its context is left."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self.clock = profiler._recorder.clock

    @property
    def leave(self) -> Callable[[contextvars.Token[Call]], None]:
        self._profiler._recording.fold()
        return self._profiler._recorder.leave


def test_adding_up_in_the_middle_of_an_end_takes_nothing_from_it(
    profiler: Profiler, clock: FakeClock
) -> None:
    call = profiler.profile("env_step")
    assert isinstance(call, Call)
    with call:
        clock.go(1)
        call.recorder = Folding(profiler)  # type: ignore[assignment]
    with profiler.profile("after"):
        clock.go(1)
    assert set(operations(profiler)) == {"env_step", "after"}


def test_a_call_is_used_once(profiler: Profiler) -> None:
    call = profiler.profile("env_step")
    with call, pytest.raises(RuntimeError, match="was begun before"):
        call.__enter__()
    with pytest.raises(RuntimeError, match="was begun before"):
        call.__enter__()
    assert operations(profiler)["env_step"].calls == 1


# Forks and failures


def test_a_forked_child_leaves_the_parts_of_workers_alone() -> None:
    from maple.profiling import get_profiler

    profiler = get_profiler()
    folder = profiler.for_workers().folder
    child = os.fork()
    if child == 0:
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert (folder / "0").is_dir()


def test_a_reset_in_the_middle_of_a_look_stops_nobody() -> None:
    watch = SystemWatch(FakeClock())
    stop = threading.Event()
    failures: list[BaseException] = []

    def look() -> None:
        try:
            while not stop.is_set():
                watch.look()
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(50):
        watch.clear()
        watch.describe()
    stop.set()
    looker.join(10)
    assert failures == []


def test_what_fails_by_itself_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = Profiler(ProfilingConfig(sample_interval=0.01))
    failed = threading.Event()
    recovered = threading.Event()

    def fail() -> None:
        if failed.is_set():
            recovered.set()
            return
        failed.set()
        raise OSError("for once")

    monkeypatch.setattr(profiler._recording, "look_at_memory", fail)
    with capture_logs() as logs:
        profiler.enable()
        assert recovered.wait(30)
        profiler.disable()
    assert [entry["log_level"] for entry in logs] == ["error"]


class Mortal:
    """Something to watch that may be gone."""

    def __init__(self) -> None:
        self.rows = 0
        self.is_gone = False

    def stats(self) -> dict[str, Any]:
        if self.is_gone:
            raise RuntimeError("it is closed")
        from bridge.histogram import Histogram

        empty = Histogram().summary() | {"hdr": Histogram().encode()}
        names = ("batch_size", "queue_wait", "batch_build", "forward")
        return {"rows": self.rows, "batches": 0, "failed_batches": 0} | dict.fromkeys(names, empty)


def test_a_source_that_is_gone_takes_nothing_else_along(
    profiler: Profiler, clock: FakeClock
) -> None:
    source = Mortal()
    profiler.watch(source)
    source.rows = 5
    with profiler.profile("env_step"):
        clock.go(1)
    profiler.lap()
    source.is_gone = True
    with capture_logs() as logs:
        profiler.disable()
    assert "close the source before it is closed" in logs[0]["event"]
    [feed] = profiler.session("test").processes[0].feeds
    # What it had said until then is kept.
    assert feed.counts["rows"] == 5
    assert operations(profiler)["env_step"].calls == 1
    profiler.reset()


def test_what_a_source_did_while_the_profiler_was_off_does_not_count(
    profiler: Profiler, clock: FakeClock
) -> None:
    source = Mortal()
    watched = profiler.watch(source)
    for rows, turn in ((10, profiler.disable), (1000, profiler.enable), (7, profiler.disable)):
        source.rows += rows
        clock.go(10)
        turn()
    watched.close()
    [feed] = profiler.session("test").processes[0].feeds
    assert feed.counts["rows"] == 17
    assert feed.until - feed.since == 20 * SECOND


def test_what_is_watched_before_the_profiler_is_on_counts_from_then_on(clock: FakeClock) -> None:
    profiler = Profiler(clock=clock)
    source = Mortal()
    with profiler.watch(source):
        source.rows = 100
        clock.go(5)
        profiler.enable(system=False)
        source.rows = 103
        clock.go(5)
    [feed] = profiler.session("test").processes[0].feeds
    assert (feed.counts["rows"], feed.until - feed.since) == (3, 5 * SECOND)
    profiler.disable()


def test_sources_that_were_closed_are_one_and_not_kept(
    profiler: Profiler, clock: FakeClock
) -> None:
    for _ in range(5):
        source = Mortal()
        with profiler.watch(source, "evaluation"):
            source.rows = 3
            clock.go(1)
        clock.go(1)
    assert profiler._sources == []
    [feed] = profiler.session("test").processes[0].feeds
    assert (feed.counts["rows"], feed.until - feed.since) == (15, 5 * SECOND)


# Weeks


def test_a_profiler_that_is_turned_on_and_off_a_thousand_times_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The samples that are kept become no more after the first few turns.
    monkeypatch.setattr("maple.profiling.system._MOST_SAMPLES", 32)
    profiler = Profiler()

    def turn(times: int) -> tuple[int, int, int]:
        for _ in range(times):
            profiler.enable()
            with profiler.profile("env_step"):
                pass
            profiler.disable()
        profiler.session("test")
        gc.collect()
        return threading.active_count(), psutil.Process().num_fds(), sys.getallocatedblocks()

    threads, files, blocks = turn(50)
    threads_then, files_then, blocks_then = turn(1000)
    assert (threads_then, files_then) == (threads, files)
    # What stays of each is when it was: two numbers, and the pair of them.
    assert blocks_then - blocks < 5 * 1000


def test_a_call_in_every_look_does_not_fill_the_memory(
    profiler: Profiler, clock: FakeClock
) -> None:
    waiting = []
    for _ in range(8000):
        with profiler.profile("env_step"):
            clock.now += 1
        profiler._recording.fold()
        waiting.append(len(profiler._recording._tree._durations))
    assert max(waiting) < 4000
    assert operations(profiler)["env_step"].calls == 8000


def test_a_call_of_two_hours_took_two_hours(profiler: Profiler, clock: FakeClock) -> None:
    with profiler.profile("training_total"):
        clock.go(7200)
    found = row(recorded(profiler), "training_total")
    assert found.mean == found.shortest == found.longest == 7200 * SECOND
    assert found.p50 == pytest.approx(7200 * SECOND, rel=0.01)


def test_the_deepest_calls_share_a_row(profiler: Profiler, clock: FakeClock) -> None:
    calls = [profiler.profile("search") for _ in range(1500)]
    for call in calls:
        call.__enter__()
    clock.go(1)
    for call in reversed(calls):
        call.__exit__(None, None, None)
    found = operations(profiler)
    assert len(found) == 65
    assert sum(one.calls for one in found.values()) == 1500
    [deepest] = [one for one in found.values() if one.path[-1] == TOO_MANY]
    assert (deepest.busy, deepest.own, deepest.covered) == (SECOND, SECOND, SECOND)
    assert len(deepest.path) == 65


def test_threads_of_any_number_of_names_do_not_fill_the_memory(
    profiler: Profiler, clock: FakeClock
) -> None:
    for number in range(150):
        with Actor(f"x{number}x") as actor:
            call = profiler.profile("env_step")
            actor.do(call.__enter__)
            clock.now += 1
            actor.do(partial(call.__exit__, None, None, None))
        profiler._recording.fold()
    analysis = recorded(profiler)
    places = analysis.places
    assert len(places) <= 101
    trace = analysis.session.processes[0].trace
    assert trace is not None
    assert (len(trace.threads), len(trace.start)) == (len(places), 150)
    assert sum(place.rows[0].calls for place in places) == 150


def test_turned_on_and_off_all_the_time_it_keeps_how_long_it_was_on_and_little_else(
    profiler: Profiler, clock: FakeClock
) -> None:
    began = clock.now
    for number in range(5000):
        with profiler.profile("env_step"):
            clock.go(1)
        profiler.disable()
        clock.go(100 if number == 2500 else 0.1)
        profiler.enable(system=False)
    analysis = recorded(profiler)
    [part] = analysis.session.processes
    assert len(part.windows) <= 2048
    # No pause counts, and the long one is where it was.
    assert analysis.wall == 5000 * SECOND
    assert row(analysis, "env_step").share == 1
    assert (part.windows[0][0], part.windows[-1][1]) == (began, clock.now)
    pauses = [after[0] - before[1] for before, after in itertools.pairwise(part.windows)]
    assert max(pauses) >= 100 * SECOND


def test_after_a_reset_names_that_were_too_many_are_forgotten(
    profiler: Profiler, clock: FakeClock
) -> None:
    for number in range(1200):
        with profiler.profile(f"battle-{number}"):
            clock.now += 1
    profiler.reset()
    with profiler.profile("env_step"):
        clock.now += 1
    [part] = profiler.session("test").processes
    # What never ran since then is absent, not zero.
    assert [one.path for one in part.operations] == [("env_step",)]


async def test_tasks_that_start_their_successors_do_not_keep_all_before_them() -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    tasks: list[asyncio.Task[None]] = []

    async def battle(left: int) -> None:
        with profiler.profile("battle"):
            if left:
                tasks.append(asyncio.create_task(battle(left - 1)))

    tasks.append(asyncio.create_task(battle(2000)))
    while tasks:
        await tasks.pop()
    assert operations(profiler)["battle"].calls == 2001
    alive = [one for one in gc.get_objects() if type(one) is Call]
    assert sum(call.recorder is profiler._recorder for call in alive) <= 2


def test_chains_of_threads_are_followed_to_their_end(profiler: Profiler, clock: FakeClock) -> None:
    actors = [Actor(name) for name in ("c", "b", "a")]
    # Their lanes come in this order, and the chain goes the other way, more than once around.
    for actor in actors:
        actor.do(lambda: profiler.profile("warm").__enter__().__exit__(None, None, None))
    context = contextvars.copy_context()
    for hop in range(8):
        call = profiler.profile(f"c{hop}")
        actors[-1 - hop % 3].do(partial(context.run, call.__enter__))
        context = context.run(contextvars.copy_context)
    clock.go(10)
    found = operations(profiler)
    assert found["/".join(f"c{hop}" for hop in range(8))].busy == 10 * SECOND
    assert [one.own for path, one in found.items() if path.startswith("c0")] == [0] * 7 + [
        10 * SECOND
    ]
    for actor in actors:
        actor.__exit__(None, None, None)
