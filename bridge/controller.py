"""One Node process and the pipe to it: life, health, traffic. Knows no battle from another."""

from __future__ import annotations

import asyncio
import enum
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from .command import Command
from .config import BridgeConfig
from .errors import ControllerDied, ControllerUnresponsive, ProtocolViolation
from .observation import spec_hash, spec_path
from .process import NodeProcess
from .runtime import Runtime
from .timing import RoundTrips
from .watch import Watch
from .wire import PROTOCOL, UNSET, Frame, Hello, LineSplitter, acknowledged, decode

__all__ = ["V8_OPTIONS", "Controller", "ControllerState", "Death", "Traffic", "warmth"]

log = structlog.get_logger("bridge.controller")


class ControllerState(enum.Enum):
    """Where a controller is in its life.

    One that is warming is up, but takes no rooms yet, because another still has its place. One that
    is ready may go on to warm beside its rooms.
    """

    STARTING = "starting"
    WARMING = "warming"
    READY = "ready"
    DRAINING = "draining"
    STOPPING = "stopping"
    DEAD = "dead"


_S = ControllerState
_TRANSITIONS: Final = {
    _S.STARTING: {_S.WARMING, _S.STOPPING, _S.DEAD},
    _S.WARMING: {_S.READY, _S.STOPPING, _S.DEAD},
    _S.READY: {_S.DRAINING, _S.STOPPING, _S.DEAD},
    _S.DRAINING: {_S.STOPPING, _S.DEAD},
    _S.STOPPING: {_S.DEAD},
    _S.DEAD: set[ControllerState](),
}

# Dozens of battles in flight leave more garbage between two turns of one of them than Node's usual
# young generation holds, and threads that help to collect it take the cores of other controllers.
# What outlives one of its collections is mostly a request, which the next turn replaces. V8 takes
# it for something that lasts, and makes all like it where only a full collection looks.
# A pool that waits while a learner learns stays warm: V8 would drop bytecode that has not run for a
# while, and collect what an idle process holds. With no battle open, that takes the hidden classes
# of battles too, and all machine code that relies on them.
V8_OPTIONS: Final = (
    "--min-semi-space-size=32",
    "--max-semi-space-size=32",
    "--no-allocation-site-pretenuring",
    "--single-threaded-gc",
    "--no-flush-bytecode",
    "--no-memory-reducer",
)

# Signals by which a process ends through its own fault. Any other one came from outside.
_OWN_SIGNALS: Final = {
    signal.SIGABRT,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGILL,
    signal.SIGFPE,
    signal.SIGTRAP,
}


@dataclass(slots=True)
class Traffic:
    """What went over the pipe."""

    commands: int = 0
    frames: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    writes: int = 0
    reads: int = 0

    def add(self, other: Traffic) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class Death:
    """How a controller ended, and what it held.

    `in_hand` is the command it was working on, and `blamed` says whether that command is the
    likely cause. `expected` says that it was told to stop.
    """

    error: ControllerDied
    in_hand: Command | None
    blamed: bool
    expected: bool


@dataclass(slots=True)
class Vitals:
    """What the process last said of itself; `warm` is how much of its warm-up it has played."""

    rss: int = 0
    heap: int = 0
    cpu: float = 0.0
    warm: tuple[int, int] = (0, 0)

    @property
    def warmth(self) -> float:
        """From 0, as it starts, to 1, when it has played all that it was to play."""
        return warmth(self.warm)


def warmth(warm: Sequence[int]) -> float:
    """How warm a process is that has played so many battles of so many."""
    played, wanted = warm
    return played / wanted if wanted else 1.0


# The commands of a loop turn leave in one write. Only a process that has nothing to do gets the
# first so many as soon as there are, and works on these while Python decides for other rooms; with
# half as many it would be done, and answer, before the others come.
_FIRST_WORK: Final = 8

_NOBODY = Hello(protocol=0, node="", simulator="", turbo=False, left=[], pid=0)

# Seconds between two pings of a process that warms, which changes faster than one that is warm.
_WARMING_BEAT: Final = 0.5


class Controller(asyncio.Protocol):
    """A Node process that runs battles."""

    def __init__(
        self,
        number: int,
        config: BridgeConfig,
        runtime: Runtime,
        *,
        trips: RoundTrips,
        on_beat: Callable[[Controller], None],
        on_warnings: Callable[[list[str]], None],
        on_death: Callable[[Controller, Death], None],
    ) -> None:
        self.number = number
        self.state = ControllerState.STARTING
        self.identity = _NOBODY
        self.vitals = Vitals()
        self.traffic = Traffic()
        self.rooms: set[str] = set()
        self.reserved = 0
        self.emptied = asyncio.Event()
        self.emptied.set()
        self.battles = 0
        self.started = 0.0
        self._config = config
        self._runtime = runtime
        self._trips = trips
        self._on_beat = on_beat
        self._on_warnings = on_warnings
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._process: NodeProcess | None = None
        self._transport: asyncio.Transport | None = None
        self._splitter = LineSplitter()
        self._hello: asyncio.Future[Hello] = self._loop.create_future()
        self._pending: dict[int, Command] = {}
        self._next_id = 1
        self._outgoing: list[bytes] = []
        self._unwritten: list[Command] = []
        self._watch: Watch | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._fault: ControllerDied | None = None
        self._suspect: int | None = None
        self._burial: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return (
            f"<Controller {self.number}: pid {self.pid}, {self.state.value}, "
            f"{len(self.rooms)} rooms, {len(self._pending)} unanswered>"
        )

    @property
    def load(self) -> int:
        """How many places are taken, or promised to a room that is about to come."""
        return len(self.rooms) + self.reserved

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def _become(self, state: ControllerState) -> None:
        if state not in _TRANSITIONS[self.state]:
            raise AssertionError(f"a controller cannot go from {self.state} to {state}")
        self.state = state

    # Life

    async def start(self) -> None:
        """Starts the process, greets it and has it warm. Leaves nothing behind if that fails."""
        try:
            async with asyncio.timeout(self._config.start_timeout):
                self._process, channel = await NodeProcess.start(self._command_line())
                self._process.exited.add_done_callback(lambda _: self._bury())
                self._transport, _ = await self._loop.create_connection(lambda: self, sock=channel)
                self._greet(await self._hello)
                await self._begin_to_warm()
        except TimeoutError as error:
            await self.stop()
            raise ControllerUnresponsive(
                f"Node was not ready after {self._config.start_timeout:g} s", **self._facts()
            ) from error
        except OSError as error:
            await self.stop()
            raise ControllerDied(f"cannot start {self._runtime.node}: {error.strerror}") from error
        except BaseException:
            await self.stop()
            raise
        self.started = self._loop.time()
        self._watch = Watch(self._process, self._config.response_timeout, self._on_lost)
        self._schedule_beat()

    def _command_line(self) -> list[str]:
        config = self._config
        return [
            str(self._runtime.node),
            f"--max-old-space-size={config.max_heap_mb}",
            *V8_OPTIONS,
            *config.node_arguments,
            str(self._runtime.entry),
            f"--simulator={self._runtime.simulator}",
            f"--max-frame={config.max_frame_bytes}",
            *self._turbo_options(),
        ]

    def _turbo_options(self) -> list[str]:
        config = self._config
        if not config.turbo:
            return []
        return ["--turbo", *([f"--cache={config.cache_folder}"] if config.cache_folder else [])]

    def _greet(self, hello: Hello) -> None:
        if hello.protocol != PROTOCOL:
            raise ProtocolViolation(
                f"Node speaks protocol {hello.protocol}, not {PROTOCOL}", pid=self.pid
            )
        if hello.observation != spec_hash():
            raise ProtocolViolation(
                f"Node writes observations by the specification {hello.observation or 'of no hash'}"
                f", and Python reads them by {spec_hash()} of {spec_path()}: they are not of one "
                "installation. Start Python again if that was changed, or install maple again",
                pid=self.pid,
            )
        self.identity = hello

    async def _begin_to_warm(self) -> None:
        self._become(ControllerState.WARMING)
        if self._config.warmup_battles:
            # Acknowledged at once: the battles are played when there is nothing else to do.
            await self.ask(
                "warm", format=self._config.warmup_format, battles=self._config.warmup_battles
            )
        # What a process needs before it has done anything is known from here on.
        await self.ping()

    def admit(self) -> None:
        """Takes rooms from now on."""
        self._become(ControllerState.READY)

    def drain(self) -> None:
        """Takes no more rooms; those that are here go on."""
        self._become(ControllerState.DRAINING)

    async def stop(self) -> None:
        """Ends the process and waits until it is gone."""
        if self.state is not ControllerState.DEAD and self.state is not ControllerState.STOPPING:
            self._become(ControllerState.STOPPING)
        if self._process is not None:
            await self._process.stop(self._config.terminate_timeout)
            self._bury()
        if self._burial is not None:
            await asyncio.shield(self._burial)

    def condemn(self, error: ControllerDied) -> None:
        """Kills the process for a fault; what it held is dealt with as after any death."""
        self._fault = self._fault or error
        if self._process is not None:
            self._process.kill()

    def _bury(self) -> None:
        if self._burial is None:
            self._burial = self._loop.create_task(self._after_death())

    async def _after_death(self) -> None:
        assert self._process is not None
        process = self._process
        process.kill()
        status = await asyncio.shield(process.exited)
        if self._watch is not None:
            self._watch.stop()
        if self._beat is not None:
            self._beat.cancel()
        if self._transport is not None:
            self._transport.abort()
        expected = self.state is ControllerState.STOPPING
        self._become(ControllerState.DEAD)
        in_hand = self._pending.get(self._suspect or process.last_command())
        self._pending.clear()
        error = self._cause_of_death()
        process.close()
        if not self._hello.done():
            self._hello.set_exception(error)
            self._hello.exception()
        if not expected:
            log.warning("controller died", pid=self.pid, cause=error.message, rooms=len(self.rooms))
        blamed = in_hand is not None and not expected and self._is_own_fault(status)
        self._on_death(self, Death(error, in_hand, blamed, expected))

    def _is_own_fault(self, status: int) -> bool:
        if isinstance(self._fault, ControllerUnresponsive):
            return not self._fault.held
        if self._fault is not None:
            return self._suspect is not None
        return status >= 0 or -status in _OWN_SIGNALS

    def _cause_of_death(self) -> ControllerDied:
        """What a process that has exited was killed for, or else how it ended."""
        assert self._process is not None
        status = self._process.exited.result()
        error = self._fault or ControllerDied(_explain(status), pid=self.pid)
        error.exit_status, error.stderr = status, self._process.output_tail
        return error

    def _facts(self) -> dict[str, Any]:
        if self._process is None:
            return {}
        exited = self._process.exited
        return {
            "pid": self.pid,
            "exit_status": exited.result() if exited.done() else None,
            "stderr": self._process.output_tail,
        }

    # Traffic

    def send(self, command: Command) -> None:
        """Adds a command to the next write; that is now, if an idle process can begin with it."""
        number = self._next_id
        self._next_id = number + 1
        self._pending[number] = command
        self._unwritten.append(command)
        outgoing = self._outgoing
        outgoing.append(command.line(number))
        if len(outgoing) == 1:
            self._loop.call_soon(self._flush)
        elif len(outgoing) == _FIRST_WORK == len(self._pending):
            self._flush()
        if self._watch is not None:
            self._watch.owed()

    async def ping(self) -> None:
        """Hears how the process is, and tells it whether trips are timed."""
        self._note_vitals(await self.ask("ping", timing=self._trips.on))

    async def ask(self, operation: str, **fields: Any) -> Frame:
        """Sends a command that concerns no room and that Node has no reason to refuse."""
        frame = await self.query(operation, **fields)
        if frame.error is not None:
            raise ProtocolViolation(
                f"Node refused {operation}: {frame.error.message}", pid=self.pid
            )
        return frame

    async def query(self, operation: str, **fields: Any) -> Frame:
        """Sends a command that concerns no room and waits for its answer, or a refusal."""
        answer: asyncio.Future[Frame] = self._loop.create_future()

        def answered(command: Command, frame: Frame) -> None:
            if not answer.done():
                answer.set_result(frame)

        self.send(Command(operation, fields, answered=answered, issued=self._trips.clock()))
        assert self._process is not None
        await asyncio.wait((answer, self._process.exited), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            # Whoever asks another must not find this one among those that are ready.
            self._bury()
            assert self._burial is not None
            await asyncio.shield(self._burial)
            raise self._cause_of_death()
        return answer.result()

    def _flush(self) -> None:
        outgoing = self._outgoing
        if not outgoing:
            # They have left already, for an idle process.
            return
        self._outgoing = []
        unwritten = self._unwritten
        self._unwritten = []
        if self._transport is None or self._transport.is_closing():
            return
        data = b"".join(outgoing)
        self.traffic.commands += len(outgoing)
        self.traffic.bytes_out += len(data)
        self.traffic.writes += 1
        written = self._trips.clock()
        for command in unwritten:
            command.written = written
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self._fault is not None:
            # It is being killed, and what it still says will be said again elsewhere.
            return
        trips, traffic = self._trips, self.traffic
        operations = trips.operations
        arrived = trips.clock()
        traffic.reads += 1
        traffic.bytes_in += len(data)
        lines = self._splitter.feed(data)
        frames, violation = _decode(lines)
        traffic.frames += len(frames)
        decoded = trips.clock()
        stamps: list[int] = []
        try:
            for frame in frames:
                command = self._dispatch(frame)
                if command is None or frame.t is None:
                    continue
                if command.issued and command.written:
                    stamps += (operations[command.operation], command.issued, command.written)
                    stamps += frame.t
            if violation is not None:
                self._suspect = acknowledged(lines[len(frames)])
                raise violation
        except ProtocolViolation as error:
            self.condemn(ControllerDied(f"killed: {error.message}", **self._facts()))
            return
        dispatched = trips.clock()
        if stamps and arrived and dispatched:
            trips.record(stamps, arrived, decoded, dispatched, self.pid)
        if self._watch is not None:
            self._watch.heard(more=bool(self._pending))

    def _dispatch(self, frame: Frame) -> Command | None:
        """Hands a frame to whoever waits for it; returns the command that it answers."""
        if frame.ack is UNSET:
            if frame.hello is None or self._hello.done():
                raise ProtocolViolation(f"Node sent a frame that answers nothing: {frame}"[:300])
            self._hello.set_result(frame.hello)
            return None
        if frame.warnings is not None:
            self._on_warnings(frame.warnings)
        # It may be unknown: a line that was no command, or one that its room has withdrawn.
        command = None if frame.ack is None else self._pending.pop(frame.ack, None)
        if command is not None:
            command.answered(command, frame)
        return command

    def withdraw(self, commands: set[Command]) -> None:
        """Forgets unanswered commands of a room that leaves."""
        for number in [number for number, c in self._pending.items() if c in commands]:
            del self._pending[number]

    def connection_lost(self, exc: Exception | None) -> None:
        self._bury()

    # Health

    def _on_lost(self, overdue: float, held: bool) -> None:
        state = "it was stopped" if held else "it was busy"
        self.condemn(
            ControllerUnresponsive(
                f"Node did not answer for {overdue:.1f} s ({state})", held=held, **self._facts()
            )
        )

    def _ping(self) -> None:
        self._beat = None
        self.send(
            Command(
                "ping",
                {"timing": self._trips.on},
                answered=self._ponged,
                issued=self._trips.clock(),
            )
        )

    def _ponged(self, command: Command, frame: Frame) -> None:
        self._note_vitals(frame)
        self._schedule_beat()
        self._on_beat(self)

    def _schedule_beat(self) -> None:
        is_warm = self.vitals.warmth >= 1
        seconds = self._config.heartbeat if is_warm else min(self._config.heartbeat, _WARMING_BEAT)
        self._beat = self._loop.call_later(seconds, self._ping)

    def _note_vitals(self, frame: Frame) -> None:
        rss, heap, cpu, warm, left = frame.rss, frame.heap, frame.cpu, frame.warm, frame.left
        if rss is None or heap is None or cpu is None or warm is None or left is None:
            raise ProtocolViolation("Node does not say how it is", pid=self.pid)
        self.vitals = Vitals(rss, heap, cpu, warm)
        self.identity.left = left


def _decode(lines: list[bytes]) -> tuple[list[Frame], ProtocolViolation | None]:
    """The frames on the lines, up to one that cannot be read, and why not."""
    frames: list[Frame] = []
    for line in lines:
        try:
            frames.append(decode(line))
        except ProtocolViolation as violation:
            return frames, violation
    return frames, None


def _explain(status: int) -> str:
    if status < 0:
        known = -status in set(signal.Signals)
        return f"Node was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"
    return f"Node exited with status {status}"
