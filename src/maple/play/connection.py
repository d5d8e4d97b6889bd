"""One process that observes, from its start to its death: commands out, answers in."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from bridge.errors import ProtocolViolation
from bridge.observation import spec_hash, spec_path
from bridge.process import NodeProcess
from bridge.wire import LineSplitter, encode

from .errors import ObserverDied

__all__ = ["Answer", "Connection", "Refusal"]

_PROTOCOL: Final = 1
_START_SECONDS: Final = 30.0
# By these a process is ended from outside; any other end is its own doing.
_FROM_OUTSIDE: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Hello(Struct):
    protocol: int
    node: str
    observation: str
    pid: int


class Refusal(Struct):
    """Why a command was refused."""

    code: str
    message: str


class Answer(Struct):
    """What the process answers to a command; the first thing that it says is no answer."""

    ack: int | None = None
    observation: bytes | None = None
    """From base64."""
    error: Refusal | None = None
    hello: _Hello | None = None


class Connection(asyncio.Protocol):
    """A process and the pipe to it. It dies once, and then answers nothing any more."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.death: asyncio.Future[ObserverDied] = loop.create_future()
        """What it died of."""
        self.culprit: str | None = None
        """The room that the process died of, if that was its own doing."""
        self._loop = loop
        self._process: NodeProcess | None = None
        self._transport: asyncio.Transport | None = None
        self._splitter = LineSplitter()
        self._decoder = msgspec.json.Decoder(Answer)
        self._hello: asyncio.Future[_Hello] = loop.create_future()
        self._answers: dict[int, tuple[str, asyncio.Future[Answer]]] = {}
        """What is owed, and about which room, by the number of the command."""
        self._next_id = 1
        self._fault = ""
        self._was_held = False
        self._burial: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "dead" if self.is_dead else f"{len(self._answers)} unanswered"
        return f"<Connection: pid {self.pid}, {state}>"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_dead(self) -> bool:
        return self._burial is not None

    @classmethod
    async def start(cls, command: Sequence[str]) -> Connection:
        """Starts the process and hears who it is; leaves nothing behind if that fails."""
        connection = cls()
        try:
            async with asyncio.timeout(_START_SECONDS):
                await connection._start(command)
        except TimeoutError:
            raise await connection.condemn(
                f"Node was not ready after {_START_SECONDS:g} s"
            ) from None
        except OSError as error:
            raise ObserverDied(f"cannot start {command[0]}: {error.strerror}") from error
        except BaseException:
            await connection.stop()
            raise
        return connection

    async def _start(self, command: Sequence[str]) -> None:
        self._process, channel = await NodeProcess.start(command)
        self._process.exited.add_done_callback(lambda _: self._bury())
        self._transport, _ = await self._loop.create_connection(lambda: self, sock=channel)
        hello = await self._hello
        if hello.protocol != _PROTOCOL or hello.observation != spec_hash():
            raise ProtocolViolation(
                f"Node writes observations by protocol {hello.protocol} and the specification "
                f"{hello.observation}, and Python reads them by {_PROTOCOL} and {spec_hash()} of "
                f"{spec_path()}: they are not of one installation. Start Python again if that was "
                "changed, or install maple again",
                pid=self.pid,
            )

    async def stop(self) -> None:
        """Ends the process, which has nothing to save, and waits until it is gone."""
        await self.condemn("the observer was closed")

    async def condemn(self, fault: str) -> ObserverDied:
        """Kills the process for a fault, and says what it died of."""
        if self._process is None:
            return ObserverDied(fault)
        self._kill(fault)
        return await asyncio.shield(self.death)

    def _kill(self, fault: str) -> None:
        assert self._process is not None
        self._was_held = self._process.is_stopped()
        self._fault = self._fault or fault
        self._process.kill()

    def send(self, op: str, room: str, **fields: Any) -> asyncio.Future[Answer]:
        """The answer to a command, when it is there; raises ObserverDied if none will be."""
        if self.death.done():
            raise self.death.result()
        number = self._next_id
        self._next_id += 1
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._answers[number] = room, answer
        if self._transport is not None and not self._transport.is_closing():
            command = encode({"id": number, "op": op, "room": room, **fields})
            self._transport.write(command + b"\n")
        return answer

    def data_received(self, data: bytes) -> None:
        for line in self._splitter.feed(data):
            try:
                frame = self._decoder.decode(line)
            except msgspec.DecodeError as error:
                self._kill(f"a line from Node is no frame: {error}: {line[:200]!r}")
                return
            if frame.hello is not None and not self._hello.done():
                self._hello.set_result(frame.hello)
            if frame.hello is not None:
                continue
            if frame.ack is None:
                # Nobody knows whose answer it is, and whoever waits for it would wait in vain.
                why = f": {frame.error.message}" if frame.error is not None else ""
                self._kill(f"Node could not read a command{why}")
                return
            _, answer = self._answers.pop(frame.ack)
            # Whoever asked may have gone.
            if not answer.done():
                answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._bury()

    def _bury(self) -> None:
        if self._burial is None:
            self._burial = self._loop.create_task(self._after_death())

    async def _after_death(self) -> None:
        process = self._process
        assert process is not None
        process.kill()
        status = await asyncio.shield(process.exited)
        in_hand = process.last_command()
        if self._is_own_fault(status) and in_hand in self._answers:
            self.culprit, _ = self._answers[in_hand]
        if self._transport is not None:
            self._transport.abort()
        process.close()
        error = ObserverDied(
            self._fault or _explain(status),
            pid=process.pid,
            exit_status=status,
            stderr=process.output_tail,
        )
        self.death.set_result(error)
        answers, self._answers = self._answers, {}
        waiting: list[asyncio.Future[Any]] = [self._hello, *(each for _, each in answers.values())]
        for each in waiting:
            if not each.done():
                each.set_exception(error)
                # Nobody may wait for it any more.
                each.exception()

    def _is_own_fault(self, status: int) -> bool:
        if self._fault:
            return not self._was_held
        return status >= 0 or -status not in _FROM_OUTSIDE


def _explain(status: int) -> str:
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    return f"the process that observes {how}"
