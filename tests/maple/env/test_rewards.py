"""Rewards: what each part counts, step by step, and what the file of weights says."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import docstring_parser
import numpy as np
import numpy.typing as npt
import pytest
import yaml

from bridge.errors import ConfigError
from maple.env import Outcome, RewardConfig, Rewards, load_reward_config
from tests.maple.env.rows import SPEC, random_rows, write

FILE = Path(__file__).resolve().parents[3] / "config" / "reward.yml"
NAMES = [part.name for part in fields(RewardConfig)]
EVERY = RewardConfig(**dict.fromkeys(NAMES, 1.0))
STATUSES = SPEC.classes["statuses"]
Rows = npt.NDArray[np.uint8]


def quiet(game: str = "singles", rows: int = 1) -> Rows:
    """A battle in which everybody is healthy and nobody of the opponent's was seen."""
    raw = np.zeros((rows, SPEC.layout(game).bytes), np.uint8)
    write(raw, SPEC.layout(game).block("decision", "asked"), 0, "phase", 1)
    for group in ("own_team", "opponent_team"):
        for entry in range(6):
            settle(raw, group, entry, hp=255, seen=group == "own_team", game=game)
    return raw


def settle(
    raw: Rows,
    group: str,
    entry: int,
    *,
    hp: int,
    status: str = "none",
    seen: bool = True,
    game: str = "singles",
) -> None:
    block = SPEC.layout(game).block(group, "condition")
    write(raw, block, entry, "hp", hp)
    write(raw, block, entry, "status", STATUSES.index(status))
    write(raw, block, entry, "revealed", int(seen))


def count(
    before: Rows, after: Rows, outcome: Outcome = Outcome.ONGOING, action: int = 6
) -> dict[str, float]:
    """Every part of one step that is not 0, the count of decisions aside."""
    rewards = Rewards(EVERY, "singles", 9)
    [parts] = rewards.parts(before, after, np.array([outcome]), np.array([action]))
    named = dict(zip(rewards.names, parts.tolist(), strict=True))
    assert named.pop("turn") == 1
    return {name: value for name, value in named.items() if value}


# What is counted


def test_nothing_is_counted_where_nothing_happened() -> None:
    assert count(quiet(), quiet()) == {}


@pytest.mark.parametrize("outcome", [Outcome.WIN, Outcome.LOSS, Outcome.TIE])
def test_the_end_of_a_battle_counts_as_what_it_was(outcome: Outcome) -> None:
    assert count(quiet(), quiet(), outcome) == {outcome.name.lower(): 1}


def test_an_opponent_that_faints_counts_with_the_hp_that_it_had() -> None:
    before, after = quiet(), quiet()
    settle(before, "opponent_team", 1, hp=51)
    settle(after, "opponent_team", 1, hp=0, status="fnt")
    assert count(before, after) == pytest.approx({"knock_out": 1, "hp": 0.2})


def test_an_own_one_that_faints_counts_against_oneself() -> None:
    before, after = quiet(), quiet()
    settle(after, "own_team", 5, hp=0, status="fnt")
    assert count(before, after) == pytest.approx({"fainted": 1, "hp": -1})


def test_a_pokemon_that_comes_in_for_the_first_time_had_all_its_hp() -> None:
    before, after = quiet(), quiet()
    settle(before, "opponent_team", 0, hp=0, status="unknown", seen=False)
    settle(after, "opponent_team", 0, hp=204)
    assert count(before, after) == pytest.approx({"hp": 0.2})


def test_healing_counts_against_the_one_who_is_not_healed() -> None:
    before, after = quiet(), quiet()
    settle(before, "opponent_team", 0, hp=100)
    settle(after, "opponent_team", 0, hp=151)
    settle(before, "own_team", 0, hp=100)
    settle(after, "own_team", 0, hp=202)
    assert count(before, after) == pytest.approx({"hp": 0.2})


@pytest.mark.parametrize("status", ["brn", "par", "slp", "frz", "psn", "tox"])
def test_a_status_counts_for_the_one_who_does_not_have_it(status: str) -> None:
    before, after = quiet(), quiet()
    settle(after, "opponent_team", 0, hp=255, status=status)
    settle(after, "opponent_team", 1, hp=255, status=status)
    assert count(before, after) == {"status": 2}
    assert count(after, before) == {"status": -2}
    settle(after, "own_team", 2, hp=255, status=status)
    assert count(before, after) == {"status": 1}


def test_what_is_revived_takes_its_reward_back() -> None:
    before, after = quiet(), quiet()
    settle(before, "opponent_team", 3, hp=0, status="fnt")
    settle(after, "opponent_team", 3, hp=128)
    assert count(before, after) == pytest.approx({"knock_out": -1, "hp": -128 / 255})


@pytest.mark.parametrize(("phase", "counted"), [("move", 1), ("switch", 0), ("preview", 0)])
def test_a_switch_counts_where_one_could_have_stayed(phase: str, counted: int) -> None:
    before = quiet()
    write(
        before,
        SPEC.layout("singles").block("decision", "asked"),
        0,
        "phase",
        SPEC.classes["phases"].index(phase),
    )
    assert count(before, quiet(), action=3) == ({"switch": 1} if counted else {})
    assert count(before, quiet(), action=6) == {}


def failing(game: str, flags: list[int], phase: str = "move") -> Rows:
    """A battle in which the last moves of some places have failed, our own first."""
    raw = quiet(game)
    layout = SPEC.layout(game)
    write(raw, layout.block("decision", "asked"), 0, "phase", SPEC.classes["phases"].index(phase))
    for place, flag in enumerate(flags):
        write(raw, layout.block("last_moves", "state"), place, "failed", flag)
    return raw


@pytest.mark.parametrize(
    ("before", "phase", "after", "counted"),
    [
        ([0, 0], "move", [1, 0], 1),
        ([0, 0], "move", [0, 1], 0),
        # Once more: the one before was counted where it was told first.
        ([1, 0], "move", [1, 0], 1),
        ([1, 0], "move", [0, 0], 0),
        # It failed and fainted, and somebody comes in for it in the same turn.
        ([1, 0], "switch", [1, 0], 0),
        ([1, 0], "switch", [0, 0], 0),
    ],
)
def test_a_move_that_fails_counts_once(
    before: list[int], phase: str, after: list[int], counted: int
) -> None:
    counts = count(failing("singles", before, phase), failing("singles", after))
    assert counts == ({"failed": counted} if counted else {})


def test_both_places_in_doubles_can_fail_and_the_second_after_the_first_has_left() -> None:
    rewards = Rewards(RewardConfig(win=0, loss=0, failed=-1), "doubles", 9)
    steps = [
        (failing("doubles", [0, 0, 1, 1]), failing("doubles", [1, 1, 0, 0])),
        (failing("doubles", [1, 0, 0, 0], "switch"), failing("doubles", [1, 1, 0, 0])),
        (failing("doubles", [1, 0, 0, 0], "switch"), failing("doubles", [0, 1, 0, 0])),
    ]
    before, after = (np.concatenate(rows) for rows in zip(*steps, strict=True))
    parts = rewards.parts(before, after, np.zeros(3, int), np.zeros((3, 2), int))
    assert parts.tolist() == [[2], [1], [0]]


def test_both_places_in_doubles_can_switch() -> None:
    rewards = Rewards(RewardConfig(win=0, loss=0, switch=-0.5), "doubles", 9)
    raw = quiet("doubles", 3)
    actions = np.array([[1, 2], [0, 6], [7, 100]])
    parts = rewards.parts(raw, raw, np.zeros(3, int), actions)
    assert (rewards.names, parts.tolist()) == (("switch",), [[2], [1], [0]])
    assert rewards.weighted(parts).sum(axis=1).tolist() == [-1, -0.5, 0]


@pytest.mark.parametrize("game", ["singles", "doubles"])
def test_parts_are_counted_row_by_row(game: str) -> None:
    rewards = Rewards(EVERY, game, 9)
    length = SPEC.layout(game).bytes
    before, after = random_rows(game, length, 30, seed=1), random_rows(game, length, 30, seed=2)
    random = np.random.default_rng(3)
    outcome = random.integers(0, 4, 30)
    action = random.integers(0, 26, (30, 2) if game == "doubles" else 30)
    together = rewards.parts(before, after, outcome, action)
    alone = [
        rewards.parts(before[[i]], after[[i]], outcome[[i]], action[[i]])[0] for i in range(30)
    ]
    assert together.dtype == np.float32
    assert np.array_equal(together, np.stack(alone))
    assert np.allclose(rewards.weighted(together).sum(axis=1), together.sum(axis=1), atol=1e-5)


def test_hp_and_faints_of_a_battle_add_up_however_many_steps_it_took() -> None:
    rewards = Rewards(RewardConfig(hp=1, knock_out=1, fainted=1, status=1), "singles", 9)
    length = SPEC.layout("singles").bytes
    rows = random_rows("singles", length, 21)
    zeros = np.zeros(20, int)
    steps = rewards.parts(rows[:-1], rows[1:], zeros, zeros)
    whole = rewards.parts(rows[:1], rows[-1:], zeros[:1], zeros[:1])
    assert np.allclose(steps.sum(axis=0), whole[0], atol=1e-4)


# What counts


def test_by_default_only_winning_and_losing_count() -> None:
    rewards = Rewards(RewardConfig(), "singles", 9)
    assert (rewards.names, rewards.groups) == (("win", "loss"), ("decision",))
    raw = random_rows("singles", SPEC.layout("singles").bytes, 4)
    outcomes = np.array([Outcome.ONGOING, Outcome.WIN, Outcome.LOSS, Outcome.TIE])
    parts = rewards.parts(raw, raw[::-1], outcomes, np.zeros(4, int))
    assert rewards.weighted(parts).sum(axis=1).tolist() == [0, 1, -1, 0]
    assert repr(rewards) == "<Rewards: win 1, loss -1>"


@pytest.mark.parametrize(
    ("part", "groups"),
    [
        ("hp", {"own_team", "opponent_team"}),
        ("status", {"own_team", "opponent_team"}),
        ("knock_out", {"opponent_team"}),
        ("fainted", {"own_team"}),
        ("switch", set()),
        ("failed", {"last_moves"}),
    ],
)
def test_rewards_name_the_groups_that_they_are_counted_from(part: str, groups: set[str]) -> None:
    rewards = Rewards(RewardConfig(**{part: 0.1}), "singles", 9)
    assert set(rewards.groups) == groups | {"decision"}
    length = SPEC.layout("singles").bytes
    before, after = (random_rows("singles", length, 50, seed=seed) for seed in (1, 2))
    arguments = (np.zeros(50, int), np.zeros(50, int))
    expected = rewards.parts(before, after, *arguments)
    for block in SPEC.layout("singles").blocks:
        if block.group not in rewards.groups:
            before[:, block.offset : block.offset + block.bytes] = 0
            after[:, block.offset : block.offset + block.bytes] = 0
    assert np.array_equal(rewards.parts(before, after, *arguments), expected)


def test_a_part_that_was_asked_for_is_counted_while_it_has_no_weight() -> None:
    rewards = Rewards(RewardConfig(), "singles", 9, ("hp", "loss"))
    assert rewards.names == ("win", "loss", "hp")
    assert set(rewards.groups) == {"decision", "own_team", "opponent_team"}
    before, after = quiet(), quiet()
    settle(after, "own_team", 0, hp=204)
    parts = rewards.parts(before, after, np.array([Outcome.LOSS]), np.array([6]))
    assert parts.tolist() == [[0, 1, pytest.approx(-0.2)]]
    assert rewards.weighted(parts).tolist() == [[0, -1, 0]]
    rewards.update(RewardConfig(hp=10, loss=0))
    assert rewards.weighted(parts).tolist() == [[0, 0, pytest.approx(-2)]]
    with pytest.raises(ConfigError, match="turn, switch cannot have a weight"):
        rewards.update(RewardConfig(turn=0.1, switch=0.1))
    assert rewards.weighted(parts).tolist() == [[0, 0, pytest.approx(-2)]]


# Settings


def test_the_file_lists_every_part_in_order_and_shapes_by_little() -> None:
    assert list(yaml.safe_load(FILE.read_bytes())) == NAMES
    config = load_reward_config(FILE)
    ends = {"win", "loss", "tie"}
    assert all(getattr(config, name) == getattr(RewardConfig(), name) for name in ends)
    assert all(abs(getattr(config, name)) <= 0.1 for name in NAMES if name not in ends)
    assert (config.knock_out, config.status) == (0.1, 0.02)


def test_every_part_is_explained() -> None:
    explained = docstring_parser.parse(RewardConfig.__doc__ or "").params
    assert [part.arg_name for part in explained] == NAMES


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("knockout: 1", "unknown setting 'knockout'; did you mean 'knock_out'?"),
        ("hp: much", "hp"),
        ("hp:", "hp has no value"),
        ("win: .inf", "win is inf, but must be a finite number"),
        ("[win]", "not a mapping"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "reward.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(told)) as refused:
        load_reward_config(path)
    assert str(path) in str(refused.value)
