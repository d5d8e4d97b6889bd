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
NO_PREVIEW: Final = "@@@!Team Preview"
# Not custom games, where everybody sees the health of all Pokémon exactly. Teams need not be legal.
KINDS: Final = (
    (f"gen9ou{NO_PREVIEW}", "illusion"),
    (f"gen9ou{NO_PREVIEW}", "trapping"),
    (f"gen9ou{NO_PREVIEW}", "items"),
    (f"gen9ou{NO_PREVIEW}", "weather"),
    (f"gen9ou{NO_PREVIEW}", "stalling"),
    (f"gen9doublesou{NO_PREVIEW}", "illusion"),
    (f"gen9doublesou{NO_PREVIEW}", "trapping"),
    (f"gen9doublesou{NO_PREVIEW}", "turns"),
    ("gen9ou", "tera"),
    ("gen9doublesou", "weather"),
    ("gen8doublesou", "dynamax"),
    ("gen4ou", "trapping"),
    ("gen3ou", "stalling"),
    ("gen1ou", "trapping"),
)
DECISIONS: Final = 24
"""After how many decisions of a side everything that is hidden then is changed."""

# Battles in which nobody is hurt, so that little matters of what is hidden: the first side, and
# two second ones, that look the same until a screen ends, or somebody wakes up.
_SLOW: Final = "Shuckle||ironball|sturdy|spore,growl,tailwhip,splash|Hardy|||M||||"
_BEHIND: Final = "Chansey||metalcoat|naturalcure|reflect,growl,splash,lightscreen|Hardy|||M||||"
_ILLUSION: Final = "Zoroark||metalcoat|illusion|reflect,growl,splash,lightscreen|Hardy|||M||||"
QUIET: Final[dict[str, tuple[str, str]]] = {
    "species": (f"{_ILLUSION}]{_BEHIND}", f"{_BEHIND}]{_ILLUSION}"),
    "screens": (_BEHIND, _BEHIND.replace("metalcoat", "lightclay")),
    "sleep": (_BEHIND, _BEHIND.replace("naturalcure", "earlybird")),
}


@dataclass(frozen=True)
class Twins:
    """Two battles that should look the same to the first side, as far as they are the same."""

    battle: RecordedBattle
    twin: RecordedBattle

    def __str__(self) -> str:
        return f"{self.battle} and its twin of {self.twin.teams}"

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


@pytest.fixture
async def leaky_registry(settings: BridgeConfig) -> AsyncIterator[ControllerRegistry]:
    """Its observations tell the first player what the name of the second one says."""
    arguments = ("--require", str(LEAKY))
    config = settings.replace(response_timeout=10.0, node_arguments=arguments)
    async with ControllerRegistry(config) as registry:
        yield registry


async def test_what_is_hidden_changes_no_observation(registry: ControllerRegistry) -> None:
    assert await count_compared(registry, range(2)) > 1_000


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_hundreds_of_twins_look_the_same(registry: ControllerRegistry) -> None:
    assert await count_compared(registry, range(100, 120)) > 10_000


async def test_what_shows_late_changes_no_observation(registry: ControllerRegistry) -> None:
    for secret in QUIET:
        twins = await play_quiet_twins(registry, secret, NAMES)
        assert not [str(each) for each in twins if each.leaks]
        assert sum(len(each.same) for each in twins) > 20


async def test_what_leaks_is_found(leaky_registry: ControllerRegistry) -> None:
    kinds = ((f"gen9ou{NO_PREVIEW}", "trapping"), ("gen9doublesou", "weather"))
    matchups = [Matchup(name, 0, theme) for name, theme in kinds]
    for secret in ("bench", "moves", "tera", "item", "ability", "stats"):
        twins = await play_twins(leaky_registry, matchups, (NAMES[0], f"leaks {secret}"))
        assert any(each.leaks for each in twins), f"nobody found the {secret}"


async def test_what_leaks_and_shows_late_is_found(leaky_registry: ControllerRegistry) -> None:
    for secret in QUIET:
        twins = await play_quiet_twins(leaky_registry, secret, (NAMES[0], f"leaks {secret}"))
        assert any(each.leaks for each in twins), f"nobody found the {secret}"


async def test_nothing_is_found_where_nothing_leaks(leaky_registry: ControllerRegistry) -> None:
    twins = await play_quiet_twins(leaky_registry, "species", (NAMES[0], "leaks nothing"))
    assert not any(each.leaks for each in twins)


async def count_compared(registry: ControllerRegistry, seeds: Sequence[int]) -> int:
    """How many decisions of twins were compared; none may differ."""
    matchups = [Matchup(name, seed, theme) for name, theme in KINDS for seed in seeds]
    compared = 0
    for twins in await play_twins(registry, matchups, NAMES):
        assert not twins.leaks, f"{twins}: {twins.leaks}"
        compared += sum(one.must_choose for one, _ in twins.same)
    return compared


async def play_twins(
    registry: ControllerRegistry, matchups: Sequence[Matchup], names: tuple[str, str]
) -> list[Twins]:
    """Plays battles by chance for a while, and twins of each."""

    async def play_each(matchup: Matchup, drawn: Teams | None) -> list[Twins]:
        assert drawn is not None
        own, theirs = map(of_one_gender, drawn)
        choosers = for_a_while(by_chance(matchup.seed))
        battle = await play(registry, matchup, (own, theirs), choosers, names=names)
        team = unpack(theirs)
        hidden = hidden_from(battle, team)
        chance = random.Random(matchup.seed)
        has_preview = any('"teamPreview"' in (seen.request or "") for seen in battle.p1.seen)
        twins = []
        for inside in INSIDES:
            other = with_others(team, hidden, chance, has_preview=has_preview, inside=inside)
            teams = own, pack(other)
            twin = await play(registry, matchup, teams, by_script(battle), names=names)
            twins.append(Twins(battle, twin))
        return twins

    pairs = zip(matchups, draw_teams(matchups), strict=True)
    found = await asyncio.gather(*(play_each(matchup, drawn) for matchup, drawn in pairs))
    return [twins for each in found for twins in each]


async def play_quiet_twins(
    registry: ControllerRegistry, secret: str, names: tuple[str, str]
) -> list[Twins]:
    """Plays battles in which moves do no harm, and nobody leaves."""
    one, other = QUIET[secret]
    twins = []
    for seed in range(6):
        # What is drawn from a theme need not be legal, and neither need this.
        matchup = Matchup(f"gen9ou{NO_PREVIEW}", seed, "quiet")
        choosers = for_a_while((by_moves(f"p1 {seed}"), by_moves(f"p2 {seed}")))
        battle = await play(registry, matchup, (_SLOW, one), choosers, names=names)
        twin = await play(registry, matchup, (_SLOW, other), by_script(battle), names=names)
        twins.append(Twins(battle, twin))
    return twins


def by_moves(seed: str) -> Chooser:
    chance = random.Random(seed)
    return lambda _: f"move {chance.randint(1, 4)}"


def for_a_while(choosers: Choosers) -> Choosers:
    """The first choices of somebody."""

    def stopping(choose: Chooser) -> Chooser:
        left = iter(range(DECISIONS))
        return lambda seen: None if next(left, None) is None else choose(seen)

    first, second = choosers
    return stopping(first), stopping(second)
