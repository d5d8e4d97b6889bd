"""The lobby: takes what clients say, knows who they are, and keeps the games that they play."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Iterable
from typing import Any

import structlog

from ..errors import BridgeError, StaleChoice
from ..registry import ControllerRegistry
from ..seeds import Seed
from .commands import Saying, obey
from .limits import Limits
from .matchmaking import Matchmaker
from .names import clean_name, name_problem, to_id
from .timer import TICK
from .users import Connection, Game, Transport, User

__all__ = ["Lobby"]

log = structlog.get_logger("bridge.lobby")

_CHALLENGE_BYTES = 128


class Lobby:
    """Everybody who is here, on one registry and one event loop.

    With a seed, who plays whom for the how manieth time decides the seed of a battle.
    """

    def __init__(
        self,
        registry: ControllerRegistry,
        *,
        seed: Seed | None = None,
        limits: Limits | None = None,
        tick_seconds: float = TICK,
    ) -> None:
        self.registry = registry
        self.limits = limits or Limits()
        self.tick_seconds = tick_seconds
        """How long a tick of the battle timers takes, which count it as five seconds."""
        self.matchmaker = Matchmaker(self, seed)
        self._users: dict[str, User] = {}
        self._games: dict[str, Game] = {}
        self._connections: set[Connection] = set()
        self._connected = 0
        self._named = 0
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_open = True

    def __repr__(self) -> str:
        return (
            f"<Lobby: {len(self._connections)} connections, {len(self._users)} users, "
            f"{len(self._games)} games>"
        )

    @property
    def user_count(self) -> int:
        return len(self._users)

    @property
    def game_count(self) -> int:
        return len(self._games)

    def stats(self) -> dict[str, int]:
        """Plain data: how many are here, and what they play."""
        return {
            "connections": len(self._connections),
            "users": len(self._users),
            "games": len(self._games),
            "connected": self._connected,
        }

    # Clients

    def connect(self, transport: Transport) -> Connection:
        """Greets a client."""
        self._connected += 1
        connection = Connection(self._connected, transport)
        self._connections.add(connection)
        connection.send(f"|updateuser| Guest {connection.number}|0|1|{{}}")
        connection.send(f"|challstr|4|{secrets.token_hex(_CHALLENGE_BYTES)}")
        return connection

    def receive(self, connection: Connection, message: str) -> None:
        """Takes a message of a client: a room or none, a bar, and lines. Others are ignored."""
        room, bar, text = message.partition("|")
        if not bar or not connection.is_open:
            return
        if len(message) > self.limits.longest_message:
            connection.popup("Your message is too long.")
            return
        if "\n" not in text:
            self.say(connection, room, text)
            return
        lines = text.split("\n")
        if len(lines) > self.limits.lines_per_message:
            connection.popup("You're sending too many lines at once.")
            return
        for line in lines:
            self.say(connection, room, line)

    def say(self, connection: Connection, room: str, line: str) -> None:
        """Does what a line says, if it is a command, or else passes it on."""
        line = line.strip()
        if line.startswith("/") and not line.startswith("//"):
            word, _, target = line[1:].partition(" ")
            obey(self, Saying(connection, room, word.lower(), target))
        elif line:
            self._chat(connection, room, line)

    def _chat(self, connection: Connection, room: str, line: str) -> None:
        user = connection.user
        game = None if user is None else user.games.get(room)
        if user is None or game is None:
            connection.complain("You can only chat in the room of a game that you play.")
        elif len(line) > self.limits.longest_chat:
            connection.complain("Your message is too long.", room)
        else:
            # Clients show what begins with one slash as if the server had said it.
            text = line.replace("|", "/")
            game.chat(user, f"//{text.lstrip('/')}" if text.startswith("/") else text)

    def disconnect(self, connection: Connection) -> None:
        """A client is gone. Its games wait for it, by the clock."""
        if not connection.is_open:
            return
        connection.is_open = False
        self._connections.discard(connection)
        self._let_go(connection)

    def log_in(self, connection: Connection, name: str) -> None:
        """Gives a client the name that it wants, unless somebody else is here by that name."""
        name = clean_name(name)
        if (problem := name_problem(name)) is not None:
            connection.send(f"|nametaken||{problem}")
            return
        user = self._users.get(to_id(name))
        if user is not None and user.connection is connection:
            user.update()
            return
        if user is not None and user.connection is not None:
            connection.send(f'|nametaken|{name}|Someone is already using the name "{user.name}".')
            return
        self._let_go(connection)
        if user is None:
            self._named += 1
            user = User(name, to_id(name), self._named)
            self._users[user.id] = user
        user.connection = connection
        connection.user = user
        user.update()
        user.update_search()

    def log_out(self, connection: Connection) -> None:
        self._let_go(connection)
        connection.send(f"|updateuser| Guest {connection.number}|0|1|{{}}")

    def _let_go(self, connection: Connection) -> None:
        """Parts a client from its name, which stays as long as it has games."""
        user = connection.user
        if user is None:
            return
        connection.user = None
        user.connection = None
        self.matchmaker.forget(user)
        for game in list(user.games.values()):
            game.leave(user)
        self._forget_if_idle(user)

    def _forget_if_idle(self, user: User) -> None:
        if user.connection is None and not user.games:
            self._users.pop(user.id, None)

    def find_user(self, name: str) -> User | None:
        return self._users.get(to_id(name))

    async def validate(self, user: User, format: str) -> None:
        """Tells a user whether its team is legal."""
        ready = await self.matchmaker.prepare(user, format, is_challenge=True)
        if ready is not None:
            user.popup(f"Your team is valid for {ready.facts.name}.")

    # Games

    def add_game(self, game: Game, users: Iterable[User]) -> None:
        self._games[game.tag] = game
        for user in users:
            user.games[game.tag] = game
            user.update_search()

    def remove_game(self, game: Game, users: Iterable[User]) -> None:
        self._games.pop(game.tag, None)
        for user in users:
            user.games.pop(game.tag, None)
            self._forget_if_idle(user)

    def has_game(self, tag: str) -> bool:
        return tag in self._games

    # Life

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Does something in the background, until the lobby closes."""
        if not self._is_open:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, StaleChoice):
            # Both gave up at once, say: nobody needs to be told that a battle has ended.
            return
        if isinstance(error, BridgeError):
            log.info("a command of a client was refused", cause=str(error))
        else:
            log.error("a command of a client failed", exc_info=error)

    async def close(self, reason: str = "the server is closing") -> None:
        """Parts from everybody; their rooms end with the registry, which is not closed here."""
        self._is_open = False
        for game in list(self._games.values()):
            game.close()
        for connection in list(self._connections):
            connection.transport.close(reason)
            self.disconnect(connection)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
