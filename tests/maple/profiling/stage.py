"""What tests of the profiler play with: a clock that is set by hand, and threads on a lead."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from maple.profiling import Profiler
from maple.profiling.analysis import Analysis, Row, analyse
from maple.profiling.session import Operation

__all__ = ["SECOND", "Actor", "FakeClock", "operations", "recorded", "row"]

SECOND = 1_000_000_000


class FakeClock:
    """Reads what it was set to, in nanoseconds."""

    def __init__(self, now: int = 1000 * SECOND) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)


class Actor:
    """A thread that does what it is told, one thing after the other, while the teller waits."""

    def __init__(self, name: str | None = None) -> None:
        self._orders: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._orders.put(None)
        self._thread.join(10)

    def do(self, order: Callable[[], object]) -> None:
        self._orders.put(order)
        error = self._done.get(timeout=10)
        if error is not None:
            raise error

    def _run(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                order()
            except BaseException as error:  # noqa: BLE001 - the teller is told
                self._done.put(error)
            else:
                self._done.put(None)


def recorded(profiler: Profiler) -> Analysis:
    return analyse(profiler.session("test"))


def operations(profiler: Profiler) -> dict[str, Operation]:
    """By path, what the profiler has recorded in this process."""
    [part] = profiler.session("test").processes
    return {"/".join(operation.path): operation for operation in part.operations}


def row(analysis: Analysis, path: str) -> Row:
    [found] = [row for row in analysis.rows if "/".join(row.path) == path]
    return found
