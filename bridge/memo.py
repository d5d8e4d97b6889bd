"""Remembers answers that stay true, the latest of them, and has each asked for once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["Memo"]

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class Memo(Generic[Key, Answer]):
    """The latest answers by their question; those who ask at the same time share one question.

    What `ask` raises is told to all who wait, and is not remembered.
    """

    def __init__(self, size: int, ask: Callable[[Key], Coroutine[Any, Any, Answer]]) -> None:
        self._size = size
        self._ask = ask
        self._known: OrderedDict[Key, Answer] = OrderedDict()
        self._asked: dict[Key, asyncio.Task[Answer]] = {}

    def __repr__(self) -> str:
        return f"<Memo: {len(self._known)} known, {len(self._asked)} asked>"

    async def get(self, key: Key) -> Answer:
        """The answer, remembered or asked for."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        asking = self._asked.get(key)
        if asking is None:
            asking = self._asked[key] = asyncio.create_task(self._ask(key))
            asking.add_done_callback(lambda task: self._note(key, task))
        # Whoever is cancelled must not take the answer from the others.
        return await asyncio.shield(asking)

    async def settle(self) -> None:
        """Waits until nothing is asked any more."""
        await asyncio.gather(*self._asked.values(), return_exceptions=True)

    def _note(self, key: Key, asking: asyncio.Task[Answer]) -> None:
        del self._asked[key]
        if asking.cancelled() or asking.exception() is not None:
            return
        self._known[key] = asking.result()
        if len(self._known) > self._size:
            self._known.popitem(last=False)
