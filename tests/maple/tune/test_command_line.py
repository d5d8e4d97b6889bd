"""`python -m maple.tune` as a user has it: real training, real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from maple.train.config import read_train_config
from maple.tune.command_line import main
from maple.tune.search import SETTINGS

pytestmark = pytest.mark.timeout(240)

SMALL = """\
format: gen1randombattle
network: {kind: mlp, hidden: [16]}
learning: {minibatch: 128}
parallel: 8
workers: 1
pool: 1
batch: 256
bridge: bridge.yml
minutes: 20
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "bridge.yml").write_text("warmup_battles: 0\n", encoding="utf-8")
    file = tmp_path / "train.yml"
    file.write_text(SMALL, encoding="utf-8")
    return file


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "maple.tune", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_best_settings_are_printed_as_yaml_that_a_run_takes(small: Path) -> None:
    with start(
        *("--config", str(small), "--seconds", "0.3", "--minutes", "0.1", "--only", "batch")
    ) as tuning:
        out, told = tuning.communicate(timeout=200)
    assert tuning.returncode == 0, told
    found = yaml.safe_load(out)
    assert list(found) == list(SETTINGS)
    read_train_config({**found, "minutes": 1})
    assert "gen1randombattle, mlp" in out
    header, first, *others = told.splitlines()
    assert header.split() == [*SETTINGS, "decisions/s"]
    assert first.split()[:3] == ["8", "1", "1"]
    assert float(first.split()[5].replace(",", "")) > 0
    assert others[-1].startswith("python -m maple.train … --parallel 8 ")


def test_ctrl_c_tells_what_was_best_and_leaves_nothing_running(small: Path) -> None:
    tuning = start("--config", str(small), "--seconds", "0.3", "--minutes", "60")
    assert tuning.stderr is not None
    lines = [tuning.stderr.readline() for _ in range(2)]
    assert "parallel" in lines[0]
    until = time.monotonic() + 100
    while not (children := psutil.Process(tuning.pid).children(recursive=True)):
        assert time.monotonic() < until
        time.sleep(0.01)
    # As a terminal does it: to everybody.
    os.killpg(tuning.pid, signal.SIGINT)
    out, told = tuning.communicate(timeout=100)
    assert tuning.returncode == 130, told
    assert "Traceback" not in told
    assert list(yaml.safe_load(out)) == list(SETTINGS)
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def test_settings_that_do_not_run_are_told_with_the_cause(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small.parent / "bridge.yml").write_text("node: /nonexistent/node\n", encoding="utf-8")
    assert main(["--config", str(small)]) == 1
    assert "/nonexistent/node" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--name", "one"], "--name changes nothing here: nothing is kept"),
        (["--paralell", "8"], "did you mean 'parallel'"),
        (["--config", "nowhere.yml"], "nowhere.yml"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err


def test_only_what_can_be_tuned_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "parallel,bacth"])
    assert "did you mean 'batch'" in capsys.readouterr().err
