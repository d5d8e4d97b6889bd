"""How an environment learns that its battle has failed: by the queue that it waits on."""

from __future__ import annotations

import asyncio

from poke_env.battle import AbstractBattle
from poke_env.environment.env import _AsyncQueue
from poke_env.player import Player

from ..errors import BridgeError

__all__ = ["Episode", "is_of_environment"]


class Episode:
    """What two players are at for one call of `battle_against`.

    The battle of an environment is finished, if it fails, when the thread of the environment has
    been told: before that, `step` would say no more than that it is finished.
    """

    def __init__(self, *, is_over: bool = False) -> None:
        self.ended = asyncio.Event()
        if is_over:
            self.ended.set()
        self._is_told = False
        self._players: list[Player] = []

    def abandon_battles(self, player: Player) -> None:
        """The battles of a player come to no end."""
        if is_of_environment(player) and not self._is_told:
            return
        for tag, battle in list(player._battles.items()):
            if not battle.finished:
                battle._finish_battle()  # type: ignore[no-untyped-call]
                del player._battles[tag]

    def fail(self, player: Player, error: BridgeError, *, for_ever: bool) -> bool:
        """Ends what an environment waits for, now or next; returns whether there is one."""
        if not is_of_environment(player):
            return False
        results: _AsyncQueue[AbstractBattle] = player.battle_queue  # type: ignore[attr-defined]
        waiting = [getter for getter in results.queue._getters if not getter.done()]  # type: ignore[attr-defined]
        if waiting:
            self.tell()
        for getter in waiting:
            getter.set_exception(error)
        if for_ever or not self._is_told:
            results.queue = _BrokenQueue(self, error, for_ever=for_ever)
        return True

    def tell(self) -> None:
        """The thread of the environment knows; it may reset both players before the other fails."""
        self._is_told = True
        for player in self._players:
            self.abandon_battles(player)

    def begin(self, player: Player) -> None:
        """Leaves nothing to an environment of what came before."""
        if not is_of_environment(player):
            return
        self._players.append(player)
        results: _AsyncQueue[AbstractBattle] = player.battle_queue  # type: ignore[attr-defined]
        if isinstance(results.queue, _BrokenQueue) and results.queue.for_ever:
            return
        results.queue = asyncio.Queue(maxsize=1)
        player.order_queue.queue = asyncio.Queue(maxsize=1)  # type: ignore[attr-defined]
        for event in (player._waiting, player._trying_again):
            event.clear()


class _BrokenQueue(asyncio.Queue[AbstractBattle]):
    """Raises an error instead of results."""

    def __init__(self, episode: Episode, error: BridgeError, *, for_ever: bool) -> None:
        super().__init__()
        self.for_ever = for_ever
        self._episode = episode
        self._error = error

    async def get(self) -> AbstractBattle:
        self._episode.tell()
        raise self._error


def is_of_environment(player: Player) -> bool:
    # Not by its type: a player that fails at once may not have its queues yet.
    return hasattr(player, "battle_queue") and hasattr(player, "order_queue")
