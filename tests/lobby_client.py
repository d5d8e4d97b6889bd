"""A client of the lobby that says what a test tells it to, and keeps all that it hears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Self

import orjson

from bridge.lobby import Connection, Lobby

PATIENCE = 20.0


class LobbyClient:
    """A transport that delivers into a list."""

    connection: Connection

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby
        self._news = asyncio.Event()
        self.heard: list[tuple[str, str]] = []
        self.closed: str | None = None

    @classmethod
    def enter(cls, lobby: Lobby, name: str | None = None) -> Self:
        """Connects, and logs in if there is a name."""
        client = cls(lobby)
        client.connection = lobby.connect(client)
        if name is not None:
            client.say(f"/trn {name},0,")
        return client

    # What the lobby calls

    def deliver(self, room: str, text: str) -> None:
        self.heard.append((room, text))
        self._news.set()

    def close(self, reason: str) -> None:
        self.closed = reason

    # What tests call

    def say(self, line: str, room: str = "") -> None:
        self._lobby.receive(self.connection, f"{room}|{line}")

    def go(self) -> None:
        self._lobby.disconnect(self.connection)

    def said(self, beginning: str, room: str | None = None) -> list[str]:
        """What was heard that begins so, in one room or in any."""
        return [t for r, t in self.heard if t.startswith(beginning) and room in (None, r)]

    async def hears(self, test: str | Callable[[str, str], Any]) -> tuple[str, str]:
        """The first message that has these words, or passes the test, as soon as there is one."""
        is_it = test if callable(test) else lambda _room, text: test in text
        position = 0
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    while position < len(self.heard):
                        room, text = self.heard[position]
                        position += 1
                        if is_it(room, text):
                            return room, text
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            last = "\n".join(f"{room}: {text[:300]}" for room, text in self.heard[-8:])
            raise AssertionError(f"not heard within {PATIENCE:g} s; the last was\n{last}") from None

    async def hears_more(self) -> None:
        """Returns with the next message."""
        self._news.clear()
        async with asyncio.timeout(PATIENCE):
            await self._news.wait()

    async def asked(self, room: str, after: int = 0) -> dict[str, Any]:
        """The first request of a room with a number above `after` that is not to wait."""

        def is_newer(where: str, text: str) -> bool:
            if where != room or not text.startswith("|request|"):
                return False
            request = orjson.loads(text[9:])
            return request["rqid"] > after and not request.get("wait")

        _, text = await self.hears(is_newer)
        request: dict[str, Any] = orjson.loads(text[9:])
        return request

    async def play(self, room: str, choice: str = "default") -> str:
        """Answers every request of a room with the same choice; returns the frame of the end."""
        answered: set[int] = set()
        position = 0
        async with asyncio.timeout(PATIENCE * 2):
            while True:
                while position < len(self.heard):
                    where, text = self.heard[position]
                    position += 1
                    if where != room:
                        continue
                    if text.endswith("|deinit"):
                        return text
                    if text.startswith("|request|"):
                        request = orjson.loads(text[9:])
                        if not request.get("wait") and request["rqid"] not in answered:
                            answered.add(request["rqid"])
                            self.say(f"/choose {choice}|{request['rqid']}", room)
                self._news.clear()
                await self._news.wait()


async def battle_between(
    one: LobbyClient, other: LobbyClient, format: str = "gen1randombattle"
) -> str:
    """Lets one challenge the other, who accepts; returns the room."""
    before = {room for room, _ in one.heard}
    assert one.connection.user is not None
    assert other.connection.user is not None
    one.say(f"/challenge {other.connection.user.name}, {format}")
    challenge = f"|pm| {one.connection.user.name}| {other.connection.user.name}|/challenge {format}"
    await other.hears(challenge)
    other.say(f"/accept {one.connection.user.name}")
    room, _ = await one.hears(
        lambda room, text: room not in before and text.startswith("|init|battle")
    )
    await other.hears(lambda where, text: where == room and text.startswith("|init|battle"))
    return room
