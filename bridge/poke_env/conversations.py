"""What rooms tell a player: in order for each room, while other rooms go on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

__all__ = ["Conversation"]

Message = list[list[str]]


class Conversation:
    """Handles what one room says, one message after the other, in a task of its own.

    poke-env makes a task for every message, and a lock for every room that brings them in order.
    """

    __slots__ = ("_handle", "_heading", "_loop", "_task", "_unread", "_waiter", "room")

    def __init__(
        self,
        room: str,
        handle: Callable[[Message], Awaitable[None]],
        *,
        failed: Callable[[Conversation, Exception], None],
        ended: Callable[[Conversation], None],
    ) -> None:
        self.room = room
        self._handle = handle
        self._heading = [f">{room}"]
        self._unread: deque[Message | None] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(failed, ended))

    def hear(self, text: str) -> None:
        """Takes lines of the room."""
        if text.startswith("|request|"):
            # Thousands of characters without a line in them.
            self._unread.append([self._heading, ["", "request", text[9:]]])
        else:
            self._unread.append([self._heading, *[line.split("|") for line in text.split("\n")]])
            if text.endswith("|deinit"):
                self._unread.append(None)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def stop(self) -> None:
        """Ends it now, unless it is this conversation that says so: that ends by itself."""
        if asyncio.current_task(self._loop) is not self._task:
            self._task.cancel()

    async def _run(
        self,
        failed: Callable[[Conversation, Exception], None],
        ended: Callable[[Conversation], None],
    ) -> None:
        unread, handle = self._unread, self._handle
        try:
            while True:
                while unread:
                    message = unread.popleft()
                    if message is None:
                        return
                    await handle(message)
                self._waiter = self._loop.create_future()
                await self._waiter
        except Exception as error:  # noqa: BLE001 - whatever a player raises is told to its caller
            failed(self, error)
        finally:
            ended(self)
