"""What users call: decorators, memory, metrics, steps, summaries, files."""

from __future__ import annotations

import asyncio
import functools
import mmap
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from structlog.testing import capture_logs

import maple.profiling
from maple.profiling import (
    NothingRecorded,
    Profiler,
    ProfilingConfig,
    get_global_profiler,
    get_profiler,
)
from maple.profiling.gauges import Level, ProcessMemory
from maple.profiling.metrics import percentile
from maple.profiling.session import load_session
from tests.maple.profiling.stage import SECOND, FakeClock, operations, recorded, row


def test_there_is_one_profiler_and_both_names_give_it() -> None:
    assert get_profiler() is get_global_profiler()
    assert maple.profiling.profile("x") is maple.profiling.profile("y")  # It is off.
    assert repr(get_profiler()).startswith("<Profiler: off")


# Functions


def test_a_decorated_function_is_timed_only_while_the_profiler_is_on(clock: FakeClock) -> None:
    profiler = Profiler(clock=clock)

    @profiler.profile_function("env_step")
    def step(seconds: float) -> str:
        """Goes on."""
        clock.go(seconds)
        return "done"

    assert step(1) == "done"
    profiler.enable(system=False)
    assert step(seconds=2) == "done"
    assert (step.__name__, step.__doc__) == ("step", "Goes on.")
    assert operations(profiler)["env_step"].busy == 2 * SECOND


async def test_a_decorated_async_function_is_timed_until_it_is_over(
    profiler: Profiler, clock: FakeClock
) -> None:
    @profiler.profile_function()
    async def fetch() -> int:
        await asyncio.sleep(0)
        clock.go(3)
        return 7

    assert asyncio.iscoroutinefunction(fetch)
    assert await fetch() == 7
    [name] = operations(profiler)
    assert name.endswith("fetch")
    assert operations(profiler)[name].busy == 3 * SECOND


def test_a_generator_is_refused_since_it_is_not_over_when_it_returns(profiler: Profiler) -> None:
    def rows() -> Iterator[int]:
        yield 1

    async def async_rows() -> AsyncIterator[int]:
        yield 1

    class Rows:
        def __call__(self) -> Iterator[int]:
            yield 1

    for function in (rows, async_rows, Rows(), functools.partial(rows)):
        with pytest.raises(TypeError, match="is a generator"):
            profiler.profile_function("rows")(function)


async def test_what_can_be_called_and_is_no_function_is_timed_as_what_it_does(
    profiler: Profiler, clock: FakeClock
) -> None:
    class Fetch:
        async def __call__(self, seconds: float) -> None:
            await asyncio.sleep(0)
            clock.go(seconds)

    await profiler.profile_function()(Fetch())(1)
    await profiler.profile_function()(functools.partial(Fetch(), 2))()
    profiler.profile_function()(functools.partial(clock.go, 2))()
    found = operations(profiler)
    [fetch] = [one for name, one in found.items() if name.endswith("Fetch")]
    assert fetch.busy == 3 * SECOND
    assert found["FakeClock.go"].busy == 2 * SECOND


def test_a_name_that_is_no_text_costs_nothing_that_was_recorded(
    profiler: Profiler, clock: FakeClock
) -> None:
    for name in (["env", "step"], None, 5, "5", "long" * 100):
        with profiler.profile(name):  # type: ignore[arg-type]
            clock.go(1)
    calls = {name: one.calls for name, one in operations(profiler).items()}
    assert calls.pop("5") == 2
    assert calls.pop("['env', 'step']") == calls.pop("None") == 1
    [(long, count)] = calls.items()
    assert (len(long), count) == (200, 1)


def test_a_decorator_that_was_not_called_says_so_at_once(profiler: Profiler) -> None:
    with pytest.raises(TypeError, match="it is called first"):
        profiler.profile_function(print)  # type: ignore[arg-type]


# Memory


class FakeGauge:
    """Stands where it was put, and remembers the most."""

    def __init__(self) -> None:
        self.now = self.highest = 1000

    def set(self, now: int) -> None:
        self.now = now
        self.highest = max(self.highest, now)

    def read(self) -> Level:
        return Level(self.now, self.highest)


@pytest.fixture
def gauge(profiler: Profiler) -> FakeGauge:
    gauge = FakeGauge()
    profiler._gauges = {"memory": gauge}
    return gauge


def test_memory_is_how_far_it_rose_at_the_most_and_not_how_much_there_is(
    profiler: Profiler, gauge: FakeGauge
) -> None:
    with profiler.profile("env_step", track_memory=True):
        gauge.set(5000)  # Gone before the end, but it was never higher.
        gauge.set(1500)
    found = row(recorded(profiler), "env_step").memory
    assert found is not None
    assert (found.calls, found.peak) == (1, 4000)


def test_a_peak_below_the_highest_ever_is_seen_by_a_look_in_between(
    profiler: Profiler, gauge: FakeGauge
) -> None:
    gauge.set(100_000)
    gauge.set(1000)
    with profiler.profile("env_step", track_memory=True):
        gauge.set(3000)
        profiler._recording.look_at_memory()
        gauge.set(1200)
    with profiler.profile("env_step", track_memory=True):
        gauge.set(1600)
    found = row(recorded(profiler), "env_step").memory
    assert found is not None
    assert (found.calls, found.total, found.peak) == (2, 2400, 2000)


def test_memory_that_was_given_back_is_no_growth(profiler: Profiler, gauge: FakeGauge) -> None:
    with profiler.profile("env_reset", track_memory=True):
        gauge.set(400)
    found = row(recorded(profiler), "env_reset").memory
    assert found is not None
    assert found.peak == 0


class Happening(FakeGauge):
    """Something happens whenever it is read."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def read(self) -> Level:
        level = super().read()
        self._happens()
        return level


def test_the_time_of_looking_at_memory_is_nobodys(profiler: Profiler, clock: FakeClock) -> None:
    profiler._gauges = {"memory": Happening(lambda: clock.go(1))}
    with profiler.profile("env_step", track_memory=True):
        clock.go(5)
    assert operations(profiler)["env_step"].busy == 5 * SECOND


def _fail() -> None:
    raise OSError(24, "Too many open files")


def test_a_gauge_that_fails_takes_nothing_from_what_it_looks_at(
    profiler: Profiler, clock: FakeClock, gauge: FakeGauge
) -> None:
    profiler._gauges = {"gpu": Happening(_fail), "memory": gauge}

    @profiler.profile_function("env_step", track_memory=True)
    def step() -> None:
        gauge.set(gauge.now + 10)
        clock.go(1)
        raise ZeroDivisionError

    with capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                step()
        profiler._recording.look_at_memory()
        with profiler.profile("after"):
            clock.go(1)
    found = operations(profiler)
    assert set(found) == {"env_step", "after"}
    assert found["env_step"].calls == 2
    assert {name: one.calls for name, one in found["env_step"].allocations.items()} == {"memory": 2}
    [entry] = logs
    assert (entry["gauge"], entry["log_level"]) == ("gpu", "warning")
    assert "Too many open files" in entry["cause"]


def test_a_gauge_that_fails_at_the_end_of_a_call_hides_no_error(
    profiler: Profiler, clock: FakeClock, gauge: FakeGauge, monkeypatch: pytest.MonkeyPatch
) -> None:
    @profiler.profile_function("env_step", track_memory=True)
    def step() -> None:
        clock.go(1)
        monkeypatch.setattr(gauge, "read", _fail)
        raise ZeroDivisionError

    with capture_logs() as logs, pytest.raises(ZeroDivisionError):
        step()
    with profiler.profile("after"):
        clock.go(1)
    found = operations(profiler)
    assert set(found) == {"env_step", "after"}
    assert found["env_step"].allocations == {}
    assert len(logs) == 1


def test_what_a_call_says_of_memory_after_it_was_added_up_is_counted_with_it(
    profiler: Profiler, clock: FakeClock
) -> None:
    """Its thread was held up between the end of the call and its look."""
    seen: list[int] = []

    def look() -> None:
        seen.append(operations(profiler)["env_step"].calls)

    profiler._gauges = gauges = {"memory": FakeGauge()}
    with profiler.profile("env_step", track_memory=True):
        clock.go(1)
        gauges["memory"] = Happening(look)
    assert seen == [1]
    memory = row(recorded(profiler), "env_step").memory
    assert memory is not None
    assert memory.calls == 1


def test_what_a_call_says_of_memory_after_the_profiler_was_turned_off_is_counted_with_it(
    profiler: Profiler, clock: FakeClock
) -> None:
    profiler._gauges = gauges = {"memory": FakeGauge()}
    with profiler.profile("env_step", track_memory=True):
        clock.go(1)
        gauges["memory"] = Happening(profiler.disable)
    memory = row(recorded(profiler), "env_step").memory
    assert memory is not None
    assert memory.calls == 1


def test_an_operation_that_did_not_look_has_no_memory_rather_than_none_of_it(
    profiler: Profiler,
) -> None:
    with profiler.profile("env_step"):
        pass
    found = row(recorded(profiler), "env_step")
    assert (found.memory, found.gpu) == (None, None)


def test_memory_of_this_process_is_really_read() -> None:
    before = ProcessMemory(psutil.Process()).read()
    with mmap.mmap(-1, 50_000_000) as block:
        block.write(b"x" * len(block))
        after = ProcessMemory(psutil.Process()).read()
    assert after.now - before.now > 40_000_000
    assert after.highest >= after.now


# Metrics and counts


def test_a_metric_takes_any_number_by_one_call(profiler: Profiler) -> None:
    for value in range(-50, 51):
        profiler.metric("reward", value / 10, unit="points")
    metric = profiler.session("test").processes[0].metrics["reward"]
    assert (metric.unit, metric.count, metric.last) == ("points", 101, 5.0)
    assert (metric.lowest, metric.highest) == (-5.0, 5.0)
    assert metric.total == pytest.approx(0, abs=1e-9)
    assert percentile(metric, 50) == pytest.approx(0, abs=0.01)
    assert percentile(metric, 99) == pytest.approx(4.9, rel=0.01)


def test_a_metric_that_is_no_number_is_refused(profiler: Profiler) -> None:
    with pytest.raises(ValueError, match="finite"):
        profiler.metric("loss", float("nan"))
    assert profiler.session("test").processes[0].metrics == {}


def talking(clock: FakeClock, *, summary_every: int) -> tuple[Profiler, list[str]]:
    """A profiler that is on, and the live summaries that it gives."""
    profiler = Profiler(ProfilingConfig(summary_every=summary_every), clock=clock)
    said: list[str] = []
    profiler._say = said.append
    profiler.enable(system=False)
    return profiler, said


def test_a_live_summary_comes_every_so_many_steps(clock: FakeClock) -> None:
    profiler, said = talking(clock, summary_every=100)
    for _ in range(7):
        with profiler.profile("env_step"):
            clock.go(1)
        profiler.step(30)
    assert len(said) == 2
    assert said[0].startswith("after 120 steps\n")
    assert "env_step" in said[0]
    # The whole of it comes at the end.
    assert "WHAT PROFILING COST" not in said[0]
    # What it takes is told as what it is.
    assert operations(profiler)["log_live_summary"].calls == 2


def test_steps_may_be_numbers_of_numpy_however_small(clock: FakeClock) -> None:
    profiler, said = talking(clock, summary_every=300)
    for _ in range(10):
        profiler.step(np.uint8(200))  # type: ignore[arg-type]
    assert len(said) == 6
    assert profiler.session("test").processes[0].counts == {"steps": 2000}


def test_a_live_summary_comes_though_everything_was_forgotten_meanwhile(clock: FakeClock) -> None:
    """As a run does that records each batch by itself, which is shorter."""
    profiler, said = talking(clock, summary_every=100)
    for _ in range(7):
        profiler.reset()
        profiler.step(30)
    assert [text.splitlines()[0] for text in said] == ["after 30 steps"] * 2


# Summaries and files


def test_the_summary_is_per_episode(profiler: Profiler, clock: FakeClock) -> None:
    for _ in range(4):
        with profiler.profile("env_step"):
            clock.go(1.5)
        with profiler.profile("gradient_calculation"):
            clock.go(0.5)
        profiler.episode()
    text = profiler.summary()
    assert "PERFORMANCE SUMMARY (per episode)" in text
    assert "Total Episode Time: 2.00 s   (4 episodes)" in text
    assert re.search(r"Environment Operations:\n +env_step: +1\.50 s \(75 %\)", text)
    assert re.search(r"Learning Operations:\n +gradient_calculation: +500 ms \(25 %\)", text)
    # Nobody looked at the system, so that nothing is said of it.
    assert "CPU Usage" not in text


def test_an_operation_that_never_ran_is_absent(profiler: Profiler, clock: FakeClock) -> None:
    with profiler.profile("env_step"):
        clock.go(1)
    text = profiler.summary()
    assert "env_reset" not in text
    assert "IPC" not in text
    assert "BATTLES" not in text


def test_without_episodes_the_summary_is_per_step(profiler: Profiler, clock: FakeClock) -> None:
    with profiler.profile("env_step"):
        clock.go(4)
    profiler.step(64)
    assert "Total Step Time: 62.5 ms   (64 steps)" in profiler.summary()


def test_where_nothing_was_recorded_nothing_is_saved(tmp_path: Path) -> None:
    assert Profiler().summary() == "the profiler was never enabled\n"
    with pytest.raises(NothingRecorded, match="never enabled"):
        Profiler().save("first", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_saving_writes_a_session_and_a_summary_named_by_the_moment(
    profiler: Profiler, clock: FakeClock, tmp_path: Path
) -> None:
    with profiler.profile("env_step"):
        clock.go(1)
    saved = profiler.save("first", tmp_path / "logs")
    assert saved.raw.parent == tmp_path / "logs" / "raw"
    assert saved.report.parent == tmp_path / "logs" / "reports"
    assert re.fullmatch(r"first_\d{8}_\d{6}\.json", saved.raw.name)
    assert re.fullmatch(r"first_\d{8}_\d{6}_summary\.txt", saved.report.name)
    assert load_session(saved.raw).name == "first"
    assert "env_step" in saved.report.read_text("utf-8")
    assert list(saved.raw.parent.iterdir()) == [saved.raw]


def test_what_profiling_itself_costs_is_measured_and_told(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("env_step"):
        clock.go(1)
    overhead = profiler.session("test").overhead
    assert overhead is not None
    assert 0 < overhead.disabled < overhead.enabled
    assert "WHAT PROFILING COST" in profiler.summary()


def test_torchs_own_events_are_recorded_on_request_and_on_the_same_clock() -> None:
    profiler = Profiler()
    profiler.enable(system=False, torch_events=True)
    with profiler.profile("forward"):
        torch.ones(64, 64) @ torch.ones(64, 64)
    profiler.disable()
    session = profiler.session("test")
    events = {event["name"]: event for event in session.torch_events or ()}
    product = events["aten::mm"]
    began = product["start"] - session.machine.epoch
    trace = session.processes[0].trace
    assert trace is not None
    # Both clocks are read one after the other: they differ by less than this.
    slack = SECOND // 100
    assert trace.start[0] - slack < began
    assert began + product["duration"] < trace.start[0] + trace.duration[0] + slack
    assert product["pid"] == session.processes[0].pid


def test_without_a_request_torchs_events_are_not_recorded(profiler: Profiler) -> None:
    assert profiler.session("test").torch_events is None


def test_settings_of_the_run_are_kept_with_it(profiler: Profiler) -> None:
    assert profiler.session("test", settings={"num_envs": 64}).settings == {"num_envs": 64}


def test_settings_can_only_change_while_it_is_off(profiler: Profiler) -> None:
    with pytest.raises(RuntimeError, match="only while it is off"):
        profiler.configure(ProfilingConfig(trace_calls=1))
    profiler.disable()
    profiler.configure(ProfilingConfig(trace_calls=1), role="worker")
    assert (profiler.role, profiler.config.trace_calls) == ("worker", 1)


def test_laps_are_what_somebody_marked_or_else_come_by_themselves(
    profiler: Profiler, clock: FakeClock
) -> None:
    def work(times: int) -> None:
        for _ in range(times):
            with profiler.profile("env_step"):
                clock.go(1)

    for times in (1, 2):
        work(times)
        profiler._recording.mark()
    assert row(recorded(profiler), "env_step").laps == ((1, SECOND), (2, 2 * SECOND))
    for times in (3, 4):
        work(times)
        profiler.lap()
        profiler._recording.mark()
    assert row(recorded(profiler), "env_step").laps == ((6, 6 * SECOND), (4, 4 * SECOND))
