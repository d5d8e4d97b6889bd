"""Ctrl-C and SIGTERM while something must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

__all__ = ["Interrupted", "Interruption"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Raised where a run may be interrupted, when somebody wants it to end."""


class Interruption:
    """Takes the first signal as a wish, which is heard where it does no harm.

    The second is as it was before: whoever presses Ctrl-C twice does not want to wait.
    """

    def __init__(self) -> None:
        self.is_wanted = False
        self._may_raise = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._hear) for one in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back()

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """What is done inside may be left at any point."""
        if self.is_wanted:
            raise Interrupted
        self._may_raise = True
        try:
            yield
        finally:
            self._may_raise = False

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.is_wanted = True
        self._put_back()
        if self._may_raise:
            raise Interrupted

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
