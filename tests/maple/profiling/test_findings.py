"""What to do about it: scores, stages, the most that could be gained, and what to try."""

from __future__ import annotations

import contextvars
import math
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from bridge.histogram import Histogram
from maple.profiling import NothingRecorded, Profiler, merge_sessions
from maple.profiling.analysis import Analysis, analyse, only
from maple.profiling.calls import Call
from maple.profiling.findings import Findings, find
from maple.profiling.session import FeedOperation
from tests.maple.profiling.sessions import Rising, typical_session
from tests.maple.profiling.stage import SECOND, Actor, FakeClock, recorded

MB = 1_000_000


def analysis_of(*calls: tuple[str, float, int], **gauges: Any) -> Analysis:
    """A run of ten seconds with calls (name, seconds each, how many), one after the other."""
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    profiler._gauges = gauges
    for name, seconds, times in calls:
        for _ in range(times):
            with profiler.profile(name, track_memory=bool(gauges)):
                clock.go(seconds)
    clock.now = 10 * SECOND
    return recorded(profiler)


def _crowd(profiler: Profiler, clock: FakeClock, name: str, *, calls: int, seconds: float) -> None:
    """So many tasks at once that do the same for a while."""
    crowd = [profiler.profile(name) for _ in range(calls)]
    for call in crowd:
        contextvars.Context().run(call.__enter__)
    clock.go(seconds)
    for call in crowd:
        call.__exit__(None, None, None)


def _take_turns(profiler: Profiler, clock: FakeClock, *, turns: int, seconds: float) -> None:
    """Four tasks, at any moment two of them in each of two operations."""
    contexts = [contextvars.Context() for _ in range(4)]
    for turn in range(turns):
        calls = []
        for number, context in enumerate(contexts):
            calls.append(profiler.profile(("env_step", "backward")[(turn + number) % 2]))
            context.run(calls[-1].__enter__)
        clock.go(seconds)
        for call, context in zip(calls, contexts, strict=True):
            context.run(call.__exit__, None, None, None)


def severities(findings: Findings) -> list[tuple[str, str]]:
    return [(found.severity, found.operation) for found in findings.recommendations]


def test_a_score_weighs_time_calls_and_memory_as_promised() -> None:
    """Half of the time, 50 ms a call, 50 MB, 200 MB of GPU: 20 + 15 + 7.5 + 15."""
    analysis = analysis_of(("env_step", 0.05, 100), memory=Rising(50 * MB), gpu=Rising(200 * MB))
    [found] = find(analysis).bottlenecks
    assert found.share == pytest.approx(0.5)
    assert found.per_call == pytest.approx(0.05 * SECOND)
    assert (found.memory, found.gpu) == (50 * MB, 200 * MB)
    assert found.score == pytest.approx(57.5)


def test_what_was_not_measured_adds_nothing_to_a_score() -> None:
    [found] = find(analysis_of(("env_step", 0.05, 100))).bottlenecks
    assert (found.memory, found.gpu) == (None, None)
    assert found.score == pytest.approx(35)


def test_bottlenecks_come_by_their_score_and_count_own_time_alone() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(100):
        with profiler.profile("training_batch"):
            clock.go(0.001)
            with profiler.profile("env_step"):
                clock.go(0.09)
    found = find(recorded(profiler))
    assert [one.name for one in found.bottlenecks] == ["env_step", "training_batch"]
    assert found.bottlenecks[1].share == pytest.approx(0.001 / 0.091)
    # The batch as a whole takes all of the time, but it is not what stands in the way.
    assert severities(found) == [("CRITICAL", "env_step")]


def test_what_takes_long_only_with_its_parts_is_named_with_the_largest_of_them() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(20):
        with profiler.profile("training_batch"), profiler.profile("env_step"):
            for part, seconds in (("env_wait", 0.07), ("env_observation", 0.05)):
                with profiler.profile(part):
                    clock.go(seconds)
            clock.go(0.04)
        clock.go(0.3)
    found = [one for one in find(recorded(profiler)).recommendations if one.severity == "SLOW"]
    assert [one.operation for one in found] == ["env_step"]
    assert found[0].reason == (
        "160 ms a call with all that is in it, the largest part of it env_wait (70 ms)"
    )
    assert "profiler.watch" in found[0].advice


def test_what_runs_side_by_side_in_a_call_takes_no_longer_than_the_call() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.profile("round"):
        contexts = [contextvars.copy_context() for _ in range(5)]
        calls = [profiler.profile("fetch") for _ in contexts]
        for context, call in zip(contexts, calls, strict=True):
            context.run(call.__enter__)
        clock.go(0.09)
        for context, call in zip(contexts, calls, strict=True):
            context.run(call.__exit__, None, None, None)
        clock.go(0.02)
    [critical, slow] = find(recorded(profiler)).recommendations
    assert (critical.severity, critical.operation) == ("CRITICAL", "fetch")
    assert slow.reason == (
        "110 ms a call with all that is in it, the largest part of it fetch (90 ms)"
    )


def test_one_operation_alone_is_judged_with_what_all_of_the_run_tells() -> None:
    analysis = analyse(typical_session())
    found = find(analysis).about(only(analysis, "env_wait"))
    [critical, _] = found.recommendations
    assert "Node is busy only" in critical.advice
    assert [one.name for one in found.bottlenecks] == ["env_wait"]
    assert [one.name for one in found.stages] == ["env_wait"]


def test_a_share_that_no_part_of_it_explains_is_named_as_a_whole() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(100):
        with profiler.profile("gradient_calculation"):
            clock.go(0.02)
            for part in ("loss_calculation", "backward"):
                with profiler.profile(part):
                    clock.go(0.015)
        clock.go(0.05)
    [found] = find(recorded(profiler)).recommendations
    assert (found.severity, found.operation) == ("CRITICAL", "gradient_calculation")
    assert found.reason == (
        "50 % of the time with all that is in it, the largest part of it its own (40 %)"
    )


def test_what_the_bridge_has_timed_is_judged_too() -> None:
    findings = find(analyse(typical_session()))
    by_name = {found.name: found for found in findings.bottlenecks}
    assert {"ipc_simulate", "inference_forward"} <= by_name.keys()
    # Nobody works while a row waits, and frames that are written together have the time of all.
    waits = {"inference_queue_wait", "ipc_pipe_in", "ipc_node_wait", "ipc_encode", "ipc_dispatch"}
    assert not waits & by_name.keys()


def test_forwards_that_take_most_of_the_time_are_critical_although_a_queue_has_timed_them() -> None:
    session = typical_session()
    [part] = session.processes
    [queue] = [feed for feed in part.feeds if feed.kind == "inference"]
    whole = Histogram()
    whole.record(np.full(50, 150_000_000))
    forward = FeedOperation(
        name="queue", total=None, parts={"forward": whole.summary() | {"hdr": whole.encode()}}
    )
    queue = msgspec.structs.replace(queue, operations=[forward])
    part = msgspec.structs.replace(part, operations=[], laps=[], trace=None, feeds=[queue])
    found = find(analyse(msgspec.structs.replace(session, processes=[part])))
    assert severities(found) == [("CRITICAL", "inference_forward"), ("SLOW", "inference_forward")]
    assert found.bottlenecks[0].share == pytest.approx(0.75, rel=0.02)


@pytest.mark.parametrize(
    ("call", "gauges", "expected"),
    [
        (("env_step", 0.001, 3100), {}, ["CRITICAL"]),
        (("env_step", 0.001, 2900), {}, []),
        (("log_write", 0.101, 1), {}, ["SLOW"]),
        (("log_write", 0.099, 1), {}, []),
        (("env_reset", 0.001, 1), {"memory": Rising(101 * MB)}, ["MEMORY"]),
        (("env_reset", 0.001, 1), {"memory": Rising(99 * MB)}, []),
        (("loss_calculation", 0.001, 1), {"gpu": Rising(101 * MB)}, ["GPU MEMORY"]),
        (("backward", 4.0, 1), {"memory": Rising(200 * MB)}, ["CRITICAL", "SLOW", "MEMORY"]),
    ],
)
def test_what_exceeds_a_limit_is_called_by_its_name_and_has_advice(
    call: tuple[str, float, int], gauges: dict[str, Rising], expected: list[str]
) -> None:
    found = find(analysis_of(call, **gauges)).recommendations
    assert [one.severity for one in found] == expected
    assert all(len(one.advice) > 20 and "\n" not in one.advice for one in found)


def test_only_a_wait_for_node_is_told_about_node() -> None:
    analysis = analyse(typical_session())
    [critical, _] = find(analysis).about(only(analysis, "env_wait")).recommendations
    assert "Node" in critical.advice
    [lock, *_] = find(analysis_of(("lock_wait", 5.0, 1))).recommendations
    assert "Node" not in lock.advice


def test_what_node_could_gain_is_what_was_waited_for_it_and_for_nothing_else() -> None:
    session = typical_session()
    gains = {one.name: one.gain for one in find(analyse(session)).stages}
    [part] = session.processes
    paths = [one.path for one in part.operations]
    operations = [
        msgspec.structs.replace(
            one, path=tuple("lock_wait" if name == "env_wait" else name for name in one.path)
        )
        for one in part.operations
    ]
    assert any("env_wait" in path for path in paths)
    part = msgspec.structs.replace(part, operations=operations)
    other = msgspec.structs.replace(session, processes=[part])
    without = {one.name: one.gain for one in find(analyse(other)).stages}
    assert gains["Node"] == gains["env_wait"] == without["lock_wait"]
    assert without["Node"] is None


def test_every_category_has_advice_of_its_own() -> None:
    names = ("env_step", "env_wait", "agent_action_selection", "backward", "log_write", "mystery")
    advice = {find(analysis_of((name, 4.0, 1))).recommendations[0].advice for name in names}
    assert len(advice) == len(names)


def test_the_most_that_removing_a_stage_can_gain_is_what_amdahl_says() -> None:
    stages = {
        stage.name: stage
        for stage in find(analysis_of(("env_step", 5.0, 1), ("backward", 2.0, 1))).stages
    }
    assert stages["env_step"].utilisation == pytest.approx(0.5)
    assert stages["env_step"].gain == pytest.approx(2.0)
    assert stages["backward"].gain == pytest.approx(10 / 8)


def test_nothing_would_be_left_of_a_run_without_its_only_stage() -> None:
    [stage] = find(analysis_of(("env_step", 10.0, 1))).stages
    assert stage.gain == math.inf


def test_removing_what_runs_in_parallel_gains_at_most_the_time_that_it_covers() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with Actor("rollout_0") as one, Actor("rollout_1") as other:
        calls = [(actor, profiler.profile("env_step")) for actor in (one, other)]
        for actor, call in calls:
            actor.do(call.__enter__)
        clock.go(5)
        for actor, call in calls:
            actor.do(partial(call.__exit__, None, None, None))
        clock.now = 10 * SECOND
        [stage] = find(recorded(profiler)).stages
    # Ten seconds of work in five seconds of wall time.
    assert (stage.busy, stage.capacity) == (10 * SECOND, 2)
    assert stage.utilisation == pytest.approx(0.5)
    assert stage.gain == pytest.approx(2.0)


def test_what_else_is_done_side_by_side_would_still_have_to_be_done() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    _take_turns(profiler, clock, turns=100, seconds=0.1)
    found = find(recorded(profiler))
    assert {one.name: one.share for one in found.bottlenecks} == {"env_step": 0.5, "backward": 0.5}
    assert {stage.name: stage.gain for stage in found.stages} == {"env_step": 2, "backward": 2}
    assert "50 % of the time" in found.recommendations[0].reason


def test_a_stage_of_its_own_is_worth_its_time_however_many_ran_at_once_before() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    _crowd(profiler, clock, "env_step", calls=60, seconds=1)
    with profiler.profile("backward"):
        clock.go(63)
    gains = {stage.name: stage.gain for stage in find(recorded(profiler)).stages}
    assert gains == {"env_step": pytest.approx(64 / 63), "backward": pytest.approx(64)}


def test_a_burst_of_tasks_makes_nothing_else_look_removable(
    profiler: Profiler, clock: FakeClock
) -> None:
    _crowd(profiler, clock, "env_reset", calls=1000, seconds=0.01)
    _take_turns(profiler, clock, turns=20, seconds=1)
    gains = {stage.name: stage.gain for stage in find(recorded(profiler)).stages}
    # Nearly what it is without the burst, 2, of which a second's window had the most at once.
    assert gains["env_step"] == pytest.approx(2, rel=0.06)
    assert gains["backward"] == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize("looks", [False, True])
def test_what_could_be_gained_does_not_depend_on_who_looks_when(
    profiler: Profiler, clock: FakeClock, looks: bool
) -> None:
    for _ in range(20):
        _crowd(profiler, clock, "env_reset", calls=8, seconds=0.1)
        if looks:
            profiler.summary()
        _take_turns(profiler, clock, turns=3, seconds=0.3)
        if looks:
            profiler.summary()
    gains = {stage.name: stage.gain for stage in find(recorded(profiler)).stages}
    # Of each second eight at once could have done what is left: a crowd, and two tasks of four.
    left = (20 * 0.1 * 8 + 20 * 0.9 * 2) / 8
    assert gains["env_step"] == pytest.approx(20 / left)


def test_threads_that_do_nothing_are_no_help(profiler: Profiler, clock: FakeClock) -> None:
    with ExitStack() as stack:
        pool = [stack.enter_context(Actor(f"pool_{number}")) for number in range(8)]
        for actor in pool:
            with_nothing = profiler.profile("begin")
            actor.do(with_nothing.__enter__)
            actor.do(partial(with_nothing.__exit__, None, None, None))
        calls = [profiler.profile(name) for name in ("env_step", "backward")]
        for call, actor in zip(calls, pool, strict=False):
            actor.do(call.__enter__)
        clock.go(10)
        for call, actor in zip(calls, pool, strict=False):
            actor.do(partial(call.__exit__, None, None, None))
        gains = {stage.name: stage.gain for stage in find(recorded(profiler)).stages}
    assert gains == {"env_step": pytest.approx(2), "backward": pytest.approx(2)}


def test_workers_one_after_the_other_could_gain_what_one_could() -> None:
    clock = FakeClock(0)
    sessions = []
    for number in range(5):
        worker = Profiler(clock=clock, role="worker")
        worker.enable(system=False)
        _take_turns(worker, clock, turns=10, seconds=1)
        worker.disable()
        session = worker.session("worker")
        part = msgspec.structs.replace(session.processes[0], pid=number)
        sessions.append(msgspec.structs.replace(session, processes=[part]))
    whole = find(analyse(merge_sessions(sessions)))
    gains = {stage.name: stage.gain for stage in whole.stages}
    assert gains == {"env_step": pytest.approx(2), "backward": pytest.approx(2)}


def test_parts_of_calls_side_by_side_are_shares_of_a_call(
    profiler: Profiler, clock: FakeClock
) -> None:
    contexts = [contextvars.Context() for _ in range(16)]

    def begin(name: str) -> list[Call]:
        calls = [cast(Call, profiler.profile(name)) for _ in contexts]
        for call, context in zip(calls, contexts, strict=True):
            context.run(call.__enter__)
        return calls

    def end(calls: Sequence[Call]) -> None:
        for call, context in zip(calls, contexts, strict=True):
            context.run(call.__exit__, None, None, None)

    whole = begin("env_step")
    for part in ("env_wait", "env_observation"):
        calls = begin(part)
        clock.go(0.06)
        end(calls)
    clock.go(0.08)
    end(whole)
    [slow] = [one for one in find(recorded(profiler)).recommendations if one.severity == "SLOW"]
    assert slow.reason == (
        "200 ms a call with all that is in it, the largest part of it its own (80 ms)"
    )


def test_what_is_long_in_one_place_alone_is_named_by_that(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("log_all"), profiler.profile("log_write"):
        clock.go(0.9)
    for _ in range(100):
        with profiler.profile("log_write"):
            clock.go(0.001)
    clock.go(9)
    [found] = find(recorded(profiler)).recommendations
    assert (found.severity, found.operation, found.reason) == (
        "SLOW",
        "log_write",
        "900 ms a call in log_all",
    )


def test_stages_that_are_in_themselves_are_told_apart(profiler: Profiler, clock: FakeClock) -> None:
    for _ in range(2):
        with profiler.profile("search"):
            clock.go(1)
            with profiler.profile("search"):
                clock.go(1)
                with profiler.profile("search"), profiler.profile("backward"):
                    clock.go(1)
                clock.go(1)
    names = {stage.name for stage in find(recorded(profiler)).stages}
    assert names == {"search", "search / search", "backward"}


def test_one_operation_can_be_looked_at_alone_and_an_unknown_one_is_named() -> None:
    analysis = analysis_of(("env_step", 1.0, 1), ("backward", 1.0, 1))
    assert [row.name for row in only(analysis, "backward").rows] == ["backward"]
    with pytest.raises(NothingRecorded, match=r"no operation 'env_stp'.*did you mean 'env_step'"):
        only(analysis, "env_stp")


def test_work_that_holds_up_everything_is_critical_however_many_wait_beside_it() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    waiting = [profiler.profile("env_wait") for _ in range(16)]
    for call in waiting:
        contextvars.Context().run(call.__enter__)
    with profiler.profile("backward"):
        clock.go(9)
    clock.go(1)
    analysis = recorded(profiler)
    assert ("CRITICAL", "backward") in severities(find(analysis))
    # The shares of a level are what they were.
    assert sum(row.share for row in analysis.places[0].level(0)) <= 1
    # Sixteen that wait are waited for once.
    gains = {stage.name: stage.gain for stage in find(analysis).stages}
    assert gains["backward"] == pytest.approx(10)


def test_shares_of_categories_add_up_to_at_most_one_whatever_their_levels() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    context = contextvars.Context()
    outer = profiler.profile("training_total")
    context.run(outer.__enter__)
    inner = [profiler.profile("env_step") for _ in range(16)]
    for call in inner:
        context.copy().run(call.__enter__)
    clock.go(1)
    outer.__exit__(None, None, None)
    clock.go(9)
    analysis = recorded(profiler)
    assert sum(category.share for category in analysis.categories) <= 1 + 1e-9


def test_a_short_crowd_does_not_hide_the_rest_even_if_nobody_looked_in_between() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(60):
        contextvars.Context().run(profiler.profile("env_step").__enter__)
    clock.go(1)
    for call in tuple(profiler._recorder.own.lane):
        call.__exit__(None, None, None)
    with profiler.profile("backward"):
        clock.go(63)
    [found] = [row for row in recorded(profiler).rows if row.name == "backward"]
    assert found.capacity == pytest.approx((60 + 63) / 64)
