"""A pool and a lobby inside this process, for players on any of its loops."""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import sys
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, TypeVar

import structlog
from poke_env.concurrency import POKE_LOOP

from ..errors import ConnectionLost
from ..lobby import Connection, Limits, Lobby
from ..machine import cpu_count
from ..registry import ControllerRegistry
from ..seeds import Seed
from .client import LocalClient

__all__ = ["LocalServer"]

log = structlog.get_logger("bridge.poke_env")

T = TypeVar("T")
# One thread of Python keeps less than two simulators busy.
_MOST_USEFUL_POOL: Final = 2
_CLOSE_SECONDS: Final = 20.0


class LocalServer:
    """Runs on a loop that lives as long as the program; its first player starts it.

    That is the loop of an environment, if an environment comes first, so that it need not wait for
    another thread, and else poke-env's own. Players on other loops reach it, and are reached, by
    calls that are safe between threads.
    """

    def __init__(self, settings: Mapping[str, Any], seed: Seed | None) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.lobby: Lobby | None = None
        self.registry: ControllerRegistry | None = None
        self._settings = dict(settings)
        self._seed = seed
        self._starting: asyncio.Task[None] | None = None
        self._failing: asyncio.Task[None] | None = None
        self._is_closed = False
        self._has_ended = False
        self._choosing = threading.Lock()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open" if self.lobby else "not started"
        return f"<LocalServer: {state}, {self.lobby!r}, {self.registry!r}>"

    async def enter(self, client: LocalClient) -> Connection:
        """Lets a player in; raises what keeps the pool from starting."""
        with self._choosing:
            if self.loop is None:
                self.loop = client.loop if client.is_of_environment else POKE_LOOP
        return await self._there(self._enter(client))

    async def leave(self, connection: Connection) -> None:
        await self._there(self._leave(connection))

    def stats(self) -> dict[str, Any]:
        """What the registry and the lobby say of themselves; empty before the first player."""
        if self.loop is None:
            return {}
        if _running_loop() is self.loop:
            return self._read_stats()

        async def read() -> dict[str, Any]:
            return self._read_stats()

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result(_CLOSE_SECONDS)

    def _read_stats(self) -> dict[str, Any]:
        if self.registry is None or self.lobby is None:
            return {}
        return self.registry.stats() | {"lobby": self.lobby.stats()}

    def close(self) -> None:
        """Ends every process of the pool; players that still play are told."""
        self._is_closed = True
        if self._has_ended or self.loop is None or not self.loop.is_running():
            return
        if _running_loop() is self.loop:
            raise RuntimeError("a player cannot close the pool that it plays on")
        closing = asyncio.run_coroutine_threadsafe(self._close(), self.loop)
        try:
            closing.result(_CLOSE_SECONDS)
        except FutureTimeout:
            log.warning("the pool did not close in time", seconds=_CLOSE_SECONDS)

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Does something on the loop of the lobby, wherever this is called."""
        assert self.loop is not None
        if asyncio.get_running_loop() is self.loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def _enter(self, client: LocalClient) -> Connection:
        if self._starting is None and not self._is_closed:
            self._starting = asyncio.create_task(self._start())
        if self._starting is not None:
            # Not as an exception of this player, if it is cancelled for all.
            await asyncio.wait((self._starting,))
        if self._starting is None or self._starting.cancelled() or self._is_closed:
            raise ConnectionLost("the pool of this program is closed")
        self._starting.result()
        assert self.lobby is not None
        return self.lobby.connect(client)

    async def _leave(self, connection: Connection) -> None:
        if self.lobby is not None:
            self.lobby.disconnect(connection)

    async def _start(self) -> None:
        registry = ControllerRegistry(**({"pool": default_pool()} | self._settings))
        # Before poke-env stops the loop that all this runs on: what was registered last goes first.
        atexit.register(self.close)
        await registry.start()
        self.registry = registry
        # A program may play as many battles at once as the pool has places for.
        self.lobby = Lobby(registry, seed=self._seed, limits=Limits(games_per_user=sys.maxsize))
        self._failing = asyncio.create_task(self._close_when_it_fails(registry, self.lobby))

    async def _close_when_it_fails(self, registry: ControllerRegistry, lobby: Lobby) -> None:
        error = await registry.failure()
        self._is_closed = True
        await lobby.close(f"the pool failed: {error}")

    async def _close(self) -> None:
        self._has_ended = True
        atexit.unregister(self.close)
        for task in (self._starting, self._failing):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self.lobby is not None:
            await self.lobby.close("the pool of this program is closed")
        if self.registry is not None:
            await self.registry.close(drain=False)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def default_pool() -> int:
    """As many processes as one thread of Python can use, beside a core for that thread.

    A child process is one of several, and has one.
    """
    if multiprocessing.parent_process() is not None:
        return 1
    return max(1, min(_MOST_USEFUL_POOL, cpu_count() - 1))
