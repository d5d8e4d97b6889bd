"""The trace: whole, on one clock, and with lanes in which everything nests."""

from __future__ import annotations

import itertools
import json
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from maple.profiling import Profiler, ProfilingConfig, Session, merge_sessions
from maple.profiling.renderers.trace import render_trace
from maple.profiling.session import NodeWork
from tests.maple.profiling.sessions import (
    EVIL,
    Task,
    empty_session,
    small_session,
    typical_session,
)
from tests.maple.profiling.stage import SECOND, FakeClock

Event = dict[str, Any]


def events_of(session: Session) -> list[Event]:
    """The events of a trace that keeps the rules of its format."""
    trace = json.loads(render_trace(session))
    events: list[Event] = trace["traceEvents"]
    lanes: dict[tuple[int, int], list[Event]] = defaultdict(list)
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert len({tid for _, tid in threads}) == len(threads)
    for event in events:
        assert event["ph"] in "MXCi"
        assert isinstance(event["name"], str)
        assert event["pid"] in named
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            lanes[event["pid"], event["tid"]].append(event)
        if event["ph"] == "C":
            assert all(isinstance(value, (int, float)) for value in event["args"].values())
    assert lanes.keys() <= threads
    for lane in lanes.values():
        assert_nests(lane)
    return events


def assert_nests(lane: list[Event]) -> None:
    open_ends: list[int] = []
    for event in sorted(lane, key=lambda event: (event["ts"], -event["dur"])):
        start, end = (round(1000 * time) for time in (event["ts"], event["ts"] + event["dur"]))
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1]
        open_ends.append(end)


def thread_names(events: list[Event], pid: int) -> list[str]:
    return [
        event["args"]["name"]
        for event in events
        if event["name"] == "thread_name" and event["pid"] == pid
    ]


def calls_by_lane(events: list[Event]) -> dict[str, list[str]]:
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    lanes: dict[str, list[str]] = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            lanes[names[event["pid"], event["tid"]]].append(event["name"])
    return lanes


def record(act: Callable[[Profiler, FakeClock], None], calls: int = 1000) -> Session:
    clock = FakeClock()
    profiler = Profiler(ProfilingConfig(trace_calls=calls), clock=clock)
    profiler.enable(system=False)
    act(profiler, clock)
    profiler.disable()
    return profiler.session("trace")


def test_calls_are_told_in_microseconds_since_the_session_began() -> None:
    events = events_of(small_session())
    calls = [event for event in events if event["ph"] == "X"]
    assert [(call["ts"], call["dur"]) for call in calls] == [(0, 1e6), (1e6, 1e6), (2e6, 1e6)]
    assert calls[0]["args"] == {"path": "env_step"}


def test_every_process_has_a_name_and_a_place() -> None:
    session = typical_session()
    pid = session.processes[0].pid
    events = events_of(session)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {
        pid: "main",
        pid + 1: "node",
        pid + 2: "node",
        pid + 3: "other",
        pid + 4: "GPU",
    }
    order = [e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"]
    assert order == list(range(5))
    assert thread_names(events, pid) == [
        *("MainThread", "MainThread (2)", "MainThread (3)"),
        *("writer", "writer (2)"),
    ]


def test_the_first_lane_of_a_main_thread_has_the_number_of_its_process() -> None:
    session = small_session()
    [call] = {event["tid"] for event in events_of(session) if event["ph"] == "X"}
    assert call == session.processes[0].pid


def test_tasks_side_by_side_have_lanes_of_their_own_with_their_children() -> None:
    lanes = calls_by_lane(events_of(typical_session()))
    for lane in ("MainThread", "MainThread (2)", "MainThread (3)"):
        assert lanes[lane][-2:] == ["policy_request", "policy_decode"]
    assert len(lanes["MainThread"]) == 4 * 6 + 2


def test_a_call_is_not_drawn_below_one_that_it_is_no_part_of() -> None:
    def act(profiler: Profiler, clock: FakeClock) -> None:
        one, other = Task(profiler), Task(profiler)
        one.begin("long")
        clock.go(1)
        other.begin("short")
        clock.go(1)
        other.end()
        one.end()

    assert calls_by_lane(events_of(record(act))) == {
        "MainThread": ["long"],
        "MainThread (2)": ["short"],
    }


def test_a_lane_is_used_again_when_it_is_free() -> None:
    def act(profiler: Profiler, clock: FakeClock) -> None:
        for _ in range(3):
            tasks = [Task(profiler), Task(profiler)]
            for task in tasks:
                task.begin("task")
                clock.go(1)
            for task in tasks:
                task.end()
                clock.go(1)

    assert calls_by_lane(events_of(record(act))) == {
        "MainThread": ["task"] * 3,
        "MainThread (2)": ["task"] * 3,
    }


def test_calls_that_took_no_time_nest_too() -> None:
    def act(profiler: Profiler, clock: FakeClock) -> None:
        with profiler.profile("outer"), profiler.profile("middle"):
            with profiler.profile("inner"):
                pass
            clock.go(1)
            with profiler.profile("inner"), profiler.profile("innermost"):
                pass

    lanes = calls_by_lane(events_of(record(act)))
    assert list(lanes) == ["MainThread"]
    assert sorted(lanes["MainThread"]) == ["inner", "inner", "innermost", "middle", "outer"]


def test_any_number_of_tasks_that_come_and_go_nest_in_their_lanes() -> None:
    def act(profiler: Profiler, clock: FakeClock) -> None:
        tasks = [Task(profiler) for _ in range(20)]
        depths = [0] * len(tasks)
        chance = random.Random(7)
        for _ in range(2000):
            number = chance.randrange(len(tasks))
            clock.go(0.001 * chance.randrange(13))
            if depths[number] < 3 and chance.random() < 0.5:
                tasks[number].begin(f"level_{depths[number]}")
                depths[number] += 1
            elif depths[number]:
                tasks[number].end()
                depths[number] -= 1

    session = record(act, calls=10_000)
    trace = session.processes[0].trace
    assert trace is not None
    assert sum(event["ph"] == "X" for event in events_of(session)) == len(trace.start)


def test_use_of_cpu_and_memory_is_told_as_counters() -> None:
    session = typical_session()
    pid = session.processes[0].pid
    counters: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for event in events_of(session):
        if event["ph"] == "C":
            counters[event["pid"], event["name"]].append((event["ts"], event["args"]["value"]))
    assert counters[pid, "CPU, % of a core"] == [(1e6 * second, 80.0) for second in range(10)]
    assert counters[pid, "memory, MB"][0] == (0, 401.0)
    # A process that was gone at the next look uses nothing any more, and one of which there was
    # but one look has no CPU time.
    assert counters[pid + 2, "CPU, % of a core"][-1] == (4e6 + 0.001, 0)
    assert counters[pid + 3, "CPU, % of a core"] == [(2e6 + 0.001, 0)]
    assert counters[pid + 4, "0: a GPU, busy %"][1] == (1e6, 10.0)
    assert counters[pid + 4, "0: a GPU, memory MB"][1] == (1e6, 100.0)


def test_torch_events_are_on_the_same_clock_on_threads_of_their_own() -> None:
    session = small_session()
    pid, epoch = session.processes[0].pid, session.machine.epoch
    since = session.processes[0].windows[0][0]

    def event(name: str, start: float, length: float, tid: int = 1, on: int = pid) -> Event:
        return {
            "name": name,
            "category": "cpu_op",
            "pid": on,
            "tid": tid,
            "start": epoch + since + round(start * SECOND),
            "duration": round(length * SECOND),
        }

    events = events_of(
        msgspec.structs.replace(
            session,
            torch_events=[
                event("aten::addmm", 0.5, 1),
                event("aten::mm", 0.6, 0.2),
                event("aten::relu", 1, 1, tid=2),
                event("kernel", 0, 1, on=0),
            ],
        )
    )
    lanes = calls_by_lane(events)
    assert lanes["torch 1"] == ["aten::addmm", "aten::mm"]
    assert lanes["torch 2"] == ["aten::relu"]
    assert lanes["torch"] == ["kernel"]
    [matrix] = [one for one in events if one["name"] == "aten::mm"]
    assert (matrix["ts"], matrix["dur"], matrix["cat"]) == (6e5, 2e5, "cpu_op")
    assert "torch, device 0" in [
        one["args"]["name"] for one in events if one["name"] == "process_name"
    ]


def test_calls_that_were_not_kept_are_told() -> None:
    def act(profiler: Profiler, clock: FakeClock) -> None:
        for _ in range(30):
            with profiler.profile("env_step"):
                clock.go(1)

    session = record(act, calls=10)
    events = events_of(session)
    [told] = [event for event in events if event["ph"] == "i"]
    assert told["name"] == "20 calls that ended before were not kept"
    assert told["ts"] == 20e6
    assert json.loads(render_trace(session))["otherData"]["calls_not_kept"] == 20


def test_commands_to_node_that_were_not_kept_are_told() -> None:
    session = typical_session()
    [part] = session.processes
    work = NodeWork(
        operation=["choose"],
        pid=[part.pid + 1],
        start=[1005 * SECOND],
        simulate=[1],
        node_encode=[1],
    )
    trips, *others = part.feeds
    feeds = [msgspec.structs.replace(trips, node_work=work), *others]
    part = msgspec.structs.replace(part, feeds=feeds)
    session = msgspec.structs.replace(session, processes=[part])
    [told] = [event for event in events_of(session) if event["ph"] == "i"]
    assert told["name"] == "39 commands to Node were not kept"
    assert told["ts"] == 5e6
    assert json.loads(render_trace(session))["otherData"]["commands_not_kept"] == 39


def test_parts_of_one_process_are_one_process() -> None:
    one = small_session()
    [part] = one.processes
    later = msgspec.structs.replace(part, windows=[(end, end + 1) for _, end in part.windows])
    twice = merge_sessions([one, msgspec.structs.replace(one, processes=[later])])
    events = events_of(twice)
    assert sum(event["name"] == "process_name" for event in events) == 1
    assert sum(event["ph"] == "X" for event in events) == 6


@pytest.mark.parametrize("session", [empty_session(), small_session(EVIL), typical_session(EVIL)])
def test_every_trace_keeps_the_rules(session: Session) -> None:
    events = events_of(session)
    starts = [event["ts"] for event in events if "ts" in event]
    assert not starts or min(starts) == 0
    assert all(isinstance(event.get("tid", 0), int) for event in events)
    assert len(set(itertools.chain(event["ph"] for event in events)) - set("MXCi")) == 0


def test_what_each_node_process_worked_on_is_on_a_track_of_its_own() -> None:
    session = typical_session()
    [part] = session.processes
    known, unknown = part.pid + 1, part.pid + 1000
    work = NodeWork(
        operation=["open", "choose", "choose"],
        pid=[known, known, unknown],
        start=[1001 * SECOND, 1002 * SECOND, 1002 * SECOND],
        simulate=[2_000_000] * 3,
        node_encode=[500_000] * 3,
    )
    trips, *others = part.feeds
    feeds = [msgspec.structs.replace(trips, node_work=work), *others]
    part = msgspec.structs.replace(part, feeds=feeds)
    events = events_of(msgspec.structs.replace(session, processes=[part]))
    for pid, operations in ((known, ["open", "choose"]), (unknown, ["choose"])):
        assert thread_names(events, pid) == ["commands"]
        drawn = [event for event in events if event["ph"] == "X" and event["pid"] == pid]
        assert [event["name"] for event in drawn if event["name"] != "encode"] == operations
        assert {event["dur"] for event in drawn} == {2500.0, 500.0}
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert (names[known], names[unknown]) == ("node", "node")
