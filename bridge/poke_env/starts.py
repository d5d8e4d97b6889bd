"""What a player has asked for: a game that is still to come, or a word on why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from ..lobby.names import to_id

__all__ = ["Starts"]

# What is answered by a game, or by a popup that says why there is none.
_STARTS: Final = ("/challenge ", "/accept ", "/search ")
_CANNOT_CANCEL: Final = "|popup|You are not challenging "
# A server that answers at all does so within this.
_SETTLE_SECONDS: Final = 5.0


class Starts:
    """Counts what is unanswered. What is taken back is still answered, but to nobody.

    A challenge that the server still looks at cannot be cancelled, and a game that it opens cannot
    be stopped: both are waited for, and ended then.
    """

    def __init__(self, name: str, send: Callable[[str], None]) -> None:
        self._id = to_id(name)
        self._send = send
        self._unanswered = 0
        self._challenged = ""
        self._is_searching = False
        self._settled: asyncio.Event | None = None

    def ask(self, message: str) -> None:
        """The player says something to the server, which may be a start."""
        if message.startswith(_STARTS):
            self._unanswered += 1
            if message.startswith("/challenge "):
                self._challenged = message[len("/challenge ") :].partition(",")[0]

    def begin(self) -> bool:
        """A game begins; returns whether the player wants it."""
        self._is_searching = False
        return self._answer()

    def refuse(self, popup: str) -> bool:
        """A popup says something; returns whether it is why the player has no game."""
        if popup.startswith(_CANNOT_CANCEL):
            return False
        return self._unanswered > 0 and self._answer()

    def hear_search(self, is_searching: bool) -> None:
        """The server says whether the player is on the ladder now."""
        was_searching, self._is_searching = self._is_searching, is_searching
        if self._settled is None:
            return
        if is_searching:
            self._send("|/cancelsearch")
        elif was_searching:
            self._answer()

    def hear_message(self, sender: str, receiver: str, text: str) -> bool:
        """The server says what becomes of a challenge; returns whether there is no game of it."""
        if to_id(sender) == self._id:
            if self._settled is not None and text.startswith("/challenge "):
                self._send(f"|/cancelchallenge {self._challenged}")
            elif self._settled is not None and text.endswith(" cancelled the challenge."):
                self._answer()
            return False
        # No user can say what begins with a slash.
        is_refusal = text.startswith("/nonotify ") and text.endswith(" rejected the challenge.")
        return is_refusal and self.refuse(text)

    def withdraw(self) -> None:
        """Takes back all that is unanswered."""
        if not self._unanswered or self._settled is not None:
            return
        self._settled = asyncio.Event()
        if self._challenged:
            self._send(f"|/cancelchallenge {self._challenged}")
        if self._is_searching:
            self._send("|/cancelsearch")

    async def settle(self) -> None:
        """Waits until nothing comes any more of what was taken back."""
        if self._settled is None:
            return
        try:
            await asyncio.wait_for(self._settled.wait(), _SETTLE_SECONDS)
        except TimeoutError:
            self._forget()

    def _answer(self) -> bool:
        """Something is answered; returns whether to the player."""
        is_wanted = self._settled is None
        self._unanswered -= 1
        if self._unanswered <= 0:
            self._forget()
        return is_wanted

    def _forget(self) -> None:
        self._unanswered = 0
        self._challenged = ""
        if self._settled is not None:
            self._settled.set()
            self._settled = None
