"""The calls of a player that wait for battles, and what ends them early.

poke-env waits on events, queues and semaphores that only a battle which goes well ever sets. Here
the same calls also end when something goes wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from poke_env.player import Player

from ..errors import BattleRejected, BridgeError
from ..lobby.names import to_id
from .episodes import Episode, is_of_environment

__all__ = ["Calls"]

_WAITING: Final = ("_send_challenges", "_accept_challenges", "_ladder")


class Calls:
    """What waits on a player; used on its loop, or on that of a call, where a method says so."""

    def __init__(
        self,
        player: Player,
        *,
        settle: Callable[[], Awaitable[None]],
        end_all: Callable[[BridgeError, Episode], object],
    ) -> None:
        self.episode = Episode(is_over=True)
        self._player = player
        self._settle = settle
        self._end_all = end_all
        self._waiting: dict[asyncio.Future[None], asyncio.Task[None]] = {}
        """What ends each call early, with the work of that call."""
        self._ending: set[asyncio.Task[None]] = set()
        self._lost: BridgeError | None = None
        for name in _WAITING:
            setattr(player, name, self._guarded(getattr(player, name)))
        setattr(player, "_battle_against", self._guarded_match(player._battle_against))  # noqa: B010

    def fail(self, error: BridgeError, episode: Episode | None = None) -> bool:
        """Ends what waits now; returns whether anything did.

        An environment that is past the episode has been told of it.
        """
        heard = bool(self._waiting)
        for failure, work in self._waiting.items():
            if not failure.done():
                failure.set_exception(error)
                self._stop(work)
        if episode not in (None, self.episode):
            return heard
        return self.episode.fail(self._player, error, for_ever=self._lost is not None) or heard

    def end(self, error: BridgeError, episode: Episode) -> None:
        """Ends what the player waits for on its own loop, from whatever loop this is called."""
        client = self._player.ps_client
        client.loop.call_soon_threadsafe(self._end_all, error, episode)

    def lose(self, error: BridgeError) -> None:
        """Ends what waits now or will ever wait."""
        self._lost = error
        self.fail(error)

    def forget_battles(self) -> None:
        """Leaves the player as one that has no battles under way, so that it can play again."""
        player = self._player
        self.episode.abandon_battles(player)
        counted = player._battle_count_queue
        while not counted.empty():
            counted.get_nowait()
            counted.task_done()
        while not player._challenge_queue.empty():
            player._challenge_queue.get_nowait()
        self._forget_begun()

    def forget_challenge(self, challenger: str) -> None:
        """Somebody's challenge is gone, whether or not it was accepted."""
        challenges = self._player._challenge_queue
        waiting = [challenges.get_nowait() for _ in range(challenges.qsize())]
        for other in waiting:
            if to_id(other) != to_id(challenger):
                challenges.put_nowait(other)

    def _stop(self, work: asyncio.Task[None]) -> None:
        """Ends the work of a call before its next step, in which it might ask for a battle."""
        work.cancel()
        self._ending.add(work)
        work.add_done_callback(self._stopped)

    def _stopped(self, work: asyncio.Task[None]) -> None:
        self._ending.discard(work)
        if not self._ending:
            # Work that had been told of a battle, and was stopped, has told of it again.
            self._forget_begun()

    def _forget_begun(self) -> None:
        begun = self._player._battle_semaphore
        # One that is taken while it is free does not wait.
        while not begun.locked():
            begun._value -= 1

    def _guarded(
        self, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        async def guarded(*arguments: Any, **named: Any) -> None:
            await self._unless_failed(call(*arguments, **named))

        return guarded

    def _guarded_match(
        self, call: Callable[..., Coroutine[Any, Any, None]]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        def guarded(*opponents: Player, n_battles: int) -> Coroutine[Any, Any, None]:
            players = (self._player, *opponents)
            before, episode = self.episode, Episode()
            # Before the call runs: by then, an environment already waits for its first result.
            before.tell()
            for calls in filter(None, map(_calls_of, players)):
                calls.episode = episode
                episode.begin(calls._player)
            return play(before, episode, players, n_battles)

        async def play(
            before: Episode, episode: Episode, players: tuple[Player, ...], battles: int
        ) -> None:
            try:
                _require_common_ground(*players)
                if is_of_environment(self._player):
                    await before.ended.wait()
                await self._unless_failed(call(*players[1:], n_battles=battles))
            except BridgeError as error:
                # The call of the other player would wait for ever for what has failed here.
                for player in players:
                    if (calls := _calls_of(player)) is not None:
                        calls.end(error, episode)
                # The thread of an environment hears of it where it waits.
                if not is_of_environment(self._player):
                    raise
            finally:
                episode.ended.set()

        return guarded

    async def _unless_failed(self, call: Coroutine[Any, Any, None]) -> None:
        try:
            while self._ending:
                await asyncio.wait(self._ending)
            await self._settle()
            if self._lost is not None:
                raise self._lost.with_traceback(None)
        except BaseException:
            call.close()
            raise
        work = asyncio.ensure_future(call)
        failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[failure] = work
        try:
            await asyncio.wait((work, failure), return_when=asyncio.FIRST_COMPLETED)
            if failure.done():
                failure.result()
            work.result()
        finally:
            del self._waiting[failure]
            failure.cancel()
            await _cancelled(work)


def _require_common_ground(player: Player, *opponents: Player) -> None:
    """Refuses a match of players who would wait for each other for ever."""
    for opponent in opponents:
        if opponent.format != player.format:
            raise BattleRejected(
                f"{player.username} plays {player.format}, but {opponent.username} plays "
                f"{opponent.format}: give both the same battle_format"
            )
        if opponent.ps_client.websocket_url != player.ps_client.websocket_url:
            raise BattleRejected(
                f"{player.username} and {opponent.username} are on different servers: give both "
                "the same server_configuration"
            )


def _calls_of(player: Player) -> Calls | None:
    return getattr(player.ps_client, "calls", None)


async def _cancelled(work: Awaitable[None]) -> None:
    """Waits for a task that is told to end, and takes whatever comes of it."""
    if isinstance(work, asyncio.Future):
        work.cancel()
    await asyncio.gather(work, return_exceptions=True)
