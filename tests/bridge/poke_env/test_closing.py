"""Pools that are closed before, while or after they are used leave nobody waiting."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from poke_env.player import RandomPlayer

from bridge.errors import BattleRejected, ConnectionLost
from bridge.poke_env import local_server, remote_server

from .cast import FORMAT

pytestmark = pytest.mark.timeout(60)


async def fails(player: RandomPlayer) -> None:
    with pytest.raises(ConnectionLost, match="closed"):
        async with asyncio.timeout(15):
            await player.ladder(1)


async def test_a_pool_that_was_closed_before_it_began_lets_nobody_in() -> None:
    server = local_server(pool=1, warmup_battles=0)
    server.close()
    await fails(RandomPlayer(battle_format=FORMAT, server_configuration=server))


async def test_a_pool_that_is_closed_while_it_starts_says_so() -> None:
    server = local_server(pool=1, warmup_battles=0)
    player = RandomPlayer(battle_format=FORMAT, server_configuration=server)
    await asyncio.to_thread(server.close)
    await fails(player)
    assert server.stats() == {}


async def test_a_token_is_in_no_error() -> None:
    server = remote_server("ws://127.0.0.1:9/showdown/websocket", token="open sesame")
    assert "token=open%20sesame" in server.websocket_url
    player = RandomPlayer(battle_format=FORMAT, server_configuration=server)
    with pytest.raises(ConnectionLost) as failure:
        async with asyncio.timeout(15):
            await player.ladder(1)
    assert "sesame" not in str(failure.value)


def test_a_configuration_is_the_same_pool_wherever_it_is_unpickled_in_a_process() -> None:
    server = local_server(pool=1, seed=7)
    again = pickle.loads(pickle.dumps(server))
    assert again == server
    assert again.server is server.server
    assert pickle.loads(pickle.dumps(remote_server())) == remote_server()


async def test_players_of_different_formats_or_pools_are_told_so_and_do_not_wait() -> None:
    with local_server(pool=1, warmup_battles=0) as server, local_server(pool=1) as elsewhere:
        one = RandomPlayer(battle_format=FORMAT, server_configuration=server)
        other = RandomPlayer(battle_format="gen2randombattle", server_configuration=server)
        stranger = RandomPlayer(battle_format=FORMAT, server_configuration=elsewhere)
        for opponent, reason in ((other, "same battle_format"), (stranger, "different servers")):
            with pytest.raises(BattleRejected, match=reason):
                async with asyncio.timeout(15):
                    await one.battle_against(opponent)
