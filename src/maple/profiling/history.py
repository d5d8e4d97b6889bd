"""The latest calls one by one, as many as are wanted, for a trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .session import Trace
from .tree import Ended

__all__ = ["History"]

_SMALL = 1024


class History:
    """Keeps the arrays in which calls ended, and drops the oldest of too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.clear()

    def clear(self) -> None:
        self._threads: dict[str, int] = {}
        self._kept: deque[npt.NDArray[np.int64]] = deque()
        """Columns of threads, operations, starts and ends."""
        self._count = 0
        self._dropped = 0

    def add(self, ended: Sequence[Ended]) -> None:
        for part in ended:
            if len(part.nodes):
                thread = self._threads.setdefault(part.thread, len(self._threads))
                self._append(np.stack((np.full(len(part.nodes), thread), *part[1:])))
        while self._kept and self._count - self._kept[0].shape[1] >= self._most:
            oldest = self._kept.popleft().shape[1]
            self._count -= oldest
            self._dropped += oldest

    def _append(self, columns: npt.NDArray[np.int64]) -> None:
        self._count += columns.shape[1]
        if self._kept and self._kept[-1].shape[1] < _SMALL:
            columns = np.concatenate((self._kept.pop(), columns), axis=1)
        self._kept.append(columns)

    def describe(self) -> Trace | None:
        if not self._kept:
            return None
        columns = np.concatenate(self._kept, axis=1)
        latest = np.argsort(columns[3], kind="stable")[max(0, self._count - self._most) :]
        threads, nodes, starts, ends = columns[:, latest]
        return Trace(
            threads=list(self._threads),
            thread=threads.tolist(),
            operation=nodes.tolist(),
            start=starts.tolist(),
            duration=(ends - starts).tolist(),
            dropped=self._dropped + self._count - len(latest),
        )
