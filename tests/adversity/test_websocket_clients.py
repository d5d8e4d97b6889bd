"""Clients of the WebSocket that talk nonsense, flood, read nothing or vanish: only they suffer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from aiohttp import WSMsgType

from bridge import BridgeConfig, ControllerRegistry
from bridge.lobby import Lobby
from bridge.serve import websocket
from bridge.serve.service import Phase, Service
from bridge.serve.websocket import websocket_url
from tests.conftest import until
from tests.serving import QUICK, Client, get, open_app, servers

pytestmark = pytest.mark.timeout(60)

FORMAT = "gen1randombattle"


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The URL of a server whose log has no traceback in the end."""
    with servers() as start:
        server = start(*QUICK)
        url = server.url()
        server.wait_for("event=ready")
        yield url
        server.process.terminate()
        assert server.finish() == 0
        assert "Traceback" not in "\n".join(server.log)


@pytest.fixture
async def service(settings: BridgeConfig) -> AsyncIterator[Service]:
    """A service in this process, in which five seconds of a battle timer take a moment."""
    async with ControllerRegistry(settings) as registry:
        service = Service(registry, "", Lobby(registry, tick_seconds=0.001))
        service.become(Phase.SERVING)
        yield service
        await service.lobby.close()


GARBAGE = {
    "nothing": b"",
    "no bar": b"hello",
    "bars only": b"||||||",
    "an empty command": b"|/",
    "a NUL": b"\x00|/\x00 \x00",
    "a NUL in a name": b"|/trn \x00\x00,0,",
    "half a character in JSON": rb'|/utm "\ud800\udfff\ud83d"',
    "half a character in a name": rb"|/trn \ud800,0,",
    "a room that is none": b"battle-gen9ou-1|/choose move 1",
    "a choice in no room": b"|/choose move 1|99999999999999999999",
    "many lines": b"|/a\n/b\n" * 1000,
    "the longest message": b"|" + b"/" * (64 * 1024 - 1),
    "a command that sends a command": b"|" + b"/msgroom a," * 5900 + b"/cmd rooms",
    "line ends of all kinds": "|/trn a\u2028\u2029\x85\x0b\x0c\r\nb,0,".encode(),
}


@pytest.mark.parametrize("nonsense", list(GARBAGE.values()), ids=list(GARBAGE))
async def test_nonsense_is_survived_by_who_says_it(served: str, nonsense: bytes) -> None:
    async with Client(served, "Talker") as talker:
        await talker.hear_until("|updateuser| Talker|1|")
        await talker.socket.send_frame(nonsense, WSMsgType.TEXT)
        await talker.say("|/cmd rooms")
        assert '"userCount":1' in await talker.hear_until("|queryresponse|rooms|")


@pytest.mark.parametrize(
    ("frame", "kind", "code"),
    [
        (b"|/cmd rooms", WSMsgType.BINARY, 1003),
        (b"|/trn \xed\xa0\x80\xff,0,", WSMsgType.TEXT, 1007),
        (b"|" + b"x" * 64 * 1024, WSMsgType.TEXT, 1009),
    ],
    ids=["binary", "no UTF-8", "too long"],
)
async def test_what_is_no_text_ends_the_connection_of_that_client_only(
    served: str, frame: bytes, kind: WSMsgType, code: int
) -> None:
    async with Client(served, f"Other {code}") as other, Client(served, f"Noise {code}") as noise:
        await noise.hear_until(f"|updateuser| {noise.name}|1|")
        await noise.socket.send_frame(frame, kind)
        await noise.hear_all()
        assert noise.socket.close_code == code
        await other.hear_until(f"|updateuser| {other.name}|1|")


async def test_a_flood_does_not_stop_the_battles_of_others(served: str) -> None:
    async def flood(client: Client) -> None:
        for number in range(20_000):
            await client.say(f"|/nonsense{number}")

    async with (
        Client(served, "Flood") as flooder,
        Client(served, "One") as one,
        Client(served, "Two") as two,
    ):
        flooding = asyncio.gather(flood(flooder), flooder.hear_until('"/nonsense19999"'))
        await asyncio.gather(one.play(3, FORMAT), two.play(3, FORMAT))
        await flooding
        assert one.ended == two.ended
        assert len(one.ended) == 3


async def test_a_crowd_that_comes_and_goes_leaves_nothing(served: str) -> None:
    async def come_and_go(number: int) -> None:
        async with Client(served, f"passer {number}") as passer:
            if number % 2:
                await passer.hear_until("|updateuser| passer")
                await passer.say(f"|/search {FORMAT}")

    for _ in range(3):
        await asyncio.gather(*map(come_and_go, range(60)))

    def wait_for_nobody() -> None:
        # Those whose search found somebody are waited for by the clock of their battle.
        while json.loads(get(f"{served}/api/stats")[2])["lobby"]["connections"]:
            pass

    await asyncio.to_thread(wait_for_nobody)


async def test_a_client_that_never_reads_is_disconnected_with_a_reason(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "_UNREAD_BYTES", 200_000)
    async with open_app(service) as url, Client(url, "Reader") as reader:
        await reader.hear_until("|updateuser| Reader|1|")
        async with Client(url, "Sleeper") as sleeper:
            await until(lambda: service.lobby.find_user("Sleeper"))
            user = service.lobby.find_user("Sleeper")
            assert user is not None
            assert user.connection is not None
            transport = user.connection.transport
            assert isinstance(transport, websocket.SocketTransport)

            def pile_up() -> bool:
                transport.deliver("", "x" * 60_000)
                return transport.is_closing

            await until(pile_up)
            await reader.say("|/cmd rooms")
            await reader.hear_until("|queryresponse|rooms|")
            await sleeper.hear_all()
            assert sleeper.socket.close_code == 1008
            assert sleeper.close_reason == "more than 200000 bytes were not read"
            await until(lambda: service.lobby.find_user("Sleeper") is None)


async def test_a_client_that_never_reads_again_is_cut_off(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "_UNREAD_BYTES", 200_000)
    monkeypatch.setattr(websocket, "_LINGER_SECONDS", 0.1)
    async with open_app(service) as url, Client(url, "Sleeper"):
        await until(lambda: service.lobby.find_user("Sleeper"))

        def pile_up() -> bool:
            user = service.lobby.find_user("Sleeper")
            if user is not None:
                user.send("x" * 60_000)
            return user is None

        await until(pile_up)
        assert service.lobby.stats()["connections"] == 0


async def test_who_waits_for_a_client_that_vanished_wins_by_the_clock(service: Service) -> None:
    async with open_app(service) as url, Client(url, "Stays", plays=False) as stays:
        async with aiohttp.ClientSession() as session:
            socket = await session.ws_connect(websocket_url(url))
            await socket.send_str("|/trn Vanishes,0,")
            await until(lambda: service.lobby.find_user("Vanishes"))
            await socket.send_str(f"|/search {FORMAT}")
            await stays.say(f"|/search {FORMAT}")
            request = await stays.hear_until("|request|{")
            room = request.partition("\n")[0][1:]
            await stays.say(f"{room}|/timer on")
            await stays.say(f"{room}|/choose default")
            await stays.hear_until("|inactive|Battle timer is ON")
            # The session closes the socket under it, without a word of goodbye.
        line = await stays.hear_until("|inactive|Vanishes disconnected")
        assert "Vanishes disconnected and has " in line
        assert "to reconnect!" in line
        await stays.hear_until("|win|Stays")
        await until(lambda: service.lobby.stats()["games"] == 0)
        assert service.lobby.find_user("Vanishes") is None


async def test_a_client_that_comes_back_plays_on(service: Service) -> None:
    service.lobby.tick_seconds = 5.0
    async with open_app(service) as url, Client(url, "Stays") as stays:
        async with Client(url, "Returns", plays=False) as returns:
            await returns.say(f"|/search {FORMAT}")
            await stays.say(f"|/search {FORMAT}")
            room = (await returns.hear_until("|request|{")).partition("\n")[0][1:]
        await stays.hear_until("|inactive|Battle timer is ON")
        async with Client(url, "Returns") as returns:
            await returns.hear_until("|updateuser| Returns|1|")
            await returns.say(f"|/join {room}")
            await asyncio.gather(returns.hear_until("|win|"), stays.hear_until("|win|"))
