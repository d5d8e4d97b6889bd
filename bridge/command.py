"""A command on its way to Node, and whoever waits for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from .wire import Fields, Frame, encode

__all__ = ["Callback", "Command"]

Tell = Callable[[Exception | None], None]


class Callback:
    """Stands where a future does, and calls back at once, without a turn of the event loop."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Tell) -> None:
        self._tell: Tell | None = tell

    def done(self) -> bool:
        return self._tell is None

    def set_result(self, result: object) -> None:
        self._settle(None)

    def set_exception(self, error: Exception) -> None:
        self._settle(error)

    def exception(self) -> None:
        """Nobody has to look: it was told."""

    def _settle(self, error: Exception | None) -> None:
        tell, self._tell = self._tell, None
        assert tell is not None
        tell(error)


class Command:
    """What to do, for whom, and when it was asked.

    It outlives the controller that it was sent to: if that one dies before it answers, the same
    command goes to another. It is encoded here and once, so that what cannot be encoded fails
    where it was asked.
    """

    __slots__ = ("answered", "body", "fields", "future", "issued", "operation", "written")

    def __init__(
        self,
        operation: str,
        fields: Fields,
        *,
        answered: Callable[[Command, Frame], None],
        issued: int,
        future: asyncio.Future[Any] | Callback | None = None,
    ) -> None:
        self.operation = operation
        self.fields = fields
        self.body = encode({"op": operation, **fields})
        self.answered = answered
        self.issued = issued
        self.future = future
        self.written = 0

    def line(self, number: int) -> bytes:
        """The command as it is sent, under a number that its answer will carry."""
        return b'{"id":%d,%b\n' % (number, self.body[1:])

    def settle(self, result: object = None) -> None:
        """Tells whoever waits, if anybody still does."""
        if self.future is not None and not self.future.done():
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)

    def abandon(self, error: Exception) -> None:
        """Fails for a reason that the room tells as well: nobody has to hear it from here."""
        if self.future is not None and not self.future.done():
            self.fail(error)
            self.future.exception()

    def __repr__(self) -> str:
        return f"<Command: {self.operation} {self.fields.get('room', '')}>"
