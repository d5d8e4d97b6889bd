"""Processes that are spawned: with how many threads they begin, what they tell, that they end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Final

from .threads import Threads, set_environment

__all__ = ["Failed", "end", "inherited", "tell"]

_ENDING_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Failed:
    """Says why a process ends."""

    message: str
    trace: str


@contextmanager
def inherited(threads: Threads) -> Iterator[None]:
    """The environment of a child, whose libraries look at it when they are loaded."""
    before = dict(os.environ)
    set_environment(threads)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def tell(pipe: Connection, message: object) -> bool:
    """Sends a message; whether there is somebody to hear it."""
    try:
        pipe.send(message)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def end(processes: Sequence[SpawnProcess]) -> None:
    """Waits for processes to end by themselves, and ends those that do not."""
    for plead in (_wait, SpawnProcess.terminate, SpawnProcess.kill):
        for process in processes:
            if process.is_alive():
                plead(process)
        until = time.monotonic() + _ENDING_SECONDS
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
    for process in processes:
        process.close()


def _wait(_process: SpawnProcess) -> None:
    """It has been told otherwise."""
