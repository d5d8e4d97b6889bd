"""Notices that a process owes an answer for too long. Judges; whoever asked for the watch acts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .placement import is_lost
from .process import NodeProcess

__all__ = ["Watch"]


class Watch:
    """One timer that runs while answers are owed, however many commands that are.

    `on_lost` is told for how long the process was silent, and whether something held it still.
    """

    __slots__ = ("_cpu_mark", "_loop", "_on_lost", "_patience", "_process", "_since", "_timer")

    def __init__(
        self, process: NodeProcess, patience: float, on_lost: Callable[[float, bool], None]
    ) -> None:
        self._process = process
        self._patience = patience
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._cpu_mark: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def owed(self) -> None:
        """An answer is owed from now on, if it was not before."""
        if self._since is None:
            self.heard(more=True)

    def heard(self, *, more: bool) -> None:
        """The process has spoken, and owes more answers or not."""
        self._cpu_mark = None
        if not more:
            self._since = None
            return
        self._since = self._loop.time()
        if self._timer is None:
            self._look_in(self._patience / 2)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_in(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        assert self._timer is not None
        late = self._loop.time() - self._timer.when()
        self._timer = None
        if self._since is None:
            return
        if late > self._patience / 4:
            # It was this loop that did not listen: an answer may lie unread.
            self.heard(more=True)
            return
        overdue = self._loop.time() - self._since
        if overdue < self._patience / 2:
            self._look_in(self._patience / 2 - overdue)
            return
        cpu = self._process.cpu_seconds()
        if self._cpu_mark is None:
            self._cpu_mark = cpu
        held = self._process.is_stopped()
        if is_lost(overdue, cpu - self._cpu_mark, held, self._patience):
            self._on_lost(overdue, held)
        else:
            self._look_in(self._patience / 4)
