"""Teams from files and folders, and how often each is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import ConfigError
from maple.env.team_files import read_teams

from .hands import TEAM


def test_a_file_is_one_team(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(f"\n{TEAM}\n", encoding="utf-8")
    found = read_teams(file)
    assert (found.names, found.teams, found.weights) == (("mine.txt",), (TEAM,), (1.0,))


def test_a_folder_is_several_and_says_how_often_each_is_drawn(tmp_path: Path) -> None:
    for name in ("b.packed", "a.team", "c.txt", "notes.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "weights.yml").write_text("c.txt: 2.5\n", encoding="utf-8")
    found = read_teams(tmp_path)
    assert found.names == ("a.team", "b.packed", "c.txt")
    assert found.weights == (1.0, 1.0, 2.5)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ("d.txt: 1", "there is no team 'd.txt'; did you mean 'c.txt'"),
        ("c.txt: 0", "the weight of c.txt is 0, but must be more than 0"),
        ("c.txt: much", "the weight of c.txt is 'much'"),
    ],
)
def test_weights_that_make_no_sense_are_refused(tmp_path: Path, weights: str, problem: str) -> None:
    (tmp_path / "c.txt").write_text(TEAM, encoding="utf-8")
    (tmp_path / "weights.yml").write_text(weights, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        read_teams(tmp_path)


def test_where_there_is_no_team_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no team in"):
        read_teams(tmp_path)
    with pytest.raises(ConfigError, match="No such file"):
        read_teams(tmp_path / "nothing.txt")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ConfigError, match="it is empty"):
        read_teams(tmp_path)
