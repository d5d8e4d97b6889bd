"""Players on a server of ours, over WebSocket: what goes wrong reaches whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from poke_env.battle import AbstractBattle
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder
from poke_env.ps_client import AccountConfiguration

from bridge.benchmarks.poke_env_players import BlindEnvironment
from bridge.errors import (
    BattleFailed,
    BattleRejected,
    BridgeError,
    ConnectionLost,
    NameTaken,
    PlayerFailed,
)
from bridge.poke_env import RemoteServerConfiguration, remote_server
from bridge.serve.websocket import websocket_url
from tests.serving import QUICK, Server, Start, servers

from .cast import FORMAT, Quitter, forget, leave, team_of

pytestmark = pytest.mark.timeout(90)

POISON = Path(__file__).parents[2] / "adversity" / "faults" / "poison.js"
ILLEGAL = "Mewtwo\nAbility: Pressure\nEVs: 4 HP\n- Splash\n"
E = TypeVar("E", bound=BridgeError)


@pytest.fixture
def start() -> Iterator[Start]:
    with servers() as start:
        yield start


@pytest.fixture(scope="module")
def served() -> Iterator[RemoteServerConfiguration]:
    with servers() as start:
        yield configuration_of(start(*QUICK))


def configuration_of(server: Server, **options: Any) -> RemoteServerConfiguration:
    url = server.url()
    server.wait_for("event=ready")
    return remote_server(websocket_url(url), **options)


@asynccontextmanager
async def pair(
    server: RemoteServerConfiguration,
    kind: type[Player] = Quitter,
    format: str = FORMAT,
    **options: Any,
) -> AsyncIterator[tuple[Player, Player]]:
    players = [
        kind(
            AccountConfiguration.generate("remote", rand=True),
            battle_format=format,
            server_configuration=server,
            **options,
        )
        for _ in range(2)
    ]
    yield players[0], players[1]
    for player in players:
        await leave(player)


async def fails(call: Awaitable[None], kind: type[E], match: str) -> E:
    with pytest.raises(kind, match=match) as failure:
        async with asyncio.timeout(15):
            await call
    return failure.value


async def play(one: Player, other: Player, battles: int) -> None:
    forget(one, other)
    async with asyncio.timeout(30):
        await one.battle_against(other, n_battles=battles)
    assert one.n_finished_battles == other.n_finished_battles == battles


async def test_battles_are_played_to_the_end(served: RemoteServerConfiguration) -> None:
    async with pair(served, RandomPlayer, max_concurrent_battles=4) as (one, other):
        await play(one, other, 8)
        assert not one.ps_client._battle_locks


async def test_a_rejected_team_is_raised_and_the_players_can_play_again(
    served: RemoteServerConfiguration,
) -> None:
    async with pair(served, format="gen9ou", team=ILLEGAL) as (one, other):
        await fails(one.battle_against(other), BattleRejected, "Mewtwo can't learn Splash")
        for player in (one, other):
            player.update_team(team_of(9))
        await play(one, other, 1)


async def test_an_unknown_format_is_raised(served: RemoteServerConfiguration) -> None:
    async with pair(served, format="gen9unheardof") as (one, other):
        await fails(one.battle_against(other), BattleRejected, "gen9unheardof")


async def test_a_taken_name_is_raised(served: RemoteServerConfiguration) -> None:
    async with pair(served) as (one, _):
        await one.ps_client.wait_for_login()
        double = Quitter(one.ps_client.account_configuration, server_configuration=served)
        await fails(double.ladder(1), NameTaken, "already using the name")
        await leave(double)


class Faulty(RandomPlayer):
    """Raises in its second turn."""

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        if battle.turn == 2:
            raise ValueError("no idea")
        return self.choose_random_move(battle)


async def test_an_exception_of_a_player_is_raised_with_its_room(
    served: RemoteServerConfiguration,
) -> None:
    async with pair(served, Faulty) as (one, other):
        error = await fails(one.battle_against(other), PlayerFailed, "ValueError: no idea")
        assert error.room is not None
        assert error.room.startswith(f"battle-{FORMAT}-")
        assert isinstance(error.__cause__, ValueError)


async def test_no_server_and_a_wrong_path_are_raised(served: RemoteServerConfiguration) -> None:
    for url in ("ws://127.0.0.1:9/showdown/websocket", served.websocket_url + "/elsewhere"):
        async with pair(remote_server(url)) as (one, other):
            await fails(one.battle_against(other), ConnectionLost, "has no connection to ws://")


async def test_a_token_lets_players_in(start: Start) -> None:
    server = start(*QUICK, "--token", "open sesame")
    configuration = configuration_of(server, token="open sesame")
    async with pair(configuration) as (one, other):
        await play(one, other, 1)
    strangers = remote_server(configuration.websocket_url.partition("?")[0])
    async with pair(strangers) as (one, other):
        await fails(one.battle_against(other), ConnectionLost, "401")


class Murderer(RandomPlayer):
    """Kills a process in its third turn."""

    victim: psutil.Process | None = None

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        if battle.turn == 3 and self.victim is not None:
            self.victim.kill()
            self.victim = None
        return self.choose_random_move(battle)


async def test_a_dead_controller_costs_a_pause_and_nothing_else(start: Start) -> None:
    server = start(*QUICK)
    configuration = configuration_of(server)
    async with pair(configuration, Murderer, max_concurrent_battles=3) as (one, other):
        assert isinstance(one, Murderer)
        [one.victim] = server.children()
        await play(one, other, 5)
        assert one.victim is None


async def test_a_dead_server_is_raised_for_both_and_for_all_later_calls(start: Start) -> None:
    server = start(*QUICK)
    configuration = configuration_of(server)
    async with pair(configuration, Murderer, max_concurrent_battles=3) as (one, other):
        assert isinstance(one, Murderer)
        one.victim = psutil.Process(server.process.pid)
        error = await fails(
            one.battle_against(other, n_battles=5), ConnectionLost, "has no connection to"
        )
        assert error.room is not None
        assert error.room.startswith(f"battle-{FORMAT}-")
        await fails(other.ladder(1), ConnectionLost, other.username)


class Poison(BattleOrder):
    """A choice that breaks the simulator."""

    @property
    def message(self) -> str:
        return "/choose fault throw"


class Poisoner(RandomPlayer):
    """Breaks the simulator in its second turn."""

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        return Poison() if battle.turn == 2 else self.choose_default_move()


async def test_a_battle_that_breaks_the_simulator_is_raised_with_its_cause(start: Start) -> None:
    server = start(*QUICK, f"--node-arguments=--require {POISON}", "--pool", "1")
    async with pair(configuration_of(server), Poisoner) as (one, other):
        error = await fails(one.battle_against(other), BattleFailed, "BattlePoisoned")
        assert error.room == f"battle-{FORMAT}-1"


async def test_an_environment_plays_and_notices_the_end_of_its_server(start: Start) -> None:
    server = start(*QUICK)
    environment = BlindEnvironment(configuration_of(server))
    await asyncio.to_thread(environment.reset)
    await asyncio.to_thread(environment.reset)
    server.process.kill()
    with pytest.raises(ConnectionLost):
        async with asyncio.timeout(15):
            await asyncio.to_thread(environment.reset)
