"""With a seed, a whole match-up is the same each time."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from poke_env.player import Player, RandomPlayer, SimpleHeuristicsPlayer
from poke_env.ps_client import AccountConfiguration

from bridge.errors import ConfigError
from bridge.poke_env import local_server

from .cast import FORMAT, leave, team_of

pytestmark = pytest.mark.timeout(60)

NAMES = ("Red", "Blue", "Green")


def played(
    folder: Path,
    *,
    seed: int | str | None,
    format: str = FORMAT,
    kinds: tuple[type[Player], ...] = (RandomPlayer,) * 3,
    **options: Any,
) -> list[tuple[str, list[str]]]:
    """The battles of each player with each other, as the replays of both have them."""
    folder.mkdir()

    async def play() -> None:
        players = [
            kind(
                AccountConfiguration(name, None),
                battle_format=format,
                server_configuration=server,
                save_replays=str(folder),
                **options,
            )
            for name, kind in zip(NAMES, kinds, strict=False)
        ]
        async with asyncio.timeout(40):
            for one, other in zip(players, players[1:] + players[:1], strict=True):
                await one.battle_against(other, n_battles=2)
        for player in players:
            await leave(player)

    random.seed(1)
    with local_server(pool=2, warmup_battles=0, seed=seed) as server:
        asyncio.run(play())
    return [(replay.name, lines_of(replay)) for replay in sorted(folder.glob("*.html"))]


def lines_of(replay: Path) -> list[str]:
    """What a replay says, apart from when it was."""
    return [line for line in replay.read_text().splitlines() if not line.startswith("|t:|")]


@pytest.mark.parametrize(
    ("format", "options"),
    [
        (FORMAT, {}),
        ("gen9randomdoublesbattle", {}),
        ("gen9ou", {"team": team_of(9)}),
        (FORMAT, {"kinds": (RandomPlayer, SimpleHeuristicsPlayer), "avatar": "lucas"}),
    ],
    ids=["singles", "doubles", "given teams", "heuristics"],
)
def test_the_same_seed_plays_the_same_battles(
    tmp_path: Path, format: str, options: dict[str, Any]
) -> None:
    first, second = (
        played(tmp_path / name, seed=7, format=format, **options) for name in ("first", "second")
    )
    assert len(first) == (8 if "kinds" in options else 12)
    assert second == first
    assert any("|win|" in line for _, lines in first for line in lines)


@pytest.mark.parametrize("other", [8, "seven", None])
def test_another_seed_plays_other_battles(tmp_path: Path, other: int | str | None) -> None:
    first = played(tmp_path / "first", seed=7)
    assert played(tmp_path / "other", seed=other) != first


def test_a_seed_is_a_number_or_a_text() -> None:
    with pytest.raises(ConfigError, match="a seed is a number or a text"):
        local_server(seed=1.5)  # type: ignore[arg-type]
