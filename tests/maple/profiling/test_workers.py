"""Worker processes: what they record becomes part of the session, also if they are killed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import signal
import time
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from maple.profiling import (
    Profiler,
    ProfilingConfig,
    Session,
    WorkerProfiling,
    get_profiler,
    profile,
)
from maple.profiling.analysis import analyse
from maple.profiling.findings import find
from maple.profiling.renderers.page import render_page
from maple.profiling.renderers.text import render_summary
from maple.profiling.workers import _Part
from tests.maple.profiling.stage import row

SPAWN = multiprocessing.get_context("spawn")
CALLS = 50


def work(profiling: WorkerProfiling, done: Event | None = None) -> None:
    """What a worker does: some calls, and then, if it is told to, it stays."""
    with profiling.record("worker"):
        for _ in range(CALLS):
            with profile("env_parallel_execution"), profile("env_step"):
                pass
        if done is not None:
            while not any(b"env_step" in file.read_bytes() for file in _parts(profiling)):
                time.sleep(0.01)
            done.set()
            signal.pause()


def _parts(profiling: WorkerProfiling) -> list[Path]:
    # One that is being written has a name that begins with a point.
    return list(profiling.folder.glob("*/[0-9]*.json"))


def start(profiling: WorkerProfiling, done: Event | None = None) -> BaseProcess:
    process = SPAWN.Process(target=work, args=(profiling, done))
    process.start()
    return process


@pytest.mark.timeout(120)
def test_spawned_workers_become_part_of_the_session() -> None:
    profiler = Profiler(ProfilingConfig(sample_interval=0.02))
    profiler.enable()
    profiling = profiler.for_workers()
    with profiler.profile("training_total"):
        workers = [start(profiling) for _ in range(2)]
        for worker in workers:
            worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    profiler.disable()
    session = profiler.session("test")
    assert [part.role for part in session.processes] == ["main", "worker", "worker"]
    assert session.unfinished == []
    pids = {part.pid for part in session.processes}
    assert pids == {os.getpid(), *(worker.pid for worker in workers)}
    analysis = analyse(session)
    step = row(analysis, "env_parallel_execution/env_step")
    assert (step.place, step.calls) == ("worker × 2", 2 * CALLS)
    total = row(analysis, "training_total")
    assert total.place == "main"
    # They were recording inside of it, so its clock is theirs.
    assert total.covered is not None
    assert 0 < (row(analysis, "env_parallel_execution").covered or 0) < total.covered
    for place in analysis.timed:
        for depth in range(len(place.capacities)):
            assert sum(one.share for one in place.level(depth)) <= 1
    # Their memory was looked at as well, from here.
    assert {use.role for use in analysis.machine.processes} >= {"main", "worker"}


def act(profiling: WorkerProfiling, seen: Event) -> None:
    with profiling.record("actor"), profile("env_step"):
        assert seen.wait(60)


@pytest.mark.timeout(120)
def test_a_process_of_any_kind_is_called_in_the_system_as_it_calls_itself() -> None:
    profiler = Profiler(ProfilingConfig(sample_interval=60))
    profiler.enable()
    watch = profiler._watch
    assert watch is not None
    fork = multiprocessing.get_context("fork")
    seen = fork.Event()
    actor = fork.Process(target=act, args=(profiler.for_workers(), seen))
    actor.start()
    watch.look()
    seen.set()
    actor.join(60)
    assert actor.exitcode == 0
    profiler.disable()
    roles = {use.pid: use.role for use in analyse(profiler.session("test")).machine.processes}
    assert (roles[os.getpid()], roles[actor.pid or 0]) == ("main", "actor")


def test_a_worker_begins_anew_after_a_reset_of_the_session() -> None:
    session = Profiler()
    worker = Profiler(role="worker")
    part = _Part(session.for_workers().folder, worker)
    worker.enable(system=False)
    with worker.profile("warmup"):
        pass
    part.write()
    assert len(session.session("test").processes) == 2
    session.reset()
    assert len(session.session("test").processes) == 1
    part.write()
    with worker.profile("env_step"):
        pass
    part.write()
    found = session.session("test").processes[1].operations
    assert [operation.path for operation in found] == [("env_step",)]


def test_a_worker_whose_session_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    part = _Part(tmp_path / "gone", Profiler(role="worker"))
    part.write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(120)
def test_of_a_worker_that_is_killed_there_is_what_it_last_wrote_down() -> None:
    profiler = Profiler(ProfilingConfig(part_interval=0.05))
    profiler.enable(system=False)
    done = SPAWN.Event()
    worker = start(profiler.for_workers(), done)
    assert done.wait(60)
    worker.kill()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL
    session = profiler.session("test")
    assert [part.role for part in session.processes] == ["main", "worker"]
    assert row(analyse(session), "env_parallel_execution/env_step").calls > 0
    [part] = session.unfinished
    assert part.pid == worker.pid
    told = f"Of process {worker.pid} (worker) only the first"
    assert told in render_summary(analyse(session))
    assert told in render_page(analyse(session), find(analyse(session)))


@pytest.mark.timeout(120)
def test_a_worker_that_is_killed_before_it_tells_of_any_call_is_known_by_its_role() -> None:
    profiler = Profiler(ProfilingConfig(part_interval=60))
    profiler.enable()
    fork = multiprocessing.get_context("fork")
    never = fork.Event()
    profiling = profiler.for_workers()
    actor = fork.Process(target=act, args=(profiling, never))
    actor.start()
    while not _parts(profiling):
        time.sleep(0.01)
    profiler.disable()
    actor.kill()
    actor.join(60)
    session = profiler.session("test")
    assert [(part.role, part.pid) for part in session.unfinished] == [("actor", actor.pid)]
    assert "(actor)" in render_summary(analyse(session))


def test_the_parts_of_workers_go_with_the_profiler_and_with_a_reset() -> None:
    profiler = Profiler()
    folder = profiler.for_workers().folder
    (folder / "0" / "part.json").write_bytes(profiler.session("part").to_json())
    assert len(profiler.session("test").processes) == 2
    profiler.reset()
    assert len(profiler.session("test").processes) == 1
    assert folder.is_dir()
    del profiler
    gc.collect()
    assert not folder.exists()


def test_a_worker_that_outlives_who_wanted_to_know_leaves_no_file(tmp_path: Path) -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    folder = tmp_path / "parts"
    (folder / "0").mkdir(parents=True)
    part = _Part(folder, profiler)
    whole = profiler.own_session

    def gone(*arguments: Any, **named: Any) -> Session:
        shutil.rmtree(folder)
        return whole(*arguments, **named)

    with patch.object(profiler, "own_session", gone):
        part.write()
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_cannot_be_read_does_not_cost_the_others() -> None:
    profiler = Profiler()
    profiler.enable(system=False)
    profiling = profiler.for_workers()
    worker = start(profiling)
    worker.join(60)
    damaged = profiling.folder / "0" / "1-1.json"
    damaged.write_text("{")
    with capture_logs() as logs:
        session = profiler.session("test")
    assert [part.role for part in session.processes] == ["main", "worker"]
    [entry] = logs
    assert str(damaged) in entry["cause"]


def test_a_worker_in_the_process_that_wanted_to_know_is_recorded_with_all_else() -> None:
    profiler = get_profiler()
    profiler.enable(system=False)
    try:
        with profile("precious"):
            pass
        with profiler.for_workers().record("worker"), profile("env_step"):
            pass
        profiler.disable()
        with profiler.for_workers().record("worker"), profile("nobody_records_this"):
            pass
        [part] = profiler.session("test").processes
        assert [operation.path for operation in part.operations] == [("precious",), ("env_step",)]
    finally:
        profiler.disable()
        profiler.reset()
