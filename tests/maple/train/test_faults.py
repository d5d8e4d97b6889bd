"""What happens to a run when processes are killed, a disk is full, or a loss is no number."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import yaml

from maple.agents import load_checkpoint
from maple.train import crew
from maple.train.config import TrainConfig, plain
from maple.train.crew import WorkerCrew
from maple.train.errors import LossNotFinite, RunUnusable, WorkerFailed
from maple.train.interruption import Interruption
from maple.train.layout import lay_out
from maple.train.run_folder import RunFolder
from maple.train.status import Status
from maple.train.trainer import Trainer
from tests.conftest import is_controller

from .conftest import stage_of

Small = Callable[..., TrainConfig]

pytestmark = pytest.mark.timeout(240)


@contextmanager
def training(
    config: TrainConfig, show: Callable[[Status], None] = lambda status: None
) -> Iterator[Trainer]:
    trainer = Trainer(
        config, stage_of(config), lay_out(config), RunFolder.create(config), show=show
    )
    try:
        yield trainer
    finally:
        trainer.close()


# Processes that are killed


def test_a_worker_that_is_killed_is_replaced(small: Small) -> None:
    seen: list[Status] = []
    killed: list[int] = []

    def show(status: Status) -> None:
        seen.append(status)
        if len(seen) == 2:
            crew = trainer._crew
            assert isinstance(crew, WorkerCrew)
            os.kill(crew.pids[0], signal.SIGKILL)
            killed.append(crew.pids[0])

    with training(small(workers=2, decisions=1280), show) as trainer:
        trainer.run(Interruption())
    assert len(killed) == 1
    assert seen[-1].workers_lost == 1
    assert trainer.counters.decisions >= 1280


def test_a_worker_that_stops_is_as_dead_as_one_that_ended(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Status] = []
    bury = WorkerCrew._bury

    def bury_patiently(self: WorkerCrew, worker: Any) -> None:  # noqa: ANN401
        # Whoever takes its place may need longer to start.
        monkeypatch.undo()
        bury(self, worker)

    monkeypatch.setattr(WorkerCrew, "_bury", bury_patiently)

    def show(status: Status) -> None:
        seen.append(status)
        if len(seen) == 2:
            workers = trainer._crew
            assert isinstance(workers, WorkerCrew)
            os.kill(workers.pids[0], signal.SIGSTOP)
            monkeypatch.setattr(crew, "_MOST_SILENCE", 2.0)

    with training(small(workers=1, decisions=1280), show) as trainer:
        trainer.run(Interruption())
    assert seen[-1].workers_lost == 1
    assert trainer.counters.decisions >= 1280


def test_a_node_process_that_is_killed_costs_no_battle(small: Small) -> None:
    seen: list[Status] = []

    def show(status: Status) -> None:
        seen.append(status)
        if len(seen) == 2:
            [node] = [c for c in psutil.Process().children(recursive=True) if is_controller(c)]
            node.kill()

    with training(small(workers=1, decisions=1024), show) as trainer:
        trainer.run(Interruption())
    assert seen[-1].controllers_lost == 1
    assert seen[-1].cut_short == 0
    assert seen[-1].workers_lost == 0


def test_a_worker_that_never_comes_up_ends_the_run_and_says_why(small: Small) -> None:
    config = small(workers=1)
    stage = stage_of(config)
    broken = dataclasses.replace(stage, bridge=stage.bridge.replace(node="/nonexistent/node"))
    trainer = Trainer(config, broken, lay_out(config))
    try:
        with pytest.raises(WorkerFailed, match=r"nonexistent.*--workers 0"):
            trainer.run(Interruption())
    finally:
        trainer.close()


def write(config: TrainConfig, folder: Path) -> Path:
    file = folder / "train.yml"
    file.write_text(yaml.safe_dump(plain(config)), encoding="utf-8")
    return file


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "maple.train", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(folder: RunFolder, update: int) -> None:
    """Until a checkpoint of so many updates is there."""
    until = time.monotonic() + 100
    while not any(file.name >= f"update-{update:06d}" for file in folder.written()):
        assert time.monotonic() < until, "no checkpoint came"
        time.sleep(0.02)


def test_a_run_that_is_killed_leaves_no_process_and_goes_on_to_the_same_end(
    small: Small, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"synchronous": True, "decisions": 1536}
    with training(small(name="whole", workers=0, **settings)) as whole:
        whole.run(Interruption())
    config = small(name="killed", workers=1, **settings)
    folder = RunFolder(config.folder / "killed")
    with start("--config", str(write(config, tmp_path))) as run:
        wait_for(folder, 2)
        children = psutil.Process(run.pid).children(recursive=True)
        run.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert children
    assert not alive
    with start("--resume", str(folder.path)) as run:
        _, told = run.communicate(timeout=150)
    assert run.returncode == 0, told
    assert whole.folder is not None
    found = [load_checkpoint(one.latest) for one in (whole.folder, folder)]
    assert found[0].facts["updates"] == found[1].facts["updates"]
    for name, part in found[0].weights.items():
        assert part.equal(found[1].weights[name]), name


def test_ctrl_c_saves_says_how_to_go_on_and_leaves_nothing_running(
    small: Small, tmp_path: Path
) -> None:
    config = small(workers=1, decisions=10_000_000, checkpoints={"every": 1000})
    folder = RunFolder(config.folder / "one")
    run = start("--config", str(write(config, tmp_path)))
    until = time.monotonic() + 100
    while not folder.metrics.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    children = psutil.Process(run.pid).children(recursive=True)
    # As a terminal does it: to everybody.
    os.killpg(run.pid, signal.SIGINT)
    _, told = run.communicate(timeout=100)
    assert run.returncode == 130, told
    assert f"--resume {folder.path}" in told
    assert "Traceback" not in told
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    saved = load_checkpoint(folder.latest)
    assert saved.facts["updates"] >= 1
    assert "updates are in no checkpoint" not in told


# Disks and numbers


def test_a_full_disk_at_a_checkpoint_does_not_end_a_run(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system refuses what is larger than a limit, as a full one would."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    seen: list[Status] = []
    sizes: list[int] = []

    def show(status: Status) -> None:
        seen.append(status)
        files = folder.written()
        sizes.append(len(files))
        if len(seen) == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
        if len(seen) == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    config = small(workers=0, decisions=1280, checkpoints={"every": 1, "keep": 20})
    folder = RunFolder(config.folder / "one")
    try:
        with training(config, show) as trainer:
            trainer.run(Interruption())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    names = [int(re.findall(r"\d+", file.name)[0]) for file in folder.written()]
    assert 1 not in names
    assert 2 not in names
    assert 4 in names
    assert load_checkpoint(folder.latest).facts["updates"] == trainer.counters.updates
    assert not list(folder.checkpoints.glob(".*"))


def test_a_loss_that_is_no_number_ends_the_run_with_its_batch_saved(small: Small) -> None:
    with training(small(workers=0)) as trainer:
        trainer.update()
        gather = trainer._crew.gather

        def spoil(order: Any) -> Any:  # noqa: ANN401
            gathered = gather(order)
            gathered[0].rollout.rewards[gathered[0].rollout.known[0]] = np.nan
            return gathered

        trainer._crew.gather = spoil  # type: ignore[method-assign]
        with pytest.raises(LossNotFinite, match=r"bad-batch-000002\.npz"):
            trainer.update()
        assert trainer.folder is not None
        with np.load(trainer.folder.path / "bad-batch-000002.npz") as saved:
            assert np.isnan(saved["advantages"]).any()
            assert {"raw", "actions", "weights", "minibatch"} <= set(saved)


def test_two_processes_do_not_train_in_one_folder(small: Small) -> None:
    folder = RunFolder.create(small())
    other = RunFolder(folder.path)
    with folder.hold(), pytest.raises(RunUnusable, match="another process"), other.hold():
        pass


def test_a_run_is_not_begun_where_there_is_one(small: Small) -> None:
    RunFolder.create(small())
    with pytest.raises(RunUnusable, match="--resume"):
        RunFolder.create(small())
