"""How a run divides a machine: processes, and threads of torch by a rule."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from maple.train import threads
from maple.train.config import read_train_config
from maple.train.layout import Layout, lay_out
from maple.train.processes import inherited
from maple.train.threads import Threads, choose_threads, set_environment


def layout(cores: int, **settings: Any) -> Layout:
    return lay_out(read_train_config({"decisions": 1, **settings}), cores)


@pytest.fixture(autouse=True)
def as_many_cores_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "physical_cores", lambda: 8)


def test_half_of_the_cores_have_a_worker_and_all_of_them_a_node_process() -> None:
    assert layout(8)[:2] == (4, 8)
    assert layout(1)[:2] == (1, 1)
    assert layout(3)[:2] == (1, 3)


def test_what_is_given_counts_more_and_nobody_is_without_work() -> None:
    assert layout(8, workers=2, pool=3)[:2] == (2, 3)
    # A worker has a Node process at least, and a battle.
    assert layout(8, workers=6, pool=3)[:2] == (6, 6)
    assert layout(8, parallel=2)[:2] == (2, 2)
    assert layout(8, workers=0)[:2] == (0, 8)


def test_it_says_what_was_chosen_and_why() -> None:
    assert str(layout(8, workers=1, pool=1, threads=3)) == (
        "1 process plays, with 1 Node process; 3 threads of torch in each: as was asked for"
    )


@pytest.mark.parametrize(("processes", "count"), [(1, 8), (2, 4), (3, 2), (8, 1), (20, 1)])
def test_cores_are_divided_among_those_who_compute(processes: int, count: int) -> None:
    assert choose_threads(processes, cores=8).count == count


def test_what_libraries_look_at_is_set_before_torch_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "77")
    set_environment(Threads(3, "for a test"))
    assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "3"
    code = (
        "import sys; from maple.train.threads import Threads, use_threads; "
        "assert 'torch' not in sys.modules; use_threads(Threads(3, '')); import torch; "
        "print(torch.get_num_threads(), torch.get_num_interop_threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "1"]


def test_a_child_is_told_by_its_environment_which_is_then_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "77")
    with inherited(Threads(2, "for a test")):
        assert os.environ["OMP_NUM_THREADS"] == "2"
    assert os.environ["OMP_NUM_THREADS"] == "77"
