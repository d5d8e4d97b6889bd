"""Long runs in which something dies all the time."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise

import psutil
import pytest

from maple.agents import load_checkpoint
from maple.train.config import TrainConfig
from maple.train.interruption import Interruption
from maple.train.layout import lay_out
from maple.train.run_folder import RunFolder
from maple.train.status import Status
from maple.train.trainer import Trainer
from tests.conftest import is_controller

from .conftest import stage_of

Small = Callable[..., TrainConfig]

MINUTES = 4.0
SECONDS_BETWEEN_DEATHS = 5.0


@contextmanager
def killing(seed: int) -> Iterator[list[bool]]:
    """Kills a worker or a Node process now and then; of each whether it was a Node process."""
    killed: list[bool] = []
    is_over = threading.Event()
    drawn = random.Random(seed)

    def kill() -> None:
        while not is_over.wait(drawn.uniform(0, 2 * SECONDS_BETWEEN_DEATHS)):
            children = psutil.Process().children(recursive=True)
            # Python's own resource tracker is none of ours.
            ours = [c for c in children if is_controller(c) or "spawn_main" in " ".join(_words(c))]
            if not ours:
                continue
            victim = drawn.choice(ours)
            with suppress(psutil.NoSuchProcess):
                is_node = is_controller(victim)
                victim.kill()
                killed.append(is_node)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_run_goes_on_whatever_dies_and_nothing_piles_up(small: Small) -> None:
    config = small(
        workers=2,
        pool=2,
        parallel=32,
        batch=512,
        decisions=10**9,
        minutes=MINUTES,
        tensorboard=True,
        opponents={"mix": "self:0.5,random:0.2,league:0.3", "league_every": 5, "league_size": 4},
        checkpoints={"every": 5, "keep": 2, "window": 20},
    )
    own = psutil.Process()
    seen: list[Status] = []
    looks: list[tuple[int, int, int]] = []

    def show(status: Status) -> None:
        seen.append(status)
        looks.append((own.memory_info().rss, own.num_fds(), own.num_threads()))

    folder = RunFolder.create(config)
    trainer = Trainer(config, stage_of(config), lay_out(config), folder, show=show)
    try:
        with killing(seed=11) as killed:
            trainer.run(Interruption())
    finally:
        trainer.close()
    last = seen[-1]
    assert len(killed) > 20
    assert last.workers_lost > 3
    # Those that died with their worker are in nobody's count.
    assert 0 < last.controllers_lost <= sum(killed)
    assert last.counters.seconds > 55 * MINUTES
    decided = [status.counters.decisions for status in seen]
    assert all(low < high for low, high in pairwise(decided))
    assert load_checkpoint(folder.latest).facts["updates"] == last.counters.updates
    # The league, and those who have left it since the oldest checkpoint.
    assert len(list(folder.league.iterdir())) <= 4 + 4
    early, late = looks[len(looks) // 3], looks[-1]
    assert late[0] < 1.25 * early[0]
    assert late[1] <= early[1] + 8
    assert late[2] <= early[2] + 2
