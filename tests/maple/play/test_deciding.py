"""What a network does with observations, without any server."""

from __future__ import annotations

import numpy as np
import pytest

from bridge.sampling import derive_keys
from maple.agents import Actor, Checkpoint
from maple.play.deciding import Decider
from tests.maple.observation.recorded import RecordedBattle, RecordedSide
from tests.maple.play.cast import fresh

LEARNED = fresh("gen9ou", kind="lstm")
PAIRED = fresh("gen9vgc2025regi", "doubles", 9)


@pytest.fixture
def sides(battles: list[RecordedBattle]) -> dict[str, RecordedSide]:
    """One side of a battle of each format."""
    return {battle.matchup.format: battle.p1 for battle in battles}


def choices(checkpoint: Checkpoint, side: RecordedSide, key: int, *, greedy: bool) -> list[str]:
    observations = checkpoint.observations()
    network = checkpoint.network(observations)
    decider = Decider(network, observations, key=key, greedy=greedy)
    return [decider.choose(seen.observation or b"") for seen in side.decisions]


@pytest.mark.parametrize(("checkpoint", "format"), [(LEARNED, "gen9ou"), (PAIRED, PAIRED.format)])
def test_a_key_decides_what_is_drawn(
    sides: dict[str, RecordedSide], checkpoint: Checkpoint, format: str
) -> None:
    drawn = [choices(checkpoint, sides[format], key, greedy=False) for key in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    greedy = [choices(checkpoint, sides[format], key, greedy=True) for key in (1, 2)]
    assert greedy[0] == greedy[1] != drawn[0]
    assert len(set(drawn[0])) > 5


@pytest.mark.parametrize(
    ("format", "picked"), [("gen9ou", 6), ("gen9bssregi", 3), ("gen9vgc2025regi", 4)]
)
def test_a_team_is_picked_of_as_many_as_the_format_takes(
    sides: dict[str, RecordedSide], format: str, picked: int
) -> None:
    checkpoint = PAIRED if "vgc" in format else LEARNED
    first = choices(checkpoint, sides[format], 1, greedy=False)[0]
    assert first.startswith("team ")
    assert len(set(first.removeprefix("team ").split(","))) == picked


def test_a_network_remembers_its_battle_and_no_other(sides: dict[str, RecordedSide]) -> None:
    """Decisions are those of an actor that sees all of one battle, one after the other."""
    observations = LEARNED.observations()
    network = LEARNED.network(observations)
    actor = Actor(network, observations.actions, 3)
    rows = [seen.observation or b"" for seen in sides["gen9ou"].decisions[1:]]
    expected = []
    for step, row in enumerate(rows):
        seen = observations.expand(observations.stack([row]))
        decided = actor.decide(
            np.array([2]),
            seen["features"],
            seen["ids"],
            seen["action_mask"],
            derive_keys(np.array([9], np.uint64), step),
            np.array([step == 0]),
        )
        expected.append(observations.actions.choice(row, int(decided.actions[0])))
    for _ in range(2):
        decider = Decider(network, observations, key=9, greedy=False)
        assert [decider.choose(row) for row in rows] == expected
