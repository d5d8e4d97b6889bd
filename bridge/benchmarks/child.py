"""A process that a benchmark measures, as the benchmark holds it: an order out, an answer back."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
from pathlib import Path
from typing import Any, Self

import psutil

from ..errors import BridgeError

__all__ = ["Child", "RowFailed"]

_PATIENCE = 900.0
_EXIT_SECONDS = 60.0
_ROOT = Path(__file__).parents[2]


class RowFailed(BridgeError):
    """Raised when a process that a row measures ends, or does not answer in time."""


class Child:
    """A process that answers an order per line; it ends when its stdin does."""

    def __init__(self, command: list[str]) -> None:
        # Out of reach of the terminal's Ctrl-C, which is for the benchmark alone.
        self._process = subprocess.Popen(
            command,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Lets it end by itself, unless the benchmark fails: then nobody waits for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if kind is not None:
            self.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._process.stdout.close()

    def kill(self) -> None:
        """Kills all that it has started too: what is stopped does not notice that it is alone."""
        started: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            started = psutil.Process(self.pid).children(recursive=True)
        self._process.kill()
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def read(self, patience: float = _PATIENCE) -> str:
        """The next line that it says, within so many seconds."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(patience):
                raise RowFailed(f"no answer within {patience:g} s", pid=self.pid)
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise self._ended()
        return line

    def order(self, *, patience: float = _PATIENCE, **fields: Any) -> list[dict[str, Any]]:
        """What it answers to an order, within so many seconds."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(fields) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answers: list[dict[str, Any]] = json.loads(self.read(patience))
        return answers

    def _ended(self) -> RowFailed:
        return RowFailed(
            "a benchmark's process ended early", pid=self.pid, exit_status=self._status()
        )

    def _status(self) -> int | None:
        """How it ended; None for one that has only closed its pipes."""
        try:
            return self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return None
