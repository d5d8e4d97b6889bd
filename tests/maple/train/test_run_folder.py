"""The folder of a run: what is written there, found again, held, and forgotten."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.errors import ConfigError
from maple.agents import CheckpointUnreadable
from maple.train.config import TrainConfig
from maple.train.errors import RunNotFound, RunUnusable
from maple.train.run_folder import RunFolder, write_whole

Small = Callable[..., TrainConfig]


# Writing


def test_a_file_takes_the_place_of_another_and_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "latest.txt"
    write_whole(file, "one, which is longer\n")
    write_whole(file, "Glurak, ポケモン\n")
    assert file.read_text(encoding="utf-8") == "Glurak, ポケモン\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    """The file system refuses what is larger than a limit, as a full one would."""
    file = tmp_path / "latest.txt"
    write_whole(file, "as it was\n")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    told = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_whole(file, "as it will not be\n" * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, told)
    assert file.read_text(encoding="utf-8") == "as it was\n"
    assert list(tmp_path.iterdir()) == [file]


# Beginning and finding


def as_kept(config: TrainConfig) -> TrainConfig:
    """With the copy of its file that a run has in its folder."""
    assert config.name is not None
    return dataclasses.replace(config, bridge=str(config.folder / config.name / "bridge.yml"))


def test_a_run_is_found_with_the_settings_it_was_begun_with(small: Small) -> None:
    config = small(name="first", learning={"rate": {"kind": "cosine", "start": 1e-3}})
    folder = RunFolder.create(config)
    assert folder.path == config.folder / "first"
    found = RunFolder.find(folder.path)
    assert found.path == folder.path
    assert found.read_config({}) == as_kept(config)


def test_a_run_without_a_name_has_that_of_the_moment_it_began(small: Small) -> None:
    folder = RunFolder.create(small(name=None))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{6}", folder.path.name)


def test_a_run_notes_what_it_depends_on(small: Small) -> None:
    folder = RunFolder.create(small())
    noted = json.loads((folder.path / "versions.json").read_text(encoding="utf-8"))
    assert noted["python"] == ".".join(map(str, sys.version_info[:3]))
    assert noted["packages"].keys() >= {"maple", "torch", "numpy"}
    assert noted["observation"]["hash"]


def test_a_run_that_was_begun_is_not_begun_anew(small: Small) -> None:
    folder = RunFolder.create(small())
    with pytest.raises(RunUnusable, match=f"--resume {re.escape(str(folder.path))}"):
        RunFolder.create(small(decisions=2048))
    assert folder.read_config({}) == as_kept(small())


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(
    small: Small, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("no folder", encoding="utf-8")
    with pytest.raises(RunUnusable, match=r"cannot write to .*runs/one: Not a directory"):
        RunFolder.create(small())


def test_a_folder_without_settings_has_no_run(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RunNotFound, match=r"there is no run in .*: it has no config\.yml"):
            RunFolder.find(path)


# The settings of a run that goes on


def test_what_is_in_files_is_kept_as_it_was_and_where_the_run_is(
    small: Small, tmp_path: Path
) -> None:
    reward, teams = tmp_path / "reward.yml", tmp_path / "teams"
    reward.write_text("hp: {start: 0.2, end: 0.1}\n", encoding="utf-8")
    teams.mkdir()
    (teams / "one.txt").write_text("Pikachu", encoding="utf-8")
    first = RunFolder.create(small(reward=str(reward), teams=str(teams)))
    for file in (reward, teams / "one.txt", tmp_path / "bridge.yml"):
        file.write_text("win: 2", encoding="utf-8")
    moved = RunFolder(first.path.rename(tmp_path / "moved"))
    config = moved.read_config({})
    assert config.reward == {"hp": {"start": 0.2, "end": 0.1}}
    assert config.teams == str(moved.path / "teams")
    assert (moved.path / "teams" / "one.txt").read_text(encoding="utf-8") == "Pikachu"
    assert config.bridge == str(moved.path / "bridge.yml")
    assert "warmup" in (moved.path / "bridge.yml").read_text(encoding="utf-8")


def test_settings_that_a_run_went_on_with_are_those_it_goes_on_with_again(small: Small) -> None:
    folder = RunFolder.create(small())
    changed = folder.read_config({"decisions": 4096})
    folder.write_config(changed)
    assert folder.read_config({}) == changed == as_kept(small(decisions=4096))


def test_settings_that_are_given_count_more_than_those_it_was_begun_with(small: Small) -> None:
    folder = RunFolder.create(small())
    config = folder.read_config({"decisions": 4096, "learning": {"rate": 1e-4}})
    assert (config.decisions, config.learning.rate) == (4096, 1e-4)
    assert config.learning.minibatch == 128
    assert folder.read_config({}) == as_kept(small())


def test_settings_that_make_no_sense_are_refused_with_the_file(small: Small) -> None:
    folder = RunFolder.create(small())
    with pytest.raises(ConfigError, match=r"one/config\.yml: learning: unknown setting 'raet'"):
        folder.read_config({"learning": {"raet": 1e-4}})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not a mapping"),
        (b"- decisions\n", "is not a mapping"),
        (b"\0" * 100, "cannot read"),
        (b"decisions: \xff\xfe\n", "cannot read"),
        (b"learning: {rate: 1.0e-3, minib", "cannot read"),
    ],
)
def test_settings_that_are_damaged_are_told_with_the_file(
    small: Small, content: bytes, problem: str
) -> None:
    folder = RunFolder.create(small())
    (folder.path / "config.yml").write_bytes(content)
    with pytest.raises(RunUnusable, match=problem) as told:
        folder.read_config({})
    assert str(folder.path / "config.yml") in told.value.message


def test_settings_that_are_gone_are_told_with_the_file(small: Small) -> None:
    folder = RunFolder.create(small())
    (folder.path / "config.yml").unlink()
    with pytest.raises(RunUnusable, match=r"cannot read .*config\.yml"):
        folder.read_config({})


# One process at a time

HOLD = """
import sys
from pathlib import Path
from maple.train.run_folder import RunFolder

with RunFolder(Path(sys.argv[1])).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_held_by_one_process_until_it_lets_go_or_dies(small: Small) -> None:
    folder = RunFolder.create(small())
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunUnusable, match=f"training in {re.escape(str(folder.path))}"):
            hold_once(folder)
        other.kill()
    hold_once(folder)
    hold_once(RunFolder(folder.path))


def test_a_run_that_fails_lets_go_of_its_folder(small: Small) -> None:
    folder = RunFolder.create(small())
    with pytest.raises(ZeroDivisionError), folder.hold():
        _ = 1 / 0
    hold_once(RunFolder(folder.path))


def hold_once(folder: RunFolder) -> None:
    with folder.hold():
        pass


# Checkpoints


def with_checkpoints(small: Small, *updates: int) -> RunFolder:
    folder = RunFolder.create(small())
    for update in updates:
        folder.checkpoint(update).touch()
    return folder


def test_checkpoints_are_sorted_by_their_updates(small: Small) -> None:
    folder = with_checkpoints(small, 1_000_000, 25, 999_999)
    (folder.checkpoints / "update-new.pt").touch()
    (folder.checkpoints / ".update-000030.pt.partial").touch()
    assert folder.written() == [folder.checkpoint(n) for n in (25, 999_999, 1_000_000)]
    assert folder.oldest == 25


def test_the_latest_are_kept_and_the_best_and_what_is_none(small: Small) -> None:
    folder = with_checkpoints(small, 25, 50, 75, 999_999, 1_000_000)
    kept = [folder.best, folder.checkpoints / "update-mine.pt"]
    for file in kept:
        file.touch()
    folder.forget_all_but(2, until=1_000_000)
    last = [folder.checkpoint(n) for n in (999_999, 1_000_000)]
    assert sorted(folder.checkpoints.iterdir()) == sorted([*kept, *last])
    assert folder.oldest == 999_999
    folder.forget_all_but(5, until=1_000_000)
    assert folder.written() == last


def test_checkpoints_after_one_that_the_run_has_gone_on_from_are_not_kept(small: Small) -> None:
    folder = with_checkpoints(small, 25, 50, 75, 100, 125)
    folder.forget_all_but(2, until=75)
    assert folder.written() == [folder.checkpoint(50), folder.checkpoint(75)]


def test_a_run_that_has_no_checkpoint_has_no_latest_and_no_oldest(
    small: Small, tmp_path: Path
) -> None:
    for folder in (RunFolder(tmp_path / "nowhere"), RunFolder.create(small())):
        assert folder.written() == []
        assert folder.oldest == 0
        with pytest.raises(CheckpointUnreadable):
            _ = folder.latest


def test_a_run_goes_on_from_the_checkpoint_it_points_to(small: Small) -> None:
    """Not from the best, nor from one that was written and not yet pointed to."""
    folder = with_checkpoints(small, 25, 50)
    folder.best.touch()
    folder.point_to(folder.checkpoint(25))
    assert RunFolder.find(folder.path).latest == folder.checkpoint(25)
    folder.point_to(folder.checkpoint(50))
    assert folder.latest == folder.checkpoint(50)


def test_teams_may_be_a_part_of_those_it_was_begun_with(small: Small, tmp_path: Path) -> None:
    (tmp_path / "teams" / "rain").mkdir(parents=True)
    (tmp_path / "teams" / "rain" / "one.txt").write_text("one", encoding="utf-8")
    folder = RunFolder.create(small(teams=str(tmp_path / "teams")))
    kept = folder.path / "teams"
    folder.write_config(folder.read_config({"teams": str(kept / "rain")}))
    assert [file.name for file in kept.iterdir()] == ["one.txt"]
    with pytest.raises(RunUnusable, match="cannot write"):
        folder.write_config(folder.read_config({"teams": str(tmp_path / "nowhere")}))
    assert [file.name for file in kept.iterdir()] == ["one.txt"]
