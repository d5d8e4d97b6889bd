"""One name of poke-env is replaced: players with a server of their own still go there."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import poke_env.player.player as player_module
import pytest
from poke_env.player import RandomPlayer
from poke_env.ps_client import PSClient
from poke_env.ps_client.server_configuration import (
    LocalhostServerConfiguration,
    ServerConfiguration,
)
from websockets.asyncio.server import ServerConnection, serve

from bridge.errors import ConfigError
from bridge.poke_env import LocalServerConfiguration, install, local_server, restore
from bridge.poke_env.client import LocalClient

from .cast import FORMAT, Quitter, leave
from .conftest import Door

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    yield
    install()


def test_a_local_server_is_a_server_configuration_that_says_so() -> None:
    configuration = local_server(pool=1)
    assert isinstance(configuration, ServerConfiguration)
    assert isinstance(configuration, LocalServerConfiguration)
    url, authentication = configuration
    assert url.startswith("maple://")
    assert authentication == ""
    assert configuration != local_server(pool=1)
    assert configuration.stats() == {}


def test_a_pickled_configuration_means_the_same_server() -> None:
    configuration = local_server(pool=1, seed=3)
    again = pickle.loads(pickle.dumps(configuration))
    assert again.server is configuration.server
    assert (again.settings, again.seed) == ({"pool": 1}, 3)


def test_an_unknown_setting_is_an_error_at_once() -> None:
    with pytest.raises(ConfigError, match="pool"):
        local_server(poool=2)


def test_nothing_starts_before_the_first_player() -> None:
    script = """
import threading
from poke_env.player import RandomPlayer
before = threading.active_count()
from bridge.poke_env import local_server
import psutil
server = local_server(pool=2, seed=7)
assert threading.active_count() == before
assert not psutil.Process().children()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=_ROOT, timeout=30)


_ROOT = Path(__file__).parents[3]


def test_a_program_that_just_ends_leaves_nothing_behind() -> None:
    script = f"""
import asyncio
from poke_env.player import RandomPlayer
from bridge.poke_env import local_server
server = local_server(pool=1, warmup_battles=0)
one, other = [RandomPlayer(battle_format="{FORMAT}", server_configuration=server) for _ in "ab"]
asyncio.run(one.battle_against(other))
print(one.n_finished_battles, end="")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, cwd=_ROOT, timeout=30, check=True
    )
    assert (ended.stdout, ended.stderr) == (b"1", b"")


async def test_a_player_of_an_ordinary_server_uses_its_websocket_beside_players_of_ours(
    door: Door,
) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()

    async def greet(connection: ServerConnection) -> None:
        await connection.send("|challstr|4|0123")
        async for message in connection:
            said.put_nowait(str(message))

    async with serve(greet, "localhost", 0) as server:
        port = server.sockets[0].getsockname()[1]
        elsewhere = ServerConfiguration(f"ws://localhost:{port}/showdown/websocket", "")
        ordinary = RandomPlayer(server_configuration=elsewhere)
        assert type(ordinary.ps_client) is PSClient
        one, other = door.pair(Quitter)
        assert isinstance(one.ps_client, LocalClient)
        async with asyncio.timeout(20):
            await one.battle_against(other)
            assert await said.get() == f"|/trn {ordinary.username},0,"
        await leave(ordinary)
    assert one.n_finished_battles == 1


def test_installing_twice_is_installing_once_and_restoring_puts_the_name_back() -> None:
    install()
    install()
    assert getattr(player_module, "PSClient") is not PSClient  # noqa: B009
    restore()
    assert getattr(player_module, "PSClient") is PSClient  # noqa: B009
    restore()
    player = RandomPlayer(server_configuration=LocalhostServerConfiguration, start_listening=False)
    assert type(player.ps_client) is PSClient


def test_players_that_exist_play_on_after_restoring(door: Door) -> None:
    one, other = door.pair(Quitter)
    restore()
    asyncio.run(one.battle_against(other))
    assert one.n_finished_battles == 1
    install()
    asyncio.run(door.enter(Quitter).battle_against(other))


def test_the_client_of_a_player_is_one_of_poke_env_too(door: Door) -> None:
    player = door.enter(Quitter)
    assert isinstance(player.ps_client, PSClient)
    assert player.ps_client.server_configuration is door.server
    asyncio.run(player.ps_client.wait_for_login())
    assert repr(player.ps_client) == f"<LocalClient {player.username}: logged in, 0 rooms>"
