"""One player's seat in a battle: what it is told, and what it chooses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Protocol

from msgspec import Raw

from .journal import Journal, SideId
from .wire import News, decode_request

__all__ = ["Side", "Update"]

_NO_REQUEST = Raw()


class Update:
    """What a side learns at once: the lines that it may see and, if it is asked, the request."""

    __slots__ = ("_raw", "_request", "rqid", "text")

    def __init__(self, news: News) -> None:
        self.text = news.text
        self.rqid = news.rqid
        self._raw = news.request
        self._request: dict[str, Any] | None = None

    @property
    def request(self) -> dict[str, Any] | None:
        """The request, decoded when it is first looked at."""
        if self._raw:
            self._request = decode_request(self._raw)
            # It keeps the whole frame in memory, with what the other side was told.
            self._raw = _NO_REQUEST
        return self._request

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n") if self.text else []

    @property
    def must_choose(self) -> bool:
        """Whether the battle waits for this side."""
        request = self.request
        return request is not None and not request.get("wait")

    def __repr__(self) -> str:
        return f"<Update: {len(self.lines)} lines, request {self.rqid}>"


class Table(Protocol):
    """What a side needs of the battle that it sits at."""

    tag: str
    journal: Journal

    is_over: bool
    """Whether nothing more will happen."""

    def raise_failure(self) -> None:
        """Raises what ended the battle, if that was an error."""

    def choose(self, side: SideId, choice: str, rqid: int | None) -> asyncio.Future[None]:
        """Passes a choice on."""

    async def forfeit(self, side: SideId) -> None:
        """Gives the battle up for a side."""


class Side:
    """One player's seat: what it is told, and what it chooses."""

    __slots__ = ("_room", "_unread", "_untold", "_waiter", "id", "rqid")

    def __init__(self, room: Table, side: SideId) -> None:
        self.id: SideId = side
        self._room = room
        # Rarely more than one, and an empty deque is larger than all else here.
        self._unread: list[Update] = []
        self._untold = True
        self._waiter: asyncio.Future[None] | None = None
        self.rqid: int | None = None
        """The number of the side's newest request, read or not."""

    def __repr__(self) -> str:
        return (
            f"<Side {self.id} of {self._room.tag}: {len(self._unread)} unread, request {self.rqid}>"
        )

    @property
    def name(self) -> str:
        journal = self._room.journal
        return journal.p1.name if self.id == "p1" else journal.p2.name

    async def next(self) -> Update | None:
        """The next update, as soon as there is one; None when the battle is over and read."""
        while not self._unread:
            if self._room.is_over:
                self._room.raise_failure()
                return None
            if self._waiter is not None:
                raise RuntimeError(f"somebody already waits for the next update of {self!r}")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._unread.pop(0)

    async def __aiter__(self) -> AsyncIterator[Update]:
        while (update := await self.next()) is not None:
            yield update

    def choose(self, choice: str, *, rqid: int | None = None) -> asyncio.Future[None]:
        """Answers a request, by default the current one; await it to know it was taken.

        The choice is on its way when this returns, so both sides can choose in one write. A choice
        that is refused raises ChoiceRejected and changes nothing, except that the simulator may
        ask again with what the refusal revealed (a trapped Pokémon, a disabled move): that is the
        next update.
        """
        return self._room.choose(self.id, choice, self.rqid if rqid is None else rqid)

    async def forfeit(self) -> None:
        """Gives the battle up."""
        await self._room.forfeit(self.id)

    def push(self, update: Update) -> None:
        self._unread.append(update)
        if update.rqid is not None:
            self.rqid = update.rqid
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take_over(self, other: Side) -> None:
        """Starts where another seat stands, with its unread updates."""
        self._unread.extend(other._unread)
        self.rqid = other.rqid
        self._untold = all(unread.rqid != other.rqid for unread in other._unread)

    def ask_again(self, update: Update) -> None:
        """Repeats the open request of the seat that was taken over, unless that is still unread."""
        if self._untold:
            self.push(update)
