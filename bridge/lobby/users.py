"""Who is in the lobby: clients as they are connected, and users by their names."""

from __future__ import annotations

from typing import Protocol

import orjson

__all__ = ["Connection", "Game", "Transport", "User", "popup"]


class Transport(Protocol):
    """How a client is reached. Nothing here waits, and nothing raises."""

    def deliver(self, room: str, text: str) -> None:
        """Takes lines to the client: those of a room, or of none if `room` is empty."""

    def close(self, reason: str) -> None:
        """Ends the connection."""


class Game(Protocol):
    """What a room of the lobby offers to the users who play in it."""

    tag: str
    title: str

    def choose(self, user: User, choice: str, rqid: str) -> None: ...

    def undo(self, user: User) -> None: ...

    def forfeit(self, user: User, reason: str = " forfeited.") -> None: ...

    def set_timer(self, user: User, state: str) -> None: ...

    def decide_on_sheets(self, user: User, *, accepts: bool) -> None: ...

    def confirm_ready(self, user: User) -> None: ...

    def join(self, user: User) -> None:
        """A player comes, or comes back, and is told all that it has missed."""

    def leave(self, user: User) -> None:
        """A player goes, or has lost its connection."""

    def chat(self, user: User, line: str) -> None: ...

    def close(self) -> None:
        """Ends it without a word; nothing of it goes on."""

    def log_of(self, user: User) -> str:
        """What a player has seen so far."""


class Connection:
    """One client: a guest until it has chosen a name."""

    __slots__ = ("is_open", "number", "transport", "user")

    def __init__(self, number: int, transport: Transport) -> None:
        self.number = number
        self.transport = transport
        self.user: User | None = None
        self.is_open = True

    def __repr__(self) -> str:
        return f"<Connection {self.number}: {self.user.name if self.user else 'a guest'}>"

    def send(self, text: str, room: str = "") -> None:
        if self.is_open:
            self.transport.deliver(room, text)

    def popup(self, message: str) -> None:
        self.send(popup(message))

    def complain(self, message: str, room: str = "") -> None:
        """Says why a command was not done, where it was given."""
        self.send("|error|" + message.replace("\n", "\n|error|"), room)


class User:
    """Somebody with a name, who may lose a connection and come back with another."""

    __slots__ = (
        "avatar",
        "connection",
        "games",
        "id",
        "name",
        "number",
        "preparing",
        "searching",
        "team",
    )

    def __init__(self, name: str, id: str, number: int) -> None:
        self.name = name
        self.id = id
        self.number = number
        """How many had come before, whatever their names: what a seed goes by."""
        self.avatar = "1"
        self.team: str | None = None
        self.connection: Connection | None = None
        self.games: dict[str, Game] = {}
        self.searching: list[str] = []
        self.preparing = 0
        """How many of its challenges and searches are being looked at."""

    def __repr__(self) -> str:
        state = "here" if self.connection else "gone"
        return f"<User {self.name}: {state}, {len(self.games)} games>"

    @property
    def identity(self) -> str:
        """The name behind the sign of its rank, which is none."""
        return f" {self.name}"

    def send(self, text: str, room: str = "") -> None:
        if self.connection is not None:
            self.connection.send(text, room)

    def popup(self, message: str) -> None:
        self.send(popup(message))

    def update(self) -> None:
        """Tells the client who it is."""
        self.send(f"|updateuser|{self.identity}|1|{self.avatar}|{{}}")

    def update_search(self, left: str | None = None) -> None:
        """Tells the client what it searches and plays, and which room it has left."""
        told: dict[str, object] = {
            "searching": self.searching,
            "games": {tag: game.title for tag, game in self.games.items()} or None,
        }
        if left is not None:
            told["deinit"] = [left]
        self.send(f"|updatesearch|{orjson.dumps(told).decode()}")


def popup(message: str) -> str:
    """A message that a client shows on top of everything."""
    return "|popup|" + message.replace("\n", "||")
