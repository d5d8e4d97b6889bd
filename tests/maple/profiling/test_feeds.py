"""What the bridge has timed itself: real battles, and nothing timed twice."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from structlog.testing import capture_logs

from bridge import BridgeConfig, ControllerRegistry, InferenceQueue
from bridge.histogram import Histogram
from bridge.timing import PHASES, Trips
from bridge.workload import Workload, play_battles
from maple.env import VectorEnv
from maple.profiling import Profiler, ProfilingConfig, get_profiler
from maple.profiling.analysis import analyse, node_share
from maple.profiling.battles import battle_figures
from maple.profiling.findings import find
from maple.profiling.renderers.text import render_analysis
from tests.maple.profiling.sessions import typical_session
from tests.maple.profiling.stage import SECOND, FakeClock, recorded, row

_MILLISECOND = 1_000_000

COLD = BridgeConfig(warmup_battles=0)


def policy(features: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return torch.zeros((len(features), 10))


@pytest.mark.timeout(120)
def test_an_environment_brings_its_round_trips_its_queue_and_its_battles() -> None:
    profiler = get_profiler()
    with VectorEnv("gen1randombattle", 4, opponent=policy, pool=1, seed=5, bridge=COLD) as env:
        env.reset()  # Before anybody looks: this must not count.
        before = env.stats()["counters"]["decisions"]
        profiler.enable()
        try:
            with profiler.watch(env):
                observation, _ = env.reset()
                ended = steps = 0
                while ended < 40:
                    mask = observation["action_mask"]
                    observation, _, terminated, *_ = env.step(np.argmax(mask, axis=1))
                    ended += int(terminated.sum())
                    steps += 1
            profiler.disable()
            counted = env.stats()["counters"]["decisions"] - before
            session = profiler.session("test")
        finally:
            profiler.disable()
            profiler.reset()
    analysis = analyse(session)
    ipc, queue = analysis.fed
    assert (ipc.name, queue.name) == ("IPC", "inference queue")
    trips = [one for one in ipc.rows if one.depth == 0]
    for trip in trips:
        parts = ipc.children(trip)
        assert {part.name for part in parts} == {f"ipc_{phase}" for phase in PHASES}
        assert {part.calls for part in parts} == {trip.calls}
        # The phases are the whole of a trip.
        assert sum(part.busy for part in parts) == pytest.approx(trip.busy, rel=0.05)
    assert sum(one.share for one in trips) <= 1
    assert {one.category for one in ipc.rows} == {"IPC"}
    assert {one.name for one in queue.rows} == {
        "inference_queue_wait",
        "inference_batch_build",
        "inference_forward",
    }
    assert {one.category for one in queue.rows} == {"Inference"}
    assert sum(one.share for one in queue.rows) <= 1
    assert ipc.feed is not None
    assert 0 < (node_share(ipc.feed) or 0) <= 1
    figures = {figure.name: figure.value for figure in battle_figures(analysis)}
    assert figures["decisions"] == counted
    assert figures["battles"] == ended
    assert figures["turns a battle"] > 1
    assert figures["Node starts"] == 0
    assert 0 < figures["batch size"] <= 4
    # What was timed call by call is there besides, below what the user named.
    waiting = row(analysis, "env_step/env_wait")
    assert (waiting.calls > 0, waiting.category) == (True, "Waiting")
    assert row(analysis, "env_step/env_observation").calls == steps
    assert row(analysis, "env_reset").calls == 1
    text = render_analysis(analysis, find(analysis))
    assert "IPC lines to Node a turn" in text
    assert any(stage.name == "Node" for stage in find(analysis).stages)


async def test_a_registry_and_a_queue_can_be_watched_by_themselves(
    settings: BridgeConfig,
) -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    async with (
        InferenceQueue(lambda rows: rows) as queue,
        ControllerRegistry(settings) as registry,
    ):
        with profiler.watch(registry, "pool"), profiler.watch(queue, "queue"):
            await asyncio.gather(*(queue.submit(np.zeros(3)) for _ in range(6)))
            await play_battles(registry, Workload(2, 2, "gen1randombattle", 0))
    session = profiler.session("test")
    feeds = {feed.kind: feed for feed in session.processes[0].feeds}
    ipc, inference = feeds["ipc"], feeds["inference"]
    assert (ipc.kind, ipc.name, ipc.workers) == ("ipc", "pool", 1)
    assert ipc.counts["battles_ended"] == 2
    assert (inference.kind, inference.counts["rows"]) == ("inference", 6)
    assert inference.sizes["batch_size"]["max"] <= 6


async def test_what_is_watched_counts_from_a_reset_on_and_is_left_out_before_it_did_anything(
    settings: BridgeConfig,
) -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    async with InferenceQueue(lambda rows: rows) as queue:
        with profiler.watch(queue):
            await queue.submit(np.zeros(3))
            profiler.reset()
            assert analyse(profiler.session("test")).fed == ()
            await queue.submit(np.zeros(3))
            [feed] = profiler.session("test").processes[0].feeds
    assert feed.counts["rows"] == 1


@pytest.mark.parametrize(
    ("decisions", "ended", "told"), [(1000, 900, True), (1000, 1100, True), (1000, 890, False)]
)
def test_what_a_turn_took_is_told_of_battles_most_of_which_are_over(
    decisions: int, ended: int, told: bool
) -> None:
    session = typical_session()
    [part] = session.processes
    ipc, *others = part.feeds
    counts = {"decisions": decisions, "decisions_ended": ended, "battles_ended": 10, "turns": 200}
    ipc = msgspec.structs.replace(ipc, counts=counts | {"commands": 400, "frames": 600})
    part = msgspec.structs.replace(part, feeds=[ipc, *others])
    analysis = analyse(msgspec.structs.replace(session, processes=[part]))
    figures = {figure.name: figure.value for figure in battle_figures(analysis)}
    assert figures["turns a battle"] == 20
    of_turns = {"time a turn": 5e7, "IPC lines to Node a turn": 2, "IPC lines from Node a turn": 3}
    assert {name: figures[name] for name in of_turns if name in figures} == (
        of_turns if told else {}
    )


class Answering:
    """A registry that answers commands of a millisecond, which it keeps one by one."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._total = Histogram()
        self._kept: list[int] = []
        self._most = 0

    def answer(self, commands: int) -> None:
        for _ in range(commands):
            self._kept.append(self._clock.now)
            self._total.record(np.array([_MILLISECOND]))
            self._clock.now += _MILLISECOND

    def keep_trips(self, count: int) -> None:
        self._most = count

    def latest_trips(self) -> Trips:
        kept = self._kept[-self._most :] if self._most else []
        times = [_MILLISECOND // 2] * len(kept)
        return Trips(["play"] * len(kept), [1] * len(kept), kept, times, times)

    def stats(self) -> dict[str, Any]:
        total = self._total.summary() | {"hdr": self._total.encode()}
        return {
            "pool": {"size": 1, "rooms": 1},
            "counters": {},
            "traffic": {},
            "round_trips": {"play": {"total": total, "phases": {}}},
        }


def test_what_node_worked_on_is_kept_over_a_pause(profiler: Profiler, clock: FakeClock) -> None:
    registry = Answering(clock)
    with profiler.watch(registry):
        registry.answer(3)
        profiler.disable()
        registry.answer(5)
        profiler.enable(system=False)
        registry.answer(2)
        [feed] = profiler.session("test").processes[0].feeds
    [whole] = feed.operations
    assert whole.total is not None
    assert whole.total["count"] == 5
    assert feed.node_work is not None
    assert len(feed.node_work.start) == 5
    assert feed.node_work.start == sorted(feed.node_work.start)


def test_of_what_node_worked_on_the_latest_is_kept(clock: FakeClock) -> None:
    profiler = Profiler(ProfilingConfig(trace_calls=4), clock=clock)
    registry = Answering(clock)
    with profiler.watch(registry):
        for _ in range(3):
            profiler.enable(system=False)
            registry.answer(3)
            profiler.disable()
        [feed] = profiler.session("test").processes[0].feeds
        latest = registry.latest_trips().start
        [plain] = profiler.session("test", trace=False).processes[0].feeds
    assert plain.node_work is None
    assert feed.node_work is not None
    assert feed.node_work.start == latest


# Laps


class Counting:
    """A queue that tells what it was told to have done."""

    def __init__(self) -> None:
        self.rows = 0
        self._forward = Histogram()

    def work(self, rows: int, seconds: float) -> None:
        self.rows += rows
        self._forward.record(np.array([round(seconds * SECOND)]))

    def stats(self) -> dict[str, Any]:
        empty = Histogram().summary() | {"hdr": Histogram().encode()}
        forward = self._forward.summary() | {"hdr": self._forward.encode()}
        counts = {"rows": self.rows, "batches": self._forward.count, "failed_batches": 0}
        names = ("batch_size", "queue_wait", "batch_build")
        return counts | dict.fromkeys(names, empty) | {"forward": forward}


def laps_of(profiler: Profiler) -> list[tuple[int, int, int, tuple[int, int]]]:
    """How many laps, their seconds, rows, and forwards with their seconds."""
    [feed] = profiler.session("test").processes[0].feeds
    found = []
    for lap in feed.laps:
        count, total = lap.parts["queue"]["forward"]
        forwards = count, round(total / SECOND)
        found.append((lap.laps, round(lap.time / SECOND), lap.counts["rows"], forwards))
    return found


def test_each_lap_has_what_the_bridge_did_in_it(profiler: Profiler, clock: FakeClock) -> None:
    queue = Counting()
    queue.work(100, 1)
    with profiler.watch(queue):
        for rows, seconds in ((3, 1), (5, 2)):
            queue.work(rows, seconds)
            clock.go(seconds)
            profiler.lap()
        queue.work(7, 1)
        clock.go(1)
        assert laps_of(profiler) == [(1, 1, 3, (1, 1)), (1, 2, 5, (1, 2))]
    # What came after the last one is in none, as with everything else.
    assert laps_of(profiler) == [(1, 1, 3, (1, 1)), (1, 2, 5, (1, 2))]
    found = row(recorded(profiler), "inference_forward")
    assert (found.calls, len(found.laps)) == (3, 2)


def test_a_lap_goes_on_after_a_pause_which_is_no_part_of_it(
    profiler: Profiler, clock: FakeClock
) -> None:
    queue = Counting()
    with profiler.watch(queue):
        queue.work(3, 1)
        clock.go(1)
        profiler.disable()
        queue.work(1000, 9)
        clock.go(100)
        profiler.enable(system=False)
        queue.work(4, 1)
        clock.go(2)
        profiler.lap()
        assert laps_of(profiler) == [(1, 3, 7, (2, 2))]
        profiler.reset()
        queue.work(2, 1)
        clock.go(5)
        profiler.lap()
        assert laps_of(profiler) == [(1, 5, 2, (1, 1))]


def test_sources_of_one_name_keep_the_laps_of_all(profiler: Profiler, clock: FakeClock) -> None:
    for rows in (1, 2, 3):
        queue = Counting()
        with profiler.watch(queue, "evaluation"):
            queue.work(rows, 1)
            clock.go(1)
            profiler.lap()
    assert [lap[2] for lap in laps_of(profiler)] == [1, 2, 3]


def test_of_many_laps_neighbours_are_joined(profiler: Profiler, clock: FakeClock) -> None:
    for _ in range(2):
        queue = Counting()
        with profiler.watch(queue, "evaluation"):
            for _ in range(150):
                queue.work(2, 1)
                clock.go(1)
                profiler.lap()
    found = laps_of(profiler)
    assert len(found) <= 128
    assert sum(laps for laps, *_ in found) == 300
    assert all((seconds, rows) == (laps, 2 * laps) for laps, seconds, rows, _ in found)


def test_laps_that_come_by_themselves_ask_nobody(profiler: Profiler, clock: FakeClock) -> None:
    queue = Counting()
    with profiler.watch(queue):
        queue.stats = None  # type: ignore[assignment, method-assign]
        clock.go(1)
        profiler._mark()
        del queue.stats
    assert profiler.session("test").processes[0].laps[0].time == SECOND


# Sources that end


class Closable(Counting):
    """Tells nothing more once it is closed; keeps round trips as long as somebody wants them."""

    is_closed = False
    kept = 0

    def stats(self) -> dict[str, Any]:
        if self.is_closed:
            raise RuntimeError("the environment is closed")
        return super().stats()

    def keep_trips(self, count: int) -> None:
        if self.is_closed:
            raise RuntimeError("the environment is closed")
        self.kept = count

    def latest_trips(self) -> Trips:
        return Trips([], [], [], [], [])


def rows_of(profiler: Profiler) -> list[int]:
    return [feed.counts["rows"] for feed in profiler.session("test").processes[0].feeds]


def test_what_is_gone_when_the_profiler_is_turned_on_again_has_told_what_it_did_before(
    profiler: Profiler, clock: FakeClock
) -> None:
    queue = Closable()
    with capture_logs() as logs, profiler.watch(queue):
        queue.work(10, 1)
        clock.go(1)
        profiler.disable()
        queue.is_closed = True
        profiler.enable(system=False)
        clock.go(1)
        assert rows_of(profiler) == [10]
    assert rows_of(profiler) == [10]
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert "the environment is closed" in logs[0]["cause"]


def test_what_was_closed_while_the_profiler_was_off_is_released_without_an_error(
    profiler: Profiler, clock: FakeClock
) -> None:
    queue = Closable()
    source = profiler.watch(queue)
    queue.work(10, 1)
    clock.go(1)
    profiler.disable()
    queue.is_closed = True
    with capture_logs():
        source.close()
    assert rows_of(profiler) == [10]


def test_what_is_gone_at_a_reset_is_forgotten_too(profiler: Profiler, clock: FakeClock) -> None:
    queue = Closable()
    profiler.watch(queue)
    queue.work(10, 1)
    clock.go(1)
    profiler.lap()
    queue.is_closed = True
    with capture_logs():
        profiler.reset()
        clock.go(1)
        assert rows_of(profiler) == []


def test_a_reset_by_another_thread_asks_nobody(profiler: Profiler, clock: FakeClock) -> None:
    queue = Closable()
    profiler.watch(queue)
    queue.work(10, 1)
    clock.go(1)
    profiler.lap()
    queue.is_closed = True  # To whoever asks from there.
    profiler.reset(fresh=False)
    queue.is_closed = False
    queue.work(5, 1)
    clock.go(1)
    assert rows_of(profiler) == [5]


def test_other_settings_end_what_was_watched_with_those_before(
    profiler: Profiler, clock: FakeClock
) -> None:
    queue = Closable()
    source = profiler.watch(queue)
    queue.work(10, 1)
    clock.go(1)
    profiler.disable()
    profiler.configure(ProfilingConfig())
    profiler.enable(system=False)
    source.close()
    clock.go(1)
    assert rows_of(profiler) == []


def test_nothing_is_watched_twice_at_once(profiler: Profiler) -> None:
    queue = Closable()
    with profiler.watch(queue), pytest.raises(ValueError, match="is watched already"):
        profiler.watch(queue)
    assert queue.kept == 0
    with profiler.watch(queue):
        assert queue.kept > 0


def test_what_tells_nothing_is_not_watched(profiler: Profiler) -> None:
    with pytest.raises(TypeError, match="watched is what has `stats`"):
        profiler.watch(object())  # type: ignore[arg-type]
