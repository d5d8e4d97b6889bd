"""The calls of a player that wait for battles, and what ends them early.

poke-env waits on events, queues and semaphores that only a battle which goes well ever sets. Here
the same calls also end when something goes wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from poke_env.battle import AbstractBattle
from poke_env.environment.env import _AsyncQueue
from poke_env.player import Player

from ..errors import BridgeError
from ..lobby.names import to_id

__all__ = ["Calls"]

_WAITING: Final = ("_send_challenges", "_accept_challenges", "_ladder")


class Calls:
    """What waits on a player; used on the player's loop alone."""

    def __init__(self, player: Player, settle: Callable[[], Awaitable[None]]) -> None:
        self._player = player
        self._settle = settle
        self._failures: set[asyncio.Future[None]] = set()
        self._lost: BridgeError | None = None
        for name in _WAITING:
            setattr(player, name, self._guarded(getattr(player, name)))
        setattr(player, "_battle_against", self._guarded_match(player._battle_against))  # noqa: B010

    def fail(self, error: BridgeError) -> bool:
        """Ends what waits now; returns whether anything did."""
        heard = bool(self._failures)
        for failure in self._failures:
            if not failure.done():
                failure.set_exception(error)
        return self._fail_environment(error) or heard

    def lose(self, error: BridgeError) -> None:
        """Ends what waits now or will ever wait."""
        self._lost = error
        self.fail(error)

    def forget_battles(self) -> None:
        """Leaves the player as one that has no battles under way, so that it can play again."""
        player = self._player
        for tag, battle in list(player._battles.items()):
            if not battle.finished:
                battle._finish_battle()  # type: ignore[no-untyped-call]
                del player._battles[tag]
        counted = player._battle_count_queue
        while not counted.empty():
            counted.get_nowait()
            counted.task_done()
        while not player._challenge_queue.empty():
            player._challenge_queue.get_nowait()
        # One that is taken while it is free does not wait.
        while not player._battle_semaphore.locked():
            player._battle_semaphore._value -= 1

    def forget_challenge(self, challenger: str) -> None:
        """Somebody's challenge is gone, whether or not it was accepted."""
        challenges = self._player._challenge_queue
        waiting = [challenges.get_nowait() for _ in range(challenges.qsize())]
        for other in waiting:
            if to_id(other) != to_id(challenger):
                challenges.put_nowait(other)

    def _guarded(
        self, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        async def guarded(*arguments: Any, **named: Any) -> None:
            await self._unless_failed(call(*arguments, **named))

        return guarded

    def _guarded_match(
        self, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        async def guarded(*opponents: Player, n_battles: int) -> None:
            try:
                await self._unless_failed(call(*opponents, n_battles=n_battles))
            except BridgeError as error:
                # The call of the other player would wait for ever for what has failed here.
                for player in (self._player, *opponents):
                    _end_calls_of(player, error)
                raise

        return guarded

    async def _unless_failed(self, call: Coroutine[Any, Any, None]) -> None:
        if self._lost is not None:
            call.close()
            raise self._lost
        await self._settle()
        work = asyncio.ensure_future(call)
        failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._failures.add(failure)
        try:
            await asyncio.wait((work, failure), return_when=asyncio.FIRST_COMPLETED)
            if failure.done():
                failure.result()
            work.result()
        finally:
            self._failures.discard(failure)
            failure.cancel()
            await _cancelled(work)

    def _fail_environment(self, error: BridgeError) -> bool:
        """Ends what the thread of an environment waits for, now or next."""
        results = getattr(self._player, "battle_queue", None)
        if results is None:
            return False
        waiting = [getter for getter in results.queue._getters if not getter.done()]
        for getter in waiting:
            getter.set_exception(error)
        if not waiting or self._lost is not None:
            results.queue = _BrokenQueue(results, error, for_ever=self._lost is not None)
        return True


class _BrokenQueue(asyncio.Queue[AbstractBattle]):
    """Raises an error instead of the next result, or of all that follow."""

    def __init__(
        self, holder: _AsyncQueue[AbstractBattle], error: BridgeError, *, for_ever: bool
    ) -> None:
        super().__init__()
        self._holder = holder
        self._sound = holder.queue
        self._error = error
        self._for_ever = for_ever

    async def get(self) -> AbstractBattle:
        if not self._for_ever:
            self._holder.queue = self._sound
        raise self._error

    def put_nowait(self, item: AbstractBattle) -> None:
        self._sound.put_nowait(item)


def _end_calls_of(player: Player, error: BridgeError) -> None:
    end = getattr(player.ps_client, "end_calls", None)
    if end is not None:
        player.ps_client.loop.call_soon_threadsafe(end, error)


async def _cancelled(work: Awaitable[None]) -> None:
    """Waits for a task that is told to end, and takes whatever comes of it."""
    if isinstance(work, asyncio.Future):
        work.cancel()
    await asyncio.gather(work, return_exceptions=True)
