"""Worker processes: what they record becomes part of the session, also if they are killed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from maple.profiling import Profiler, ProfilingConfig, WorkerProfiling, profile
from maple.profiling.analysis import analyse
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
            while not list(profiling.folder.rglob("*.json")):
                time.sleep(0.01)
            done.set()
            signal.pause()


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
