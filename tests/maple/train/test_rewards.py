"""What is rewarded at any time of a run, and what is no reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridge.errors import ConfigError
from maple.train.rewards import RewardSchedules, load_reward_schedules


def test_what_is_not_given_keeps_its_default() -> None:
    rewards = RewardSchedules({"knock_out": 0.1})
    assert rewards.at(0) == rewards.at(1) == {"win": 1.0, "loss": -1.0, "knock_out": 0.1}


def test_a_weight_may_change_while_the_run_goes_on() -> None:
    rewards = RewardSchedules({"hp": {"start": 0.4, "end": 0.0, "until": 0.5}, "tie": 0.5})
    assert [rewards.at(progress)["hp"] for progress in (0, 0.25, 0.5, 1)] == [0.4, 0.2, 0, 0]
    assert [rewards.at(progress)["tie"] for progress in (0, 1)] == [0.5, 0.5]


def test_parts_are_those_that_count_at_any_time() -> None:
    """Also where they count nothing yet, or no longer: others are not even computed."""
    rewards = RewardSchedules(
        {
            "status": 0,
            "hp": {"start": 0.0, "end": 0.0},
            "fainted": {"start": -0.1, "end": 0.0},
            "turn": {"start": 0.0, "end": -0.01},
        }
    )
    assert rewards.parts == ("win", "loss", "fainted", "turn")
    assert rewards.at(0) == {"win": 1, "loss": -1, "fainted": -0.1, "turn": 0.0}
    assert rewards.at(1) == {"win": 1, "loss": -1, "fainted": 0.0, "turn": -0.01}


def test_a_win_or_a_loss_that_is_worth_nothing_is_not_worth_what_it_is_by_default() -> None:
    assert RewardSchedules({"win": 1, "loss": 0}).at(0.5) == {"win": 1, "loss": 0}


def test_they_are_read_from_a_file_as_from_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "reward.yml"
    file.write_text("win: 2\nhp: {start: 0.2, end: 0.1}\n", encoding="utf-8")
    read = load_reward_schedules(str(file))
    given = load_reward_schedules({"win": 2, "hp": {"start": 0.2, "end": 0.1}})
    assert read.at(0) == given.at(0) == {"win": 2.0, "loss": -1.0, "hp": 0.2}
    assert read.at(1) == given.at(1) == {"win": 2.0, "loss": -1.0, "hp": 0.1}


PROBLEMS = [
    ({"knockout": 1}, r"unknown part of a reward 'knockout'; did you mean 'knock_out'\?"),
    ({"hp": True}, "hp is True, but must be a number, or a schedule"),
    ({"hp": "much"}, "hp is 'much', but must be a number, or a schedule"),
    ({"hp": None}, "hp is None, but must be a number, or a schedule"),
    ({"hp": [1, 0]}, r"hp is \[1, 0\], but must be a number, or a schedule"),
    ({"hp": {"start": 1.0}}, "hp: end of a schedule must be given"),
    ({"hp": {"start": 1.0, "end": 0.0, "shpae": "linear"}}, "hp: .*did you mean 'shape'"),
    ({"hp": float("nan")}, "hp: .*finite"),
]


@pytest.mark.parametrize(("weights", "problem"), PROBLEMS)
def test_what_is_no_reward_is_refused_by_name(weights: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=f"^reward: {problem}"):
        load_reward_schedules(weights)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wni: 1\n", r"reward\.yml: unknown part of a reward 'wni'; did you mean 'win'"),
        ("win: {start: 1}\n", r"reward\.yml: win: end of a schedule"),
        ("- win\n", r"reward\.yml is not a mapping"),
        ("win: [\n", r"reward\.yml is not valid YAML"),
    ],
)
def test_a_file_with_no_reward_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "reward.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem):
        load_reward_schedules(str(file))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.yml: No such file"):
        load_reward_schedules(str(tmp_path / "none.yml"))
