"""Observations of battles that are played on a server, ours or another, made by a Node process.

Knows no player and no server: who plays says what it was told, and is answered what it may know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import orjson
import structlog

from bridge.runtime import find_node, find_runtime, node_side

from .connection import Answer, Connection
from .errors import ObservationFailed, ObserverClosed, ObserverDied

__all__ = ["ObservedBattle", "Observer"]

log = structlog.get_logger("maple.play")

_MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
# Lines and requests in a command, so that none is larger than that.
_EVENTS: Final = 500
# A process that ends as often as this, one after the other, cannot be kept up.
_MOST_STARTS: Final = 5
# A battle that ends as many processes cannot be followed.
_MOST_DEATHS: Final = 2


class Observer:
    """A process that observes battles, started when it is needed, and again when it died.

    It is used on one event loop. A process that died takes nothing with it: each battle is told
    again from its beginning, when it is observed next.
    """

    def __init__(
        self, groups: Sequence[str], *, node: str | None = None, timeout: float = 10.0
    ) -> None:
        self.groups = tuple(groups)
        self.starts = 0
        """How many processes there have been."""
        self._node = node
        self._timeout = timeout
        self._connection: Connection | None = None
        self._starting: asyncio.Lock = asyncio.Lock()
        self._is_closed = False

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else repr(self._connection)
        return f"<Observer of {', '.join(self.groups)}: {state}>"

    @property
    def pid(self) -> int | None:
        """The process that runs now, if one does."""
        connection = self._connection
        return None if connection is None or connection.is_dead else connection.pid

    def follow(self, room: str) -> ObservedBattle:
        """A battle that will be told of."""
        return ObservedBattle(self, room)

    async def connect(self) -> Connection:
        """The process as it runs, or one that is started now."""
        async with self._starting:
            if self._is_closed:
                raise ObserverClosed("the observer is closed")
            connection = self._connection
            if connection is None or connection.is_dead:
                if connection is not None:
                    death = await asyncio.shield(connection.death)
                    log.warning("the process that observes is replaced", cause=death.message)
                self.starts += 1
                self._connection = await Connection.start(await self._command())
            assert self._connection is not None
            return self._connection

    async def _command(self) -> list[str]:
        options = [f"--max-frame={_MAX_FRAME_BYTES}"]
        if "calc" in self.groups:
            # The calculator is installed beside the simulator.
            runtime = await asyncio.to_thread(find_runtime, self._node, progress=log.info)
            node, packages = runtime.node, runtime.simulator.parent
            options.append(f"--packages={packages}")
        else:
            node = (await asyncio.to_thread(find_node, self._node)).path
        return [str(node), str(node_side() / "lib" / "observe.js"), *options]

    async def answer(self, connection: Connection, waiting: asyncio.Future[Answer]) -> Answer:
        """Waits for an answer; a process that gives none in time is as dead as one that ended."""
        try:
            async with asyncio.timeout(self._timeout):
                return await waiting
        except TimeoutError:
            fault = f"the process that observes did not answer within {self._timeout:g} s"
            raise await connection.condemn(fault) from None

    def forget(self, room: str) -> None:
        """Nobody asks for a battle any more."""
        if self._connection is not None and not self._connection.is_dead:
            self._connection.send("close", room)

    async def close(self) -> None:
        """Ends the process; what is asked from now on raises ObserverClosed."""
        self._is_closed = True
        async with self._starting:
            if self._connection is not None:
                await self._connection.stop()


class ObservedBattle:
    """A battle as one of its players is told of it. One task at a time observes it."""

    def __init__(self, observer: Observer, room: str) -> None:
        self.room = room
        self._observer = observer
        self._events: list[str | orjson.Fragment] = []
        self._connection: Connection | None = None
        """Who has been told of it, and of how many events."""
        self._told = 0
        self._deaths = 0
        """How many processes it has ended."""

    def __repr__(self) -> str:
        return f"<ObservedBattle {self.room}: {self._told} of {len(self._events)} events told>"

    def hear(self, lines: Iterable[str]) -> None:
        """Takes lines of the battle, as the player was told them."""
        self._events += lines

    def ask(self, request: str) -> None:
        """Takes a request, as JSON; also one that only says to wait."""
        self._events.append(orjson.Fragment(request))

    def begin_anew(self) -> None:
        """The player is told everything again, from the beginning."""
        self.close()
        self._events.clear()

    async def observe(self) -> bytes:
        """What the player may know now.

        Raises ObservationFailed if the battle cannot be followed, and ObserverDied if no process
        can be kept up.
        """
        for start in range(1, _MOST_STARTS + 1):
            try:
                return await self._observe(await self._observer.connect())
            except ObserverDied as death:
                self._blame()
                if start == _MOST_STARTS:
                    raise death.about(self.room) from None
        raise AssertionError("it was observed, or an error was raised")

    def _blame(self) -> None:
        """Looks whether the process that had the battle died of it."""
        connection, self._connection = self._connection, None
        if connection is None or connection.culprit != self.room:
            return
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            death = connection.death.result()
            raise ObservationFailed(
                f"the battle has ended {self._deaths} processes that observed it: {death.message}",
                room=self.room,
                stderr=death.stderr,
            )

    async def _observe(self, connection: Connection) -> bytes:
        waiting = []
        if connection is not self._connection:
            self._connection, self._told = connection, 0
            groups = self._observer.groups
            waiting.append(connection.send("open", self.room, groups=groups))
        is_told = False
        while not is_told:
            events = self._events[self._told : self._told + _EVENTS]
            self._told += len(events)
            is_told = self._told == len(self._events)
            waiting.append(connection.send("tell", self.room, events=events, observe=is_told))
        answers = [await self._observer.answer(connection, each) for each in waiting]
        for answer in answers:
            if answer.error is not None:
                # It is gone there, and whoever asks again tells it again.
                self._connection = None
                code, message = answer.error.code, answer.error.message
                raise ObservationFailed(
                    f"Node cannot follow the battle ({code}): {message}", room=self.room
                )
        observation = answers[-1].observation
        assert observation is not None
        return observation

    def close(self) -> None:
        """Lets the process forget it."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_dead:
            self._observer.forget(self.room)
