"""One Node process as the system sees it: start, signal, wait, and what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import psutil

__all__ = ["NodeProcess"]

_STDERR_KEPT = 16 * 1024
# Seconds to read what a process printed before it exited, if somebody else holds its pipe open.
_LAST_WORDS = 1.0


class NodeProcess(asyncio.SubprocessProtocol):
    """A child with a duplex socket for frames, a lifeline on stdin, and a flight recorder.

    stdout and stderr share one pipe, of which only the tail is kept: whatever the simulator prints
    can neither corrupt the frames nor fill a buffer. The recorder is a file of eight bytes in
    which the child notes the command it is working on; it can be read after the child's death.
    """

    def __init__(self) -> None:
        self.pid = 0
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """How it ended, once it is gone and all that it printed is read."""
        self._status: int | None = None
        self._output: deque[bytes] = deque()
        self._output_size = 0
        self._output_ended = False
        self._transport: asyncio.SubprocessTransport | None = None
        self._recorder = _open_recorder()

    def __repr__(self) -> str:
        state = f"exited {self.exited.result()}" if self.exited.done() else "running"
        return f"<NodeProcess: pid {self.pid}, {state}>"

    @classmethod
    async def start(cls, command: Sequence[str]) -> tuple[NodeProcess, socket.socket]:
        """Starts `command` with its descriptors, and returns our end of its channel."""
        ours, theirs = socket.socketpair()
        process = cls()
        spawning = asyncio.ensure_future(process._spawn(command, theirs))
        try:
            # Cancelled in the middle, uvloop would kill the child and not wait for its end.
            await asyncio.shield(spawning)
        except BaseException:
            ours.close()
            await asyncio.shield(asyncio.ensure_future(process._undo(spawning)))
            raise
        ours.setblocking(False)
        return process, ours

    async def _spawn(self, command: Sequence[str], channel: socket.socket) -> None:
        with channel:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command,
                f"--channel={channel.fileno()}",
                f"--recorder={self._recorder}",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(channel.fileno(), self._recorder),
                # Ctrl-C in a terminal is for Python, which then ends its processes in order.
                start_new_session=True,
            )
        self.pid = transport.get_pid() or 0

    async def _undo(self, spawning: asyncio.Task[None]) -> None:
        """Ends what was started, if it was, for a caller who does not want it any more."""
        await asyncio.wait([spawning])
        if spawning.exception() is None:
            self.kill()
            await self.exited
        self.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output.append(data[-_STDERR_KEPT:])
        self._output_size += len(self._output[-1])
        while self._output_size - len(self._output[0]) >= _STDERR_KEPT:
            self._output_size -= len(self._output.popleft())

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._output_ended = True
            if self._status is not None:
                self._settle()

    def process_exited(self) -> None:
        assert self._transport is not None
        status = self._transport.get_returncode()
        self._status = -1 if status is None else status
        if self._output_ended:
            self._settle()
        else:
            asyncio.get_running_loop().call_later(_LAST_WORDS, self._settle)

    def _settle(self) -> None:
        assert self._status is not None
        if not self.exited.done():
            self.exited.set_result(self._status)

    @property
    def output_tail(self) -> str:
        """The end of what the process printed."""
        return b"".join(self._output)[-_STDERR_KEPT:].decode("utf-8", "replace")

    def last_command(self) -> int:
        """The id of the command the process is, or was when it died, working on; 0 for none."""
        noted = os.pread(self._recorder, 8, 0)
        return int(struct.unpack("<d", noted)[0]) if len(noted) == 8 else 0

    def is_stopped(self) -> bool:
        """Whether a signal or a debugger holds the process still."""
        try:
            return bool(psutil.Process(self.pid).status() in _HELD)
        except psutil.NoSuchProcess:
            return False

    def cpu_seconds(self) -> float:
        """User and system time used so far; 0 if the process is gone."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Not by the transport: `Popen.kill` looks whether the child has ended, and if it just has,
        # asyncio never learns how.
        if self.pid and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def stop(self, patience: float) -> int:
        """Ends the process, by force after `patience` seconds. Returns how it exited."""
        self.terminate()
        try:
            async with asyncio.timeout(patience):
                await asyncio.shield(self.exited)
        except TimeoutError:
            self.kill()
            await asyncio.shield(self.exited)
        return self.exited.result()

    def close(self) -> None:
        """Gives back the descriptors of a process that has exited, or never was."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        if self._recorder >= 0:
            os.close(self._recorder)
            self._recorder = -1


_HELD = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


def _open_recorder() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("maple-flight-recorder")
    descriptor, path = tempfile.mkstemp(prefix="maple-flight-recorder-")
    Path(path).unlink()
    return descriptor
