"""`python -m maple.train` as a user has it: what it refuses, what it leaves, how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from maple.agents import load_checkpoint
from maple.train.command_line import main
from maple.train.config import TrainConfig, plain
from maple.train.run_folder import RunFolder

Small = Callable[..., TrainConfig]
Train = Callable[..., str]

pytestmark = pytest.mark.timeout(240)


def write(config: TrainConfig, file: Path) -> Path:
    file.write_text(yaml.safe_dump(plain(config)), encoding="utf-8")
    return file


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str]) -> Train:
    """What a run that comes to its end says."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        status = main(arguments)
        told = capsys.readouterr().err
        assert status == 0, told
        return told

    return run


def test_a_run_leaves_all_that_there_is_to_know_of_it(
    small: Small, tmp_path: Path, train: Train
) -> None:
    config = small(
        workers=1,
        tensorboard=True,
        evaluation={"battles": 4, "against": ["random"], "replays": 1},
    )
    file = write(config, tmp_path / "train.yml")
    told = train("--config", str(file), "--profile", "--profile-name", "first")
    folder = RunFolder(config.folder / "one")
    assert "1 thread of torch in each: as was asked for" in told
    assert "random: won" in told
    assert f"--resume {folder.path}" in told
    for path in (folder.log, folder.metrics, folder.curves, folder.best, folder.latest):
        assert path.stat().st_size > 0 or path == folder.log
    assert {file.suffix for file in folder.replays.rglob("*") if file.is_file()} >= {
        ".html",
        ".log",
    }
    assert list((folder.profile / "reports").glob("first_*"))
    assert list(folder.tensorboard.iterdir())


def test_settings_that_are_given_when_it_goes_on_stay(
    small: Small, tmp_path: Path, train: Train
) -> None:
    file = write(small(workers=0, decisions=256), tmp_path / "train.yml")
    train("--config", str(file))
    folder = RunFolder(tmp_path / "runs" / "one")
    train("--resume", str(folder.path), "--decisions", "1e3")
    assert folder.read_config({}).decisions == 1000
    assert load_checkpoint(folder.latest).facts["decisions"] >= 1000


def test_a_run_does_not_need_the_files_that_it_was_begun_with(
    small: Small, tmp_path: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "reward.yml").write_text("knock_out: 0.25\n", encoding="utf-8")
    (tmp_path / "conf" / "bridge.yml").write_text("warmup_battles: 0\n", encoding="utf-8")
    settings = {"reward": "reward.yml", "bridge": "bridge.yml", "folder": str(tmp_path / "runs")}
    data = plain(small(workers=0, decisions=256)) | settings
    file = tmp_path / "conf" / "train.yml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    train("--config", "conf/train.yml")
    (tmp_path / "conf").rename(tmp_path / "elsewhere")
    folder = tmp_path / "runs" / "one"
    assert RunFolder(folder).read_config({}).reward == {"knock_out": 0.25}
    monkeypatch.chdir(tmp_path.parent)
    train("--resume", str(folder), "--decisions", "512")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--opponents.mix", "randm"], "did you mean 'random'?"),
        (["--evaluation.against", "random,nobody"], "unknown opponent 'nobody'"),
        (["--device", "cuda:77"], "device is cuda:77, and torch says"),
        (["--format", "gen99ou"], "gen99ou"),
        (["--teams", "nowhere", "--format", "gen9ou"], "nowhere"),
        (["--paralell", "16"], "did you mean 'parallel'"),
        (["--episodes", "abc"], "episodes is 'abc', but must be a whole number or null"),
        (["--network.kind", "lstmm"], "network: kind is 'lstmm', but must be mlp or lstm or"),
        (["--synchronous", "maybe"], "synchronous is 'maybe', but must be true or false"),
        (["--opponents.stages", "random"], "must be a list"),
        (["--opponents.mix", "random:abc"], "the weight of random is 'abc'"),
    ],
)
def test_a_mistake_is_told_before_there_is_a_folder(
    small: Small,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
) -> None:
    file = write(small(), tmp_path / "train.yml")
    assert main(["--config", str(file), *arguments]) == 2
    [told] = capsys.readouterr().err.splitlines()
    assert problem in told
    assert "train.yml" not in told
    assert not (tmp_path / "runs").exists()


def test_a_checkpoint_that_observes_something_else_is_told_at_once(
    small: Small, tmp_path: Path, capsys: pytest.CaptureFixture[str], train: Train
) -> None:
    first = write(small(workers=0, decisions=256), tmp_path / "first.yml")
    train("--config", str(first))
    other: dict[str, Any] = {"name": "two", "format": "gen9randombattle"}
    second = write(
        small(**other, opponents={"mix": f"{tmp_path}/runs/one:1"}), tmp_path / "second.yml"
    )
    assert main(["--config", str(second)]) == 2
    assert f"{tmp_path}/runs/one: the network of this checkpoint" in capsys.readouterr().err


def test_a_run_that_cannot_go_on_like_that_can_go_on_as_it_was(
    small: Small, tmp_path: Path, capsys: pytest.CaptureFixture[str], train: Train
) -> None:
    file = write(small(workers=0, decisions=256), tmp_path / "train.yml")
    train("--config", str(file))
    folder = RunFolder(tmp_path / "runs" / "one")
    assert main(["--resume", str(folder.path), "--network.kind", "lstm"]) == 2
    assert "another network wants a run of its own" in capsys.readouterr().err
    told = train("--resume", str(folder.path), "--decisions", "512")
    assert "it goes on from update 1," in told
    assert f"--resume {folder.path} --decisions 1024" in told


@pytest.mark.parametrize("option", ["name", "folder"])
def test_a_run_goes_on_where_it_is(
    small: Small, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    folder = RunFolder.create(small())
    assert main(["--resume", str(folder.path), f"--{option}", "other"]) == 2
    assert f"--{option} changes nothing" in capsys.readouterr().err


def test_a_synchronous_run_of_short_battles_warns(
    small: Small, tmp_path: Path, train: Train
) -> None:
    config = small(workers=0, synchronous=True, checkpoints={"every": 1}, decisions=512)
    told = train("--config", str(write(config, tmp_path / "train.yml")))
    assert "few will come to their end" in told
