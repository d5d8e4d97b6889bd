"""Does something every so many seconds, in a thread of its own, until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

__all__ = ["Ticker"]

log = structlog.get_logger("maple.profiling")

_PATIENCE = 10.0


class Ticker:
    """A thread that calls back from time to time. It holds up nobody who ends the program."""

    def __init__(self, interval: float, tick: Callable[[], None], name: str) -> None:
        self._interval = interval
        self._tick = tick
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; a tick that is under way is waited for."""
        self._end.set()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            log.error(
                "the profiler does not end what it does by itself, and is not waited for",
                thread=self._thread.name,
                seconds=_PATIENCE,
            )

    def _run(self) -> None:
        while not self._end.wait(self._interval):
            try:
                self._tick()
            except Exception:
                # One that fails is told of, and the next may not.
                log.exception("the profiler failed at something that it does by itself")
