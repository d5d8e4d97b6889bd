"""The signals that end a service: the first one asks, a second one forces."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Final

import psutil

__all__ = ["EndSignals"]

# Whoever started us may pass on a Ctrl-C that the terminal has already sent us.
_SAME_KEYSTROKE: Final = 0.5
_KILLED: Final = 1.0


class EndSignals:
    """Catches SIGINT and SIGTERM while a loop runs."""

    def __init__(self, before_forced_end: Callable[[], None]) -> None:
        self._before_forced_end = before_forced_end
        self._first: float | None = None
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._receive, number)

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    async def wait(self) -> None:
        """Returns when somebody has asked for the end."""
        await self._asked.wait()

    def _receive(self, number: signal.Signals) -> None:
        now = self._loop.time()
        if self._first is None:
            self._first = now
            self._asked.set()
        elif now - self._first > _SAME_KEYSTROKE:
            self._force(number)

    def _force(self, number: signal.Signals) -> None:
        """Ends this process now, as a shell would report it, with all that it has started."""
        self._before_forced_end()
        children = psutil.Process().children(recursive=True)
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=_KILLED)
        os._exit(128 + number)
