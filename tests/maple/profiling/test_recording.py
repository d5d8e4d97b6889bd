"""What calls add up to: in one thread, in several, in tasks that interleave, turned off and on."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import pytest

from maple.profiling import Profiler, ProfilingConfig
from maple.profiling.calls import NOTHING, Call, Lane, Recorder
from maple.profiling.tree import TOO_MANY
from tests.maple.profiling.stage import SECOND, Actor, FakeClock, operations, recorded, row

# One thread


def test_a_call_takes_the_time_between_its_beginning_and_its_end(
    profiler: Profiler, clock: FakeClock
) -> None:
    for seconds in (1, 3):
        with profiler.profile("env_step"):
            clock.go(seconds)
        clock.go(1)
    analysis = recorded(profiler)
    assert analysis.wall == 6 * SECOND
    step = row(analysis, "env_step")
    assert (step.calls, step.busy, step.own, step.covered) == (
        2,
        4 * SECOND,
        4 * SECOND,
        4 * SECOND,
    )
    assert step.share == pytest.approx(4 / 6)
    assert (step.shortest, step.longest) == (1 * SECOND, 3 * SECOND)
    assert step.mean == pytest.approx(2 * SECOND, rel=0.01)
    assert step.p50 == pytest.approx(1 * SECOND, rel=0.01)
    assert step.p99 == pytest.approx(3 * SECOND, rel=0.01)


def test_a_parent_shows_what_its_children_do_not_explain(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("training_batch"):
        clock.go(1)
        with profiler.profile("env_step"):
            clock.go(2)
            with profiler.profile("env_wait"):
                clock.go(4)
        with profiler.profile("loss_calculation"):
            clock.go(3)
    found = operations(profiler)
    assert list(found) == [
        "training_batch",
        "training_batch/env_step",
        "training_batch/env_step/env_wait",
        "training_batch/loss_calculation",
    ]
    assert {path: operation.own for path, operation in found.items()} == {
        "training_batch": 1 * SECOND,
        "training_batch/env_step": 2 * SECOND,
        "training_batch/env_step/env_wait": 4 * SECOND,
        "training_batch/loss_calculation": 3 * SECOND,
    }
    assert found["training_batch"].busy == 10 * SECOND


def test_the_same_operation_in_two_places_of_the_tree_is_two_rows(
    profiler: Profiler, clock: FakeClock
) -> None:
    for parent in ("collect", "learn"):
        with profiler.profile(parent), profiler.profile("replay_buffer"):
            clock.go(1)
    assert set(operations(profiler)) == {
        "collect",
        "collect/replay_buffer",
        "learn",
        "learn/replay_buffer",
    }


def test_an_operation_inside_itself_is_a_level_further_down(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("search"):
        clock.go(1)
        with profiler.profile("search"):
            clock.go(1)
    analysis = recorded(profiler)
    assert row(analysis, "search").share == 1.0
    assert row(analysis, "search").own == SECOND
    assert row(analysis, "search/search").share == 0.5


def test_a_call_that_raises_is_counted_and_hides_nothing(
    profiler: Profiler, clock: FakeClock
) -> None:
    def fail() -> None:
        with profiler.profile("env_step"):
            clock.go(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with profiler.profile("after"):
        clock.go(1)
    found = operations(profiler)
    assert found["env_step"].busy == 2 * SECOND
    assert "after" in found


def test_a_call_that_is_under_way_counts_as_far_as_it_has_come(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("training_total"):
        clock.go(5)
        with profiler.profile("env_step"):
            clock.go(1)
            halfway = operations(profiler)
        clock.go(4)
    assert (halfway["training_total"].busy, halfway["training_total"].own) == (
        6 * SECOND,
        5 * SECOND,
    )
    assert (halfway["training_total"].calls, halfway["training_total"].longest) == (0, None)
    whole = operations(profiler)["training_total"]
    assert (whole.calls, whole.busy, whole.own, whole.covered) == (
        1,
        10 * SECOND,
        9 * SECOND,
        10 * SECOND,
    )
    assert whole.longest == 10 * SECOND


def test_many_calls_are_added_up_on_the_way_and_none_is_lost(clock: FakeClock) -> None:
    profiler = Profiler(ProfilingConfig(trace_calls=100), clock=clock)
    profiler.enable(system=False)
    with profiler.profile("training_total"):
        for _ in range(20_000):
            with profiler.profile("env_step"):
                clock.now += 10
            clock.now += 5
    found = operations(profiler)
    assert (found["training_total/env_step"].calls, found["training_total/env_step"].busy) == (
        20_000,
        200_000,
    )
    assert found["training_total"].own == 100_000
    [part] = profiler.session("test").processes
    assert part.trace is not None
    assert (len(part.trace.start), part.trace.dropped) == (100, 20_001 - 100)


def test_calls_that_were_put_aside_are_not_kept(profiler: Profiler) -> None:
    for _ in range(3 * Lane.LIMIT):
        with profiler.profile("env_step"), profiler.profile("env_wait"):
            pass
    assert 0 < len(_calls_of(profiler)) <= Lane.LIMIT
    profiler.session("test")
    assert _calls_of(profiler) == []


def _calls_of(profiler: Profiler) -> list[Call]:
    found = [one for one in gc.get_objects() if type(one) is Call]
    return [call for call in found if call.recorder is profiler._recorder]


def test_hundreds_of_calls_under_way_at_once_do_not_slow_each_other_down(
    profiler: Profiler, clock: FakeClock
) -> None:
    waiting = [profiler.profile(f"room_{number}") for number in range(3 * Lane.LIMIT)]
    for call in waiting:
        contextvars.Context().run(call.__enter__)
    lane = profiler._recorder.own.lane
    assert len(lane) == 3 * Lane.LIMIT
    assert lane.limit > len(lane)
    for call in reversed(waiting):
        call.__exit__(None, None, None)
    assert len(operations(profiler)) == 3 * Lane.LIMIT


# Threads


def test_parallel_environments_never_take_more_than_all_of_the_time(
    profiler: Profiler, clock: FakeClock
) -> None:
    """One counter that sixteen environments feed once said 1108 % of the run."""
    with profiler.profile("env_parallel_execution"):
        calls = []
        actors = [Actor(f"environment_{number}") for number in range(16)]
        for actor in actors:
            call = profiler.profile("env_step")
            calls.append(call)
            actor.do(call.__enter__)
        clock.go(10)
        for actor, call in zip(actors[:8], calls, strict=False):
            actor.do(partial(call.__exit__, None, None, None))
        clock.go(10)
        for actor, call in zip(actors[8:], calls[8:], strict=True):
            actor.do(partial(call.__exit__, None, None, None))
    analysis = recorded(profiler)
    step = row(analysis, "env_step")
    assert step.busy == (8 * 10 + 8 * 20) * SECOND
    assert step.covered == 20 * SECOND
    assert (step.place, step.capacity) == ("environment", 16)
    assert step.share == pytest.approx(240 / (20 * 16))
    assert row(analysis, "env_parallel_execution").share == 1.0
    for actor in actors:
        actor.__exit__(None, None, None)


def test_threads_of_a_pool_share_a_place_and_others_have_their_own(
    profiler: Profiler, clock: FakeClock
) -> None:
    def work(name: str) -> None:
        with profiler.profile(name):
            clock.go(1)

    with Actor("rollout_0") as one, Actor("rollout_1") as other, Actor("writer") as writer:
        for actor, name in ((one, "env_step"), (other, "env_step"), (writer, "log_write")):
            actor.do(partial(work, name))
        places = {place.name: place for place in recorded(profiler).places}
    assert set(places) == {"rollout", "writer"}
    # They ran one after the other, but could have run side by side.
    assert places["rollout"].capacities == (2,)
    assert places["rollout"].rows[0].calls == 2


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("ThreadPoolExecutor-0_3", "ThreadPoolExecutor"),
        ("Thread-5 (collect)", "Thread (collect)"),
        ("inference_0", "inference"),
        ("gen9-writer", "gen9-writer"),
        ("worker7", "worker"),
        ("42", "42"),
    ],
)
def test_threads_are_named_without_their_numbers(
    profiler: Profiler, clock: FakeClock, name: str, place: str
) -> None:
    with Actor(name) as actor:
        call = profiler.profile("env_step")
        actor.do(call.__enter__)
        clock.go(1)
        actor.do(partial(call.__exit__, None, None, None))
    assert [found.name for found in recorded(profiler).places] == [place]


def test_threads_that_have_ended_are_forgotten(profiler: Profiler, clock: FakeClock) -> None:
    for number in range(20):
        with Actor(f"short-lived-{number}") as actor:
            call = profiler.profile("env_step")
            actor.do(call.__enter__)
            clock.go(1)
            actor.do(partial(call.__exit__, None, None, None))
        profiler._recording.fold()
    assert len(profiler._recorder.lanes) == 1
    assert operations(profiler)["env_step"].calls == 20


def _work_in_a_thread(profiler: Profiler, clock: FakeClock, name: str = "short") -> None:
    """A thread that makes one call, and ends."""

    def work() -> None:
        with profiler.profile("env_step"):
            clock.go(1)

    thread = threading.Thread(target=work, name=name)
    thread.start()
    thread.join(10)


def test_threads_one_after_the_other_are_not_there_at_once(
    profiler: Profiler, clock: FakeClock
) -> None:
    for _ in range(100):
        _work_in_a_thread(profiler, clock)
    found = row(recorded(profiler), "env_step")
    assert (found.calls, found.capacity, found.share) == (100, 1, 1)


def test_threads_that_have_ended_are_forgotten_though_nobody_looks(
    profiler: Profiler, clock: FakeClock
) -> None:
    for _ in range(1000):
        _work_in_a_thread(profiler, clock)
    assert len(profiler._recorder.lanes) <= Recorder.LIMIT
    assert operations(profiler)["env_step"].calls == 1000


def test_names_that_are_made_up_for_every_call_do_not_fill_the_memory(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("training_total"):
        for number in range(3000):
            with profiler.profile(f"battle-{number}"), profiler.profile("turn"):
                clock.go(1)
                if number == 2500:
                    profiler._recording.fold()  # While some of these are under way.
    found = operations(profiler)
    assert len(found) == 1002
    # Five hundred battles and their turns had a place; of one that came later, both share one.
    rest = found[f"training_total/{TOO_MANY}"]
    assert rest.covered == pytest.approx(2500 * SECOND, rel=0.01)
    assert sum(one.calls for one in found.values()) == 6001
    # No time counts twice: what is in it explains what is above it.
    assert rest.busy == rest.own == rest.covered
    assert sum(one.own for one in found.values()) == found["training_total"].busy == 3000 * SECOND
    assert all(0 <= one.own <= one.busy for one in found.values())


def test_a_context_that_is_handed_to_a_thread_brings_the_parent_along(
    profiler: Profiler, clock: FakeClock
) -> None:
    def work() -> None:
        with profiler.profile("decode"):
            clock.go(2)

    async def main() -> None:
        with profiler.profile("env_step"):
            clock.go(1)
            await asyncio.to_thread(work)

    asyncio.run(main())
    found = operations(profiler)
    assert found["env_step/decode"].busy == 2 * SECOND
    assert found["env_step"].own == SECOND


def test_a_thread_can_be_seen_before_the_parent_of_its_calls(
    profiler: Profiler, clock: FakeClock
) -> None:
    """The thread of the child had calls before that of the parent, and is looked at first."""
    with Actor("early") as early, ThreadPoolExecutor(1) as late:

        def first() -> None:
            with profiler.profile("before"):
                clock.go(1)

        early.do(first)

        def parent() -> None:
            with profiler.profile("outer"):
                context = contextvars.copy_context()

                def child() -> None:
                    with profiler.profile("inner"):
                        clock.go(3)

                early.do(lambda: context.run(child))

        late.submit(parent).result(10)
        found = operations(profiler)
    assert found["outer/inner"].busy == 3 * SECOND
    assert found["outer"].own == 0


def test_real_threads_lose_no_call_while_others_look() -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    number, each = 8, 3000
    stop = threading.Event()

    def work() -> None:
        for _ in range(each):
            with profiler.profile("outer"), profiler.profile("inner"):
                pass

    def look() -> None:
        while not stop.is_set():
            profiler._recording.mark()

    looker = threading.Thread(target=look)
    looker.start()
    workers = [threading.Thread(target=work, name=f"work-{n}") for n in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    stop.set()
    looker.join(10)
    profiler.disable()
    analysis = recorded(profiler)
    for path in ("outer", "outer/inner"):
        found = row(analysis, path)
        assert found.calls == number * each
        assert 0 < found.share <= 1
        assert found.covered is not None
        assert found.covered <= min(found.busy, analysis.wall)
    assert row(analysis, "outer").own >= 0


# Tasks


async def test_tasks_that_interleave_are_children_of_where_they_were_started(
    profiler: Profiler, clock: FakeClock
) -> None:
    turns = [asyncio.Event() for _ in range(4)]

    async def battle(first: asyncio.Event, last: asyncio.Event) -> None:
        with profiler.profile("env_step"):
            await first.wait()
            with profiler.profile("env_wait"):
                await last.wait()

    with profiler.profile("env_parallel_execution"):
        tasks = [asyncio.create_task(battle(turns[n], turns[2 + n])) for n in range(2)]
        for turn in turns:
            await asyncio.sleep(0)
            clock.go(1)
            turn.set()
        await asyncio.gather(*tasks)
        clock.go(6)
    analysis = recorded(profiler)
    step = row(analysis, "env_parallel_execution/env_step")
    wait = row(analysis, "env_parallel_execution/env_step/env_wait")
    # The first from 0 to 3 s, waiting from 1; the second from 0 to 4 s, waiting from 2.
    assert (step.busy, step.covered, step.own) == (7 * SECOND, 4 * SECOND, 3 * SECOND)
    assert (wait.busy, wait.covered) == (4 * SECOND, 3 * SECOND)
    # Two at once in each of the first three seconds, and then one.
    assert step.capacity == pytest.approx(1.3)
    assert step.share == pytest.approx(7 / 13)
    # Neither of them was under way in the last six seconds.
    assert row(analysis, "env_parallel_execution").own == 6 * SECOND


async def test_a_moment_of_many_tasks_does_not_make_the_rest_of_a_run_look_idle(
    profiler: Profiler, clock: FakeClock
) -> None:
    async def battle(end: asyncio.Event) -> None:
        with profiler.profile("env_step"):
            await end.wait()

    end = asyncio.Event()
    tasks = [asyncio.create_task(battle(end)) for _ in range(60)]
    await asyncio.sleep(0)
    clock.go(1)
    end.set()
    await asyncio.gather(*tasks)
    profiler._recording.fold()  # As the profiler does by itself, several times a second.
    for _ in range(99):
        with profiler.profile("backward"):
            clock.go(1)
        profiler._recording.fold()
    analysis = recorded(profiler)
    assert analysis.wall == 100 * SECOND
    learning = row(analysis, "backward")
    # Sixty in one second and one in all others: 1.59 on average.
    assert learning.capacity == pytest.approx((60 + 99) / 100)
    assert learning.share == pytest.approx(99 / 159)
    assert row(analysis, "env_step").share == pytest.approx(60 / 159)


async def test_tasks_below_one_operation_take_nothing_from_the_shares_below_another(
    profiler: Profiler, clock: FakeClock
) -> None:
    async def battle(end: asyncio.Event) -> None:
        with profiler.profile("task"):
            await end.wait()

    for _ in range(3):
        with profiler.profile("rollout"), profiler.profile("simulate"):
            clock.go(0.5)
        with profiler.profile("gather"):
            end = asyncio.Event()
            tasks = [asyncio.create_task(battle(end)) for _ in range(16)]
            await asyncio.sleep(0)
            clock.go(0.001)
            end.set()
            await asyncio.gather(*tasks)
    analysis = recorded(profiler)
    assert row(analysis, "rollout").share == row(analysis, "rollout/simulate").share
    assert row(analysis, "rollout/simulate").capacity == 1
    assert row(analysis, "gather/task").capacity == 16
    assert row(analysis, "gather/task").share == pytest.approx(0.003 / 1.503)


def test_a_level_or_a_thread_that_comes_later_could_use_the_time_before_too(
    profiler: Profiler, clock: FakeClock
) -> None:
    for _ in range(4):
        with profiler.profile("outer"):
            clock.go(2)
        profiler._recording.fold()
    with profiler.profile("outer"), profiler.profile("inner"):
        clock.go(2)
    with Actor("late") as late:
        call = profiler.profile("writing")
        late.do(call.__enter__)
        clock.go(2)
        late.do(partial(call.__exit__, None, None, None))
    analysis = recorded(profiler)
    for path, share in (("outer", 10 / 12), ("outer/inner", 2 / 12), ("writing", 2 / 12)):
        assert row(analysis, path).capacity == 1
        assert row(analysis, path).share == pytest.approx(share)


async def test_a_task_that_outlives_the_call_it_was_started_in_is_no_child_afterwards(
    profiler: Profiler, clock: FakeClock
) -> None:
    go_on = asyncio.Event()

    async def background() -> None:
        with profiler.profile("inside"):
            clock.go(1)
        with profiler.profile("across"):
            clock.go(1)
            await go_on.wait()
        with profiler.profile("afterwards"):
            clock.go(1)

    with profiler.profile("env_reset"):
        task = asyncio.create_task(background())
        await asyncio.sleep(0)
        clock.go(1)
    clock.go(10)
    # Somebody looks while it is under way, and its parent is not.
    assert operations(profiler)["env_reset"].own == 0
    go_on.set()
    await task
    found = operations(profiler)
    assert set(found) == {
        "env_reset",
        "env_reset/inside",
        "env_reset/across",
        "across",
        "afterwards",
    }
    # What its child did after its end is on the level above, where the call has ended.
    assert (found["env_reset/across"].busy, found["env_reset/across"].calls) == (2 * SECOND, 0)
    assert (found["across"].busy, found["across"].calls) == (10 * SECOND, 1)
    assert found["across"].ended == found["across"].longest == 12 * SECOND
    assert (found["env_reset"].busy, found["env_reset"].own) == (3 * SECOND, 0)


def test_a_task_that_works_through_the_run_is_most_of_it_wherever_it_was_started(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("spawn"):
        task = contextvars.copy_context()
        work = profiler.profile("work")
        task.run(work.__enter__)
        clock.go(0.005)
    for _ in range(100):
        step = profiler.profile("step")
        task.run(step.__enter__)
        clock.go(1)
        task.run(step.__exit__, None, None, None)
    task.run(work.__exit__, None, None, None)
    analysis = recorded(profiler)
    [place] = analysis.places
    assert place.share == pytest.approx(1)
    assert row(analysis, "work").share == pytest.approx(100 / 100.005)
    assert row(analysis, "work/step").share == pytest.approx(100 / 100.005)
    assert all(one.capacity == 1 for one in analysis.rows)


def test_generators_that_are_resumed_in_turns_do_not_mix_up_the_tree(
    profiler: Profiler, clock: FakeClock
) -> None:
    def stream(name: str) -> Iterator[None]:
        with profiler.profile(name):
            clock.go(1)
            yield
            clock.go(1)

    one, other = stream("one"), stream("other")
    next(one)
    next(other)
    for generator in (one, other):
        assert next(generator, "over") == "over"
    with profiler.profile("afterwards"):
        clock.go(1)
    found = operations(profiler)
    assert found["one"].busy == 3 * SECOND
    assert found["afterwards"].busy == SECOND
    assert sum(operation.calls for operation in found.values()) == 3
    assert all(0 <= operation.own <= operation.busy for operation in found.values())


async def test_a_call_that_ends_in_another_context_than_it_began_in_is_counted(
    profiler: Profiler, clock: FakeClock
) -> None:
    call = profiler.profile("env_step")

    async def begin() -> None:
        call.__enter__()

    await asyncio.create_task(begin())
    clock.go(2)
    call.__exit__(None, None, None)
    with profiler.profile("afterwards"):
        clock.go(1)
    found = operations(profiler)
    assert found["env_step"].busy == 2 * SECOND
    assert "afterwards" in found


# Any number of anything, beside a slow reference


def test_random_calls_in_tasks_add_up_as_a_slow_count_says() -> None:
    for seed in range(40):
        clock = FakeClock(1000)
        profiler = Profiler(clock=clock)
        profiler.enable(system=False)
        at_once = _play(profiler, clock, random.Random(seed))
        [place] = recorded(profiler).places
        for depth, capacity in enumerate(place.capacities):
            assert capacity == max(at_once[level] for level in range(depth + 1))


def test_random_calls_one_after_the_other_add_up_as_a_slow_count_says() -> None:
    for seed in range(20):
        clock = FakeClock(1000)
        profiler = Profiler(clock=clock)
        profiler.enable(system=False)
        at_once = _play(profiler, clock, random.Random(seed), tasks_at_once=1)
        assert set(at_once.values()) == {1}


def test_random_calls_in_tasks_of_several_threads_add_up_as_a_slow_count_says() -> None:
    with ExitStack() as stack:
        actors = [stack.enter_context(Actor(f"worker_{number}")) for number in range(3)]
        for seed in range(20):
            clock = FakeClock(1000)
            profiler = Profiler(clock=clock)
            profiler.enable(system=False)
            _play(profiler, clock, random.Random(seed), actors)


@dataclass(eq=False)
class _Called:
    """A call as the slow count sees it: all those around it when it began, and itself."""

    chain: list[_Called]
    call: Call
    name: str
    is_over: bool = False

    @property
    def around(self) -> list[_Called]:
        return [one for one in self.chain if not one.is_over]

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(one.name for one in [*self.around, self])


@dataclass(eq=False)
class _Task:
    """A context, the calls around it when it was started, those in it, and who runs it."""

    context: contextvars.Context
    outer: list[_Called]
    do: Callable[[Callable[[], object]], object]
    stack: list[_Called] = field(default_factory=list)


def _play(
    profiler: Profiler,
    clock: FakeClock,
    chance: random.Random,
    actors: Sequence[Actor] = (),
    tasks_at_once: int = 8,
) -> Counter[int]:
    """Tasks that begin and end calls and other tasks in any order, and somebody who looks.

    Returns how many calls of a depth there were at once.
    """

    def somebody() -> Callable[[Callable[[], object]], object]:
        return chance.choice(actors).do if actors else lambda order: order()

    tasks = [_Task(contextvars.Context(), [], somebody()) for _ in range(min(3, tasks_at_once))]
    calls: Counter[str] = Counter()
    busy: Counter[tuple[str, ...]] = Counter()
    own: Counter[tuple[str, ...]] = Counter()
    covered: Counter[tuple[str, ...]] = Counter()
    at_once: Counter[int] = Counter()
    for _ in range(200):
        task = chance.choice(tasks)
        chain = [one for one in task.outer + task.stack if not one.is_over]
        match chance.random():
            case draw if draw < 0.1 and len(tasks) < tasks_at_once:
                context = task.context.run(contextvars.copy_context)
                tasks.append(_Task(context, task.outer + task.stack, somebody()))
            case draw if draw < 0.5 and len(chain) < 5:
                call = profiler.profile(chance.choice("xyz"))
                assert isinstance(call, Call)
                task.do(partial(task.context.run, call.__enter__))
                task.stack.append(_Called(chain, call, call.operation))
                calls[call.operation] += 1
            case _ if task.stack:
                ending = task.stack.pop()
                ending.is_over = True
                task.do(partial(task.context.run, ending.call.__exit__, None, None, None))
        if chance.random() < 0.1:
            profiler._recording.fold()
        step = chance.randrange(1, 50)
        clock.now += step
        alive = [one for task in tasks for one in task.stack]
        parents = {one.around[-1] for one in alive if one.around}
        paths = Counter(one.path for one in alive)
        busy.update({path: step * count for path, count in paths.items()})
        for one in alive:
            own[one.path] += step * (one not in parents)
        covered.update(dict.fromkeys(paths, step))
        at_once |= Counter(len(one.around) for one in alive)
    for task in tasks:
        while task.stack:
            ending = task.stack.pop()
            ending.is_over = True
            task.do(partial(task.context.run, ending.call.__exit__, None, None, None))
    analysis = recorded(profiler)
    found = {one.path: one for one in analysis.rows}
    assert {path: one.busy for path, one in found.items() if one.busy} == busy
    assert {path: one.own for path, one in found.items() if one.own} == +own
    assert {path: one.covered for path, one in found.items() if one.covered} == covered
    for name, count in calls.items():
        assert sum(one.calls for one in analysis.rows if one.name == name) == count
    [place] = analysis.places
    for depth in range(len(place.capacities)):
        assert sum(one.share for one in place.level(depth)) <= 1 + 1e-9
    for parent in place.rows:
        assert sum(child.share for child in place.children(parent)) <= parent.share + 1e-9
    return at_once


# Off, on, and anew


def test_off_it_hands_out_one_thing_that_does_nothing() -> None:
    profiler = Profiler()
    assert profiler.profile("env_step") is NOTHING
    assert profiler.profile("env_step", track_memory=True) is NOTHING
    with profiler.profile("env_step"):
        pass
    profiler.metric("reward", 1)
    profiler.step()
    profiler.episode()
    profiler.lap()
    [part] = profiler.session("test").processes
    assert (part.operations, part.metrics, part.counts, part.windows) == ([], {}, {}, [])


def test_the_time_while_it_is_off_is_nobodys(profiler: Profiler, clock: FakeClock) -> None:
    with profiler.profile("training_total"):
        clock.go(1)
        with profiler.profile("ends_meanwhile"):
            clock.go(1)
            profiler.disable()
            clock.go(100)
        with profiler.profile("not_seen"):
            clock.go(100)
        profiler.enable(system=False)
        clock.go(1)
    analysis = recorded(profiler)
    assert analysis.wall == 3 * SECOND
    total = row(analysis, "training_total")
    assert (total.busy, total.longest, total.own) == (3 * SECOND, 3 * SECOND, 2 * SECOND)
    meanwhile = row(analysis, "training_total/ends_meanwhile")
    assert (meanwhile.calls, meanwhile.busy, meanwhile.longest) == (1, SECOND, SECOND)
    assert len(analysis.rows) == 2


def test_after_a_reset_calls_count_from_there_on(profiler: Profiler, clock: FakeClock) -> None:
    profiler.metric("reward", 5)
    profiler.step(3)
    with profiler.profile("gone"):
        clock.go(7)
    with profiler.profile("training_total"):
        clock.go(5)
        profiler.reset()
        clock.go(2)
    analysis = recorded(profiler)
    assert analysis.wall == 2 * SECOND
    assert [one.name for one in analysis.rows] == ["training_total"]
    assert row(analysis, "training_total").longest == 2 * SECOND
    assert analysis.count("steps") is None
    assert analysis.session.processes[0].metrics == {}


@pytest.mark.parametrize("depth", [1, 3])
def test_after_a_reset_nothing_is_left_of_calls_that_ended_while_it_was_off(
    profiler: Profiler, clock: FakeClock, depth: int
) -> None:
    with ExitStack() as stack:
        for level in range(depth):
            stack.enter_context(profiler.profile(f"gone_{level}"))
        clock.go(1)
        profiler.disable()
    profiler.reset()
    profiler.enable(system=False)
    for _ in range(3):
        with profiler.profile("env_step"):
            clock.go(1)
    profiler.disable()
    found = operations(profiler)
    assert {path: one.calls for path, one in found.items()} == {"env_step": 3}
    assert found["env_step"].busy == 3 * SECOND


class Shifting(FakeClock):
    """A clock at which things happen between two looks at it, as other threads see to."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[Callable[[], object]] = []

    def __call__(self) -> int:
        now = self.now
        if self.next:
            happening, self.next = self.next, []
            self.now += 1
            for happens in happening:
                happens()
        return now


@pytest.mark.parametrize("track_memory", [False, True])
def test_after_a_reset_nothing_is_left_of_calls_that_ended_while_it_was_made(
    track_memory: bool,
) -> None:
    clock = Shifting()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    calls = [profiler.profile(name, track_memory=track_memory) for name in "abc"]
    for call in calls:
        contextvars.Context().run(call.__enter__)
    clock.go(1)
    # After the moment up to which all is added up, and before that at which it begins anew.
    clock.next = [partial(call.__exit__, None, None, None) for call in calls]
    profiler.reset()
    assert operations(profiler) == {}
    with profiler.profile("env_step"):
        clock.go(1)
    assert {path: one.calls for path, one in operations(profiler).items()} == {"env_step": 1}
    assert profiler._recorder.own.lane.measured == []


def test_a_call_that_had_ended_and_did_not_say_so_before_a_reset_is_forgotten() -> None:
    """Its thread had looked at the clock, and was held up before it could write that down."""
    clock = Shifting()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    call = profiler.profile("gone")
    call.__enter__()
    clock.go(1)
    clock.next = [profiler.reset]
    call.__exit__(None, None, None)
    with profiler.profile("env_step"):
        clock.go(1)
    found = operations(profiler)
    assert {path: one.calls for path, one in found.items() if one.calls} == {"env_step": 1}


def test_a_task_that_goes_on_after_a_reset_hangs_on_nothing_that_was_forgotten(
    profiler: Profiler, clock: FakeClock
) -> None:
    task = contextvars.Context()
    with profiler.profile("outer"), profiler.profile("gone") as gone:
        task = contextvars.copy_context()
        clock.go(1)
    assert isinstance(gone, Call)
    profiler.reset()
    call = profiler.profile("late")
    task.run(call.__enter__)
    clock.go(1)
    task.run(call.__exit__, None, None, None)
    assert {path: one.busy for path, one in operations(profiler).items()} == {"late": SECOND}


def test_a_forked_child_does_not_record_for_its_parent() -> None:
    from maple.profiling import get_profiler, profile

    profiler = get_profiler()
    profiler.enable(system=False)
    try:
        child = os.fork()
        if child == 0:
            quiet = not profiler.enabled and profile("child") is NOTHING
            os._exit(0 if quiet else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert profiler.enabled
    finally:
        profiler.disable()
        profiler.reset()


def test_a_thread_that_is_called_like_a_role_is_a_place_of_its_own(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("env_step"):
        clock.go(1)
    with Actor("main-1") as actor:
        call = profiler.profile("log_write")
        actor.do(call.__enter__)
        clock.go(1)
        actor.do(partial(call.__exit__, None, None, None))
    assert [place.name for place in recorded(profiler).places] == ["main", "main, main"]
    assert "log_write" in profiler.summary()


def test_a_long_time_in_which_nobody_looked_is_covered_where_it_was(
    profiler: Profiler, clock: FakeClock
) -> None:
    clock.go(8)
    with profiler.profile("env_step"):
        clock.go(1)
    clock.go(20)
    found = operations(profiler)["env_step"]
    assert len(found.intervals) == 1
    assert (found.busy, found.covered, found.rough) == (SECOND, SECOND, False)
