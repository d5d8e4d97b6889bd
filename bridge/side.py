"""One player's seat in a battle: what it is told, and what it chooses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from msgspec import Raw

from .journal import FORFEITED, Journal, SideId
from .wire import News, decode_request, encode

__all__ = ["Side", "Update"]

_NO_REQUEST = Raw()


class Update:
    """What a side learns at once, as its view has it.

    That is the lines that it may see and, if it is asked, the request; an observation; or both.
    """

    __slots__ = ("_raw", "_request", "is_last", "observation", "refusal", "rqid", "text")

    def __init__(self, news: News, is_last: bool = False) -> None:
        self.text = news.text
        self.rqid = news.rqid
        self.observation = news.obs
        """What the side may know, in the bytes that the specification of observations describes."""
        self.refusal = news.refusal
        """With what words the simulator refused the side's choice before it asked again here."""
        self.is_last = is_last
        """Whether the battle ended with it."""
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
    def request_text(self) -> str | None:
        """The request as JSON, which does not decode it."""
        if self._raw:
            return str(memoryview(self._raw), "utf-8")
        return None if self._request is None else encode(self._request).decode()

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n") if self.text else []

    @property
    def must_choose(self) -> bool:
        """Whether the battle waits for this side."""
        request = self.request
        if request is None:
            # A side without lines is told of no other requests than those.
            return self.rqid is not None
        return not request.get("wait")

    def __repr__(self) -> str:
        seen = "" if self.observation is None else f", {len(self.observation)} bytes observed"
        return f"<Update: {len(self.lines)} lines, request {self.rqid}{seen}>"


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

    def undo(self, side: SideId, rqid: int | None) -> asyncio.Future[None]:
        """Takes a choice back."""

    async def forfeit(self, side: SideId, reason: str) -> None:
        """Gives the battle up for a side."""


class Side:
    """One player's seat: what it is told, and what it chooses."""

    __slots__ = ("_receive", "_room", "_unread", "_untold", "_waiter", "id", "rqid")

    def __init__(self, room: Table, side: SideId) -> None:
        self.id: SideId = side
        self._room = room
        # Rarely more than one, and an empty deque is larger than all else here.
        self._unread: list[Update] = []
        self._untold = True
        self._waiter: asyncio.Future[None] | None = None
        self._receive: Callable[[Update], None] | None = None
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
            if self._receive is not None:
                raise RuntimeError(f"somebody listens to {self!r}")
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

    def listen(self, receive: Callable[[Update], None]) -> None:
        """Hands over every unread update now, and every new one as it arrives, instead of `next`.

        That is in the middle of reading from Node: `receive` may choose, but must not take long.
        How a battle ended that fails is told by the room's `result`.
        """
        if self._receive is not None or self._waiter is not None:
            raise RuntimeError(f"somebody already reads the updates of {self!r}")
        self._receive = receive
        unread, self._unread = self._unread, []
        for update in unread:
            self._hand_over(update, receive)

    def choose(self, choice: str, *, rqid: int | None = None) -> asyncio.Future[None]:
        """Answers a request, by default the current one; await it to know it was taken.

        The choice is on its way when this returns, so both sides can choose in one write. A choice
        that is refused raises ChoiceRejected and changes nothing, except that the simulator may
        ask again with what the refusal revealed (a trapped Pokémon, a disabled move): that is the
        next update.
        """
        return self._room.choose(self.id, choice, self.rqid if rqid is None else rqid)

    def undo(self, *, rqid: int | None = None) -> asyncio.Future[None]:
        """Takes back the choice for a request, by default the current one, which is open again.

        Raises StaleChoice where there is nothing to take back, and ChoiceRejected where the
        simulator keeps the choice. It may ask again instead, with what the choice has revealed:
        that is the next update.
        """
        return self._room.undo(self.id, self.rqid if rqid is None else rqid)

    async def forfeit(self, reason: str = FORFEITED) -> None:
        """Gives the battle up; the log says the player's name and the reason."""
        await self._room.forfeit(self.id, reason)

    def push(self, update: Update) -> None:
        if update.rqid is not None:
            self.rqid = update.rqid
        if self._receive is not None:
            self._hand_over(update, self._receive)
            return
        self._unread.append(update)
        self.wake()

    def _hand_over(self, update: Update, receive: Callable[[Update], None]) -> None:
        try:
            receive(update)
        except Exception as error:  # noqa: BLE001 -- it must not end the controller of other rooms
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"whoever listens to {self!r} failed", "exception": error}
            )

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
