"""A pool that the tests of a module share, and players who have to leave it as they found it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import pytest
from poke_env.player import Player, RandomPlayer

from bridge.poke_env import LocalServerConfiguration, local_server
from tests.conftest import until

from .cast import FORMAT, leave

P = TypeVar("P", bound=Player)


@pytest.fixture(scope="module")
def server(own_cache: None) -> Iterator[LocalServerConfiguration]:
    """Two controllers, and nobody in the lobby."""
    with local_server(pool=2, warmup_battles=0) as configuration:
        # Whoever comes first starts the pool, which is not to be the doing of one test.
        first = RandomPlayer(server_configuration=configuration)
        asyncio.run(first.ps_client.wait_for_login(wait_for=30))
        asyncio.run(leave(first))
        yield configuration


class Door:
    """Lets players in, and out again."""

    def __init__(self, server: LocalServerConfiguration) -> None:
        self.server = server
        self._players: list[Player] = []

    def enter(self, kind: type[P], format: str = FORMAT, **options: Any) -> P:
        """A player in the lobby."""
        player = kind(battle_format=format, server_configuration=self.server, **options)
        self._players.append(player)
        return player

    def pair(self, kind: type[P], format: str = FORMAT, **options: Any) -> tuple[P, P]:
        return self.enter(kind, format, **options), self.enter(kind, format, **options)

    async def close(self) -> None:
        while self._players:
            await leave(self._players.pop())


@pytest.fixture
async def door(server: LocalServerConfiguration) -> AsyncIterator[Door]:
    door = Door(server)
    yield door
    await door.close()
    # What was given up ends a moment after whoever gave it up has gone.
    async with asyncio.timeout(10):
        await until(lambda: not left_in(server))


def left_in(server: LocalServerConfiguration) -> int:
    """How much there still is in a lobby and its pool."""
    stats = server.stats()
    lobby: dict[str, int] = stats["lobby"]
    return lobby["connections"] + lobby["users"] + lobby["games"] + int(stats["pool"]["rooms"])
