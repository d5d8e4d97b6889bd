"""Worker processes that record on their own, and how that comes back to the one that started them.

A worker writes its part to a folder from time to time and when it ends, so that little is lost of
one that is killed. Nothing else is shared: it works with any way to start a process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from .config import ProfilingConfig
from .errors import UnreadableSession
from .session import Session, load_session, merge_sessions
from .ticker import Ticker

if TYPE_CHECKING:
    from .profiler import Profiler

__all__ = ["WorkerParts", "WorkerProfiling"]

log = structlog.get_logger("maple.profiling")


@dataclass(frozen=True, slots=True)
class WorkerProfiling:
    """Handed to a worker process, which records as long as it is inside of `record`.

    >>> def work(profiling: WorkerProfiling) -> None:
    ...     with profiling.record("worker"):
    ...         ...
    """

    folder: Path
    config: ProfilingConfig

    @contextmanager
    def record(self, role: str = "worker") -> Iterator[None]:
        """Turns this process's profiler on, and writes down what it recorded."""
        from . import get_profiler

        profiler = get_profiler()
        if profiler.has_invited(self):
            # It works in the process that wanted to know, which records what it does anyway.
            yield
            return
        profiler.configure(self.config, role=role)
        profiler.enable(system=False)
        part = _Part(self.folder, profiler)
        # So that it is known of, whenever it may be killed.
        part.write()
        ticker = Ticker(self.config.part_interval, part.write, "profiling-part")
        try:
            yield
        finally:
            ticker.stop()
            profiler.disable()
            part.write(is_last=True)


class _Part:
    """What a worker writes, and writes again. After a reset of the session it begins anew."""

    def __init__(self, folder: Path, profiler: Profiler) -> None:
        self._folder = folder
        self._profiler = profiler
        self._name = f"{os.getpid()}-{time.monotonic_ns()}.json"
        self._resets = _resets(folder)

    def write(self, *, is_last: bool = False) -> None:
        """The last time in the worker's own thread, which may ask what is watched."""
        resets = _resets(self._folder)
        if resets is None:
            # Whoever wanted it is gone.
            return
        if resets != self._resets:
            self._profiler.reset(fresh=is_last)
            self._resets = resets
        session = self._profiler.own_session(self._profiler.role, fresh=is_last, whole=is_last)
        with contextlib.suppress(FileNotFoundError):
            # Else the session was reset meanwhile, or whoever wanted it is gone with the folder.
            session.write(self._folder / str(resets) / self._name)


class WorkerParts:
    """What workers have written since the last reset; it goes when nobody holds this any more."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def invitation(self, config: ProfilingConfig) -> WorkerProfiling:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="maple-profiling-"))
            (self._folder / "0").mkdir()
            weakref.finalize(self, _remove, self._folder, os.getpid())
        return WorkerProfiling(self._folder, config)

    def has_made(self, invitation: WorkerProfiling) -> bool:
        return self._folder == invitation.folder

    def clear(self) -> None:
        """Lets workers begin anew, the next time that they write."""
        if self._folder is not None:
            resets = _resets(self._folder) or 0
            (self._folder / str(resets + 1)).mkdir()
            shutil.rmtree(self._folder / str(resets), ignore_errors=True)

    def join(self, own: Session) -> Session:
        """A session and all parts of it that can be read."""
        if self._folder is None:
            return own
        files = sorted((self._folder / str(_resets(self._folder))).glob("*.json"))
        return merge_sessions([own, *filter(None, map(_read, files))])


def _read(file: Path) -> Session | None:
    """A part; a damaged one does not take the whole session along."""
    try:
        return load_session(file)
    except UnreadableSession as error:
        log.warning("what a worker has recorded cannot be read, and is left out", cause=str(error))
        return None


def _resets(folder: Path) -> int | None:
    """How often the session was reset; None if the folder is gone."""
    try:
        return max((int(one.name) for one in folder.iterdir() if one.name.isdigit()), default=None)
    except OSError:
        return None


def _remove(folder: Path, process: int) -> None:
    # A forked child forgets the profiler of its parent too, but the folder is the parent's.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
