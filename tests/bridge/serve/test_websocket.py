"""Showdown's WebSocket as scripts meet it: who is let in, who plays, and how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.player import RandomPlayer

from bridge import BridgeConfig, ControllerRegistry
from bridge.lobby import Lobby
from bridge.runtime import find_node
from bridge.serve.access import Access, Places
from bridge.serve.service import Phase, Service
from bridge.serve.websocket import PATH, WebSocketEndpoint, websocket_url
from tests.conftest import until
from tests.serving import (
    QUICK,
    SERVE,
    Client,
    Start,
    get,
    node_that,
    open_app,
    servers,
    still_there,
)

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def start() -> Iterator[Start]:
    with servers() as start:
        yield start


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The URL of a server that is ready, with nothing but its defaults."""
    with servers() as start:
        server = start(*QUICK)
        url = server.url()
        server.wait_for("event=ready")
        yield url
        server.process.terminate()
        assert server.finish() == 0
        assert "Traceback" not in "\n".join(server.log)


def lobby_of(url: str) -> dict[str, int]:
    stats: dict[str, int] = json.loads(get(f"{url}/api/stats")[2])["lobby"]
    return stats


# Players


async def test_players_of_poke_env_play_unchanged(served: str) -> None:
    players = [
        RandomPlayer(
            AccountConfiguration.generate("maple", rand=True),
            battle_format="gen9randombattle",
            log_level=logging.ERROR,
            max_concurrent_battles=4,
            server_configuration=ServerConfiguration(websocket_url(served), "https://no.one/?"),
        )
        for _ in range(2)
    ]
    try:
        await players[0].battle_against(players[1], n_battles=8)
        assert [player.n_finished_battles for player in players] == [8, 8]
        assert players[0].n_won_battles + players[1].n_won_battles <= 8
        assert all(battle.turn > 1 for battle in players[0].battles.values())
    finally:
        for player in players:
            await player.ps_client.stop_listening()  # type: ignore[no-untyped-call]


@pytest.mark.timeout(120)
async def test_three_hundred_log_in_at_once_and_some_of_them_play(served: str) -> None:
    async with AsyncExitStack() as stack:
        clients = [Client(served, f"crowd {number}") for number in range(300)]
        await asyncio.gather(*map(stack.enter_async_context, clients))
        await asyncio.gather(*(client.hear_until(client.name) for client in clients))
        lobby = await asyncio.to_thread(lobby_of, served)
        assert (lobby["connections"], lobby["users"]) == (300, 300)
        await asyncio.gather(*(client.play(1) for client in clients[:60]))
        assert all(len(client.ended) == 1 for client in clients[:60])
        metrics = (await asyncio.to_thread(get, f"{served}/metrics"))[2]
        assert "maple_lobby_connections 300.0" in metrics
    await asyncio.to_thread(wait_for_nobody, served)


def wait_for_nobody(url: str) -> None:
    while lobby_of(url)["connections"]:
        pass
    assert lobby_of(url) | {"connected": 0} == dict.fromkeys(
        ("connections", "users", "games", "connected"), 0
    )


async def test_the_usual_limit_of_open_files_does_not_limit_clients(start: Start) -> None:
    server = start(*QUICK, command=("/bin/sh", "-c", 'ulimit -Sn 64; exec "$@"', "sh", *SERVE))
    url = server.url()
    async with AsyncExitStack() as stack:
        clients = [Client(url, f"crowd {number}") for number in range(100)]
        await asyncio.gather(*map(stack.enter_async_context, clients))
        await asyncio.gather(*(client.hear_until(client.name) for client in clients))
    server.process.terminate()
    assert await asyncio.to_thread(server.finish) == 0
    assert not any("too few files" in line for line in server.log)


async def test_too_few_files_are_complained_of(start: Start) -> None:
    server = start(*QUICK, command=("/bin/sh", "-c", 'ulimit -n 600; exec "$@"', "sh", *SERVE))
    assert "raise ulimit -n, or lower --max-connections" in server.wait_for("too few files")
    server.process.terminate()
    assert await asyncio.to_thread(server.finish) == 0


async def test_a_name_is_its_who_came_first(served: str) -> None:
    async with Client(served, "Ash") as ash, Client(served, "Gary") as gary:
        await ash.hear_until("|updateuser| Ash|1|")
        await gary.hear_until("|updateuser| Gary|1|")
        await gary.say("|/trn A-S-H,0,")
        assert "Someone is already using the name" in await gary.hear_until("|nametaken|A-S-H|")


async def test_a_plain_request_is_told_what_this_is(served: str) -> None:
    status, _, text = await asyncio.to_thread(get, f"{served}{PATH}")
    assert (status, text) == (426, "This is a WebSocket: ask for it with ws://.\n")


# Who is let in


@pytest.fixture
async def idle(settings: BridgeConfig) -> AsyncIterator[Service]:
    """A service that says it is ready, with no pool: for those who are turned away before."""
    service = Service(ControllerRegistry(settings), "http://127.0.0.1:1")
    service.become(Phase.SERVING)
    yield service
    await service.lobby.close()


async def answer(url: str, **headers: str) -> tuple[int, str]:
    """Status and text of what a client that would open a WebSocket is told."""
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=upgrade | key | headers) as response,
    ):
        return response.status, "" if response.status == 101 else await response.text()


async def test_a_token_is_asked_for_everywhere_but_at_healthz(idle: Service) -> None:
    async with open_app(idle, Access(token="sésame")) as url:
        for path in ("/", "/metrics", "/api/stats", PATH):
            assert (await answer(f"{url}{path}"))[0] == 401
            assert (await answer(f"{url}{path}?token=sesame"))[0] == 401
            assert (await answer(f"{url}{path}", Authorization="Bearer other"))[0] == 401
        _, text = await answer(f"{url}{PATH}")
        assert "add ?token=TOKEN to the URL" in text
        assert (await answer(f"{url}{PATH}?token=sésame"))[0] == 101
        assert (await answer(f"{url}/healthz"))[0] != 401


async def test_a_token_may_come_in_a_header(idle: Service) -> None:
    async with open_app(idle, Access(token="open")) as url:
        for path, status in (("/api/stats", 200), (PATH, 101)):
            assert (await answer(f"{url}{path}", Authorization="bearer open"))[0] == status
        # A name is fine where there is a token.
        assert (await answer(f"{url}/api/stats?token=open", Host="maple.example"))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"Origin": "http://{host}"}, 101),
        ({"Origin": "https://{host}"}, 101),
        ({"Host": "localhost:8000", "Origin": "http://localhost:8000"}, 101),
        ({"Host": "[::1]:8000"}, 101),
        ({"Origin": "https://play.pokemonshowdown.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Host": "localhost:8000", "Origin": "http://localhost:3000"}, 403),
        ({"Host": "rebound.example:8000", "Origin": "http://rebound.example:8000"}, 403),
        ({"Host": "rebound.example:8000"}, 403),
        ({"Host": "127.0.0.1.rebound.example"}, 403),
    ],
)
async def test_pages_of_other_sites_are_turned_away(
    idle: Service, headers: dict[str, str], status: int
) -> None:
    async with open_app(idle) as url:
        host = url.removeprefix("http://")
        named = {name: value.format(host=host) for name, value in headers.items()}
        assert (await answer(f"{url}{PATH}", **named))[0] == status
        assert (await answer(f"{url}/metrics", **named))[0] == (200 if status == 101 else 403)


async def test_there_are_only_so_many_connections(idle: Service) -> None:
    async with (
        open_app(idle, Access(max_connections=3, max_connections_per_address=2)) as url,
        aiohttp.ClientSession() as session,
    ):
        first = await session.ws_connect(websocket_url(url))
        async with session.ws_connect(websocket_url(url)):
            status, text = await answer(f"{url}{PATH}")
            assert status == 503
            assert text.startswith("There are 2 connections from 127.0.0.1 already")
            assert idle.lobby.stats()["connections"] == 2
        await first.close()
        await until(lambda: idle.lobby.stats()["connections"] == 0)
        assert (await answer(f"{url}{PATH}"))[0] == 101


def test_places_are_counted_in_all_and_by_address() -> None:
    places = Places(Access(max_connections=2, max_connections_per_address=1))
    with places.take("a"):
        with places.take("b"):
            assert repr(places) == "<Places: 2 of 2, 2 addresses>"
            with (
                pytest.raises(aiohttp.web.HTTPServiceUnavailable, match="Service"),
                places.take("c"),
            ):
                pass
        with pytest.raises(aiohttp.web.HTTPServiceUnavailable), places.take("a"):
            pass
    assert repr(places) == "<Places: 0 of 2, 0 addresses>"


# The start and the end


async def test_a_client_that_comes_early_waits_for_the_pool(settings: BridgeConfig) -> None:
    service = Service(ControllerRegistry(settings), "")
    async with open_app(service) as url, aiohttp.ClientSession() as session:
        opening = asyncio.create_task(answer(f"{url}{PATH}"))
        stopped = asyncio.create_task(session.get(f"{url}/healthz"))
        async with await stopped as response:
            assert (await response.json())["status"] == "starting"
        assert not opening.done()
        service.become(Phase.SERVING)
        assert (await opening)[0] == 101
        service.become(Phase.STOPPING)
        assert await answer(f"{url}{PATH}") == (503, "The server is stopping.\n")


async def test_a_script_may_be_started_with_the_server(start: Start) -> None:
    server = start(*QUICK)
    async with Client(server.url(), "early") as early:
        await early.hear_until("|updateuser| early|1|")
    server.process.terminate()
    assert server.finish() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_battles_may_end_before_clients_are_told_to_go(
    start: Start, number: signal.Signals
) -> None:
    server = start(*QUICK)
    url = server.url()
    server.wait_for("event=ready")
    children = server.children()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(url, f"c{n}")) for n in range(6)]
        for client in clients:
            await client.say("|/search gen9randombattle")
        # They play on while all of this happens: a battle that rests is not waited for.
        rooms = await asyncio.gather(*(client.hear_until("|request|{") for client in clients))
        server.process.send_signal(number)
        await asyncio.gather(*(client.hear_all() for client in clients))
        assert [client.ended for client in clients] == [{room.partition("\n")[0]} for room in rooms]
        assert {client.socket.close_code for client in clients} == {1001}
        assert {client.close_reason for client in clients} == {"the server is stopping"}
    assert await asyncio.to_thread(server.finish) == 0
    assert still_there(children, 0) == []
    assert "Traceback" not in "\n".join(server.log)


async def test_a_battle_that_nobody_goes_on_with_does_not_keep_the_server(start: Start) -> None:
    server = start(*QUICK, "--drain-timeout", "0.2")
    url = server.url()
    server.wait_for("event=ready")
    async with Client(url, "one", plays=False) as one, Client(url, "two", plays=False) as two:
        for client in (one, two):
            await client.say("|/search gen1randombattle")
        await one.hear_until("|request|{")
        server.process.send_signal(signal.SIGINT)
        assert "the registry was closed" in await one.hear_until("|bigerror|")
        await asyncio.gather(one.hear_all(), two.hear_all())
        assert two.close_reason == "the server is stopping"
    assert await asyncio.to_thread(server.finish) == 0


async def test_a_pool_that_cannot_be_kept_up_says_so_to_clients(
    start: Start, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    fail = f'[ -e "{once}" ] && exit 3; touch "{once}"; exec "{find_node().path}" "$@"'
    node = node_that(tmp_path / "node", fail)
    server = start(*QUICK, "--node", node, "--start-attempts", "2")
    url = server.url()
    server.wait_for("event=ready")
    async with Client(url, "one") as one:
        await one.hear_until("|updateuser| one|1|")
        [controller] = server.children()
        controller.kill()
        await one.hear_all()
        assert one.socket.close_code == 1001
        assert one.close_reason is not None
        assert one.close_reason.startswith("the server failed: Node exited with status 3")
    assert await asyncio.to_thread(server.finish) == 1


# Fairness and frames


class Flood:
    """A socket that always has another message."""

    def __init__(self, messages: int) -> None:
        self.left = messages

    async def receive(self) -> aiohttp.WSMessage:
        self.left -= 1
        kind = WSMsgType.TEXT if self.left >= 0 else WSMsgType.CLOSED
        return aiohttp.WSMessage(kind, "no bar", None)


async def test_who_says_much_lets_others_have_a_turn(idle: Service) -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Deaf:
        is_closing = False

        def deliver(self, room: str, text: str) -> None: ...

        def close(self, reason: str) -> None: ...

    other = asyncio.create_task(take_turns())
    endpoint: Any = WebSocketEndpoint(idle, Access())
    deaf = Deaf()
    await endpoint._listen(Flood(640), deaf, idle.lobby.connect(deaf))
    other.cancel()
    assert turns >= 20


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 1_000_000])
async def test_texts_of_any_length_arrive_in_order(settings: BridgeConfig, size: int) -> None:
    class Chatty(Lobby):
        def receive(self, connection: Any, message: str) -> None:  # noqa: ANN401
            for room in ("", "battle-1"):
                connection.send("é" + message + "x" * size, room)
            connection.send("half a character: \ud800")

    registry = ControllerRegistry(settings)
    service = Service(registry, "", Chatty(registry))
    service.become(Phase.SERVING)
    async with (
        open_app(service) as url,
        aiohttp.ClientSession() as session,
        session.ws_connect(websocket_url(url), max_msg_size=0) as socket,
    ):
        greetings = [await socket.receive_str() for _ in range(2)]
        assert [text.split("|")[1] for text in greetings] == ["updateuser", "challstr"]
        for number in range(3):
            await socket.send_str(str(number))
        for number in range(3):
            assert await socket.receive_str() == f"é{number}" + "x" * size
            assert await socket.receive_str() == f">battle-1\né{number}" + "x" * size
            assert await socket.receive_str() == "half a character: ?"
