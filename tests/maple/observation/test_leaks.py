"""No observation tells what the opponent hides: twins of a battle look the same, byte for byte."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from bridge import BridgeConfig, ControllerRegistry
from tests.maple.observation.recorded import (
    NAMES,
    Chooser,
    Choosers,
    Matchup,
    RecordedBattle,
    Seen,
    Teams,
    by_chance,
    by_script,
    draw_teams,
    play,
)
from tests.maple.observation.twins import (
    INSIDES,
    alike,
    hidden_from,
    of_one_gender,
    pack,
    unpack,
    with_others,
)

LEAKY: Final = Path(__file__).parent / "leaky.js"
# In a custom game everybody sees the health of all Pokémon exactly, and so how much they can have.
HIDDEN: Final = "@@@HP Percentage Mod"
NO_PREVIEW: Final = f"{HIDDEN},!Team Preview"
KINDS: Final = (
    (f"gen9customgame{NO_PREVIEW}", "illusion"),
    (f"gen9customgame{NO_PREVIEW}", "trapping"),
    (f"gen9customgame{NO_PREVIEW}", "items"),
    (f"gen9customgame{NO_PREVIEW}", "weather"),
    (f"gen9customgame{NO_PREVIEW}", "stalling"),
    (f"gen9doublescustomgame{NO_PREVIEW}", "illusion"),
    (f"gen9doublescustomgame{NO_PREVIEW}", "trapping"),
    (f"gen9doublescustomgame{NO_PREVIEW}", "turns"),
    (f"gen9customgame{HIDDEN}", "tera"),
    (f"gen9doublescustomgame{HIDDEN}", "weather"),
    (f"gen8customgame{HIDDEN}", "dynamax"),
    (f"gen4customgame{HIDDEN}", "trapping"),
    ("gen3customgame", "stalling"),
    ("gen1customgame", "trapping"),
)
DECISIONS: Final = 24
"""After how many decisions of a side everything that is hidden then is changed."""


@dataclass(frozen=True)
class Twins:
    """Two battles that should look the same to the first side, as far as they are the same."""

    battle: RecordedBattle
    twin: RecordedBattle

    @property
    def same(self) -> list[tuple[Seen, Seen]]:
        return alike(self.battle.p1, self.twin.p1)

    @property
    def leaks(self) -> list[int]:
        """Where the observations are not the same, though all that the side was told is."""
        return [
            number
            for number, (one, other) in enumerate(self.same)
            if one.observation != other.observation
        ]


@pytest.fixture
async def registry(settings: BridgeConfig) -> AsyncIterator[ControllerRegistry]:
    async with ControllerRegistry(settings.replace(response_timeout=10.0)) as registry:
        yield registry


async def test_what_is_hidden_changes_no_observation(registry: ControllerRegistry) -> None:
    compared = await count_compared(registry, range(2))
    assert compared > 1_000


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_hundreds_of_twins_look_the_same(registry: ControllerRegistry) -> None:
    compared = await count_compared(registry, range(100, 120))
    assert compared > 10_000


async def count_compared(registry: ControllerRegistry, seeds: Sequence[int]) -> int:
    """How many decisions of twins were compared; none may differ."""
    matchups = [Matchup(name, seed, theme) for name, theme in KINDS for seed in seeds]
    compared = 0
    for twins in await play_twins(registry, matchups):
        assert not twins.leaks, f"{twins.battle} and {twins.twin.teams}: {twins.leaks}"
        compared += sum(one.must_choose for one, _ in twins.same)
    return compared


async def play_twins(
    registry: ControllerRegistry, matchups: Sequence[Matchup], names: tuple[str, str] = NAMES
) -> list[Twins]:
    """Plays battles and some twins of each."""

    async def play_each(matchup: Matchup, drawn: Teams | None) -> list[Twins]:
        assert drawn is not None
        own, theirs = map(of_one_gender, drawn)
        choosers = for_a_while(by_chance(matchup.seed))
        battle = await play(registry, matchup, (own, theirs), choosers, names=names)
        team = unpack(theirs)
        hidden = hidden_from(battle, team)
        chance = random.Random(matchup.seed)
        has_preview = any(
            seen.request and '"teamPreview"' in seen.request for seen in battle.p1.seen
        )
        twins = []
        for inside in INSIDES:
            changed = with_others(team, hidden, chance, has_preview=has_preview, inside=inside)
            other = pack(changed)
            twin = await play(registry, matchup, (own, other), by_script(battle), names=names)
            twins.append(Twins(battle, twin))
        return twins

    pairs = zip(matchups, draw_teams(matchups), strict=True)
    found = await asyncio.gather(*(play_each(matchup, drawn) for matchup, drawn in pairs))
    return [twins for each in found for twins in each]


def for_a_while(choosers: Choosers) -> Choosers:
    """The first choices of somebody."""

    def stopping(choose: Chooser) -> Chooser:
        left = iter(range(DECISIONS))
        return lambda seen: None if next(left, None) is None else choose(seen)

    first, second = choosers
    return stopping(first), stopping(second)
