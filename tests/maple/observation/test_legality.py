"""What the mask of an observation allows, the simulator takes, in every kind of battle."""

from __future__ import annotations

import random

import numpy as np
import pytest

from maple.env.actions import Actions, Preview
from tests.maple.observation.matchups import every_kind, every_theme
from tests.maple.observation.recorded import (
    Chooser,
    Choosers,
    Matchup,
    RecordedBattle,
    Seen,
    record,
)

# What a choice has in it that is not to be found in every battle.
WORDS = (
    "mega",
    "zmove",
    "dynamax",
    "terastallize",
    "pass",
    "switch",
    "team",
    "-1",
    "-2",
    "+1",
    "+2",
)


def test_the_simulator_takes_whatever_the_mask_allows() -> None:
    battles = play_by_mask([*every_kind(1), *every_theme(1)])
    assert not refusals(battles)
    choices = {
        word
        for battle in battles
        for side in battle.sides
        for seen in side.decisions
        for word in (seen.choice or "").replace(",", "").split()
    }
    assert set(WORDS) <= choices
    # Some learn of what they could not know only by trying.
    assert any(seen.is_alone for battle in battles for side in battle.sides for seen in side.seen)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_simulator_takes_whatever_the_mask_allows_in_hundreds_of_battles() -> None:
    for seed in range(200, 212):
        battles = play_by_mask([*every_kind(1, seed), *every_theme(1, seed)])
        assert not refusals(battles)


def refusals(battles: list[RecordedBattle]) -> list[str]:
    """The choices that the simulator refused, and had nothing to reveal by that."""
    return [
        f"{battle}, {side.id}: {seen.illegal}"
        for battle in battles
        for side in battle.sides
        for seen in side.seen
        if seen.illegal is not None
    ]


def play_by_mask(matchups: list[Matchup]) -> list[RecordedBattle]:
    return record(matchups, by_mask, observe=("decision",))


def by_mask(matchup: Matchup) -> Choosers:
    """Any legal action, one as likely as the other, by the observation alone."""
    actions = Actions(matchup.game, matchup.generation)

    def chooser(seat: int) -> Chooser:
        chance = random.Random(f"{matchup.seed} {seat}")
        return lambda seen: choose(actions, seen, chance)

    return chooser(0), chooser(1)


def choose(actions: Actions, seen: Seen, chance: random.Random) -> str:
    assert seen.observation is not None
    if not actions.is_preview(seen.observation):
        return actions.choice(seen.observation, legal_action(actions, seen.observation, chance))
    preview = Preview(actions, seen.observation)
    choice = None
    while choice is None:
        row = actions.with_mask(seen.observation, preview.mask().reshape(actions.slots, -1))
        choice = preview.pick(legal_action(actions, row, chance))
    return choice


def legal_action(actions: Actions, row: bytes, chance: random.Random) -> int | tuple[int, int]:
    masks = actions.masks(np.frombuffer(row, np.uint8)[None])
    if actions.slots == 1:
        return int(chance.choice(np.flatnonzero(masks[0])))
    first, second = chance.choice(np.argwhere(actions.joint_mask(masks)[0]))
    return int(first), int(second)
