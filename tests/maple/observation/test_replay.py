"""Observations follow from what was said: made again, without a simulator, they are the same."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from tests.maple.observation.matchups import every_kind, every_theme
from tests.maple.observation.recorded import GROUPS, Matchup, RecordedBattle, record, run_node


def test_recorded_text_gives_the_same_bytes_without_a_simulator(
    battles: list[RecordedBattle],
) -> None:
    assert count_same(battles) > 5_000


def test_full_damage_is_the_same_without_a_simulator() -> None:
    groups = (*GROUPS, "calc")
    matchups = [Matchup("gen9randombattle", 3), Matchup("gen9randomdoublesbattle", 3)]
    assert count_same(record(matchups, observe=groups), groups) > 100


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_hundreds_of_battles_give_the_same_bytes_without_a_simulator() -> None:
    for seed in range(100, 110):
        assert count_same(record([*every_kind(1, seed), *every_theme(1, seed)])) > 5_000


@pytest.mark.parametrize(
    "forbidden", ["pokemon-showdown", "../lib/room", "../observation/learn.js"]
)
def test_the_process_that_makes_them_again_cannot_load_a_simulator(forbidden: str) -> None:
    with pytest.raises(RuntimeError, match="is not for observations"):
        run_node("observation-replay.js", [], forbidden)


def test_another_line_gives_other_bytes(battles: list[RecordedBattle]) -> None:
    """What a spectator sees reaches the observations: the comparison above could fail."""
    battle = next(battle for battle in battles if battle.matchup.format == "gen9randombattle")
    said = as_said(battle)
    for frame in said["frames"]:
        frame["lines"] = [line for line in frame["lines"] if not line.startswith("|-damage|")]
    assert replay([said]) != [live(battle)]


def count_same(battles: list[RecordedBattle], groups: Sequence[str] = GROUPS) -> int:
    """How many observations were made twice; all must be the same."""
    total = 0
    said = [as_said(battle, groups) for battle in battles]
    for battle, made in zip(battles, replay(said), strict=True):
        first = live(battle)
        assert len(made) == len(first)
        for number, (one, other) in enumerate(zip(first, made, strict=True)):
            assert one == other, f"{battle}: observation {number} differs"
        total += len(made)
    return total


def replay(said: list[dict[str, Any]]) -> list[list[bytes]]:
    made = orjson.loads(run_node("observation-replay.js", said))
    return [[base64.b64decode(each) for each in battle] for battle in made]


def live(battle: RecordedBattle) -> list[bytes]:
    """The observations as they were sent, in the order of the frames that had them."""
    return [
        seen.observation
        for frame in battle.frames()
        for seen in frame.seen.values()
        if seen.observation is not None
    ]


def as_said(battle: RecordedBattle, groups: Sequence[str] = GROUPS) -> dict[str, Any]:
    """A battle as text alone."""
    frames = [
        {
            "lines": frame.lines,
            "requests": {side: seen.request for side, seen in frame.seen.items() if seen.request},
            "encode": [side for side, seen in frame.seen.items() if seen.observation is not None],
        }
        for frame in battle.frames()
    ]
    return {"wishes": {"p1": groups, "p2": groups}, "frames": frames}
