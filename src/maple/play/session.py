"""A player at a server: it accepts challenges, challenges somebody, or seeks opponents.

Knows no network; what is to be told, it tells line by line.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from bridge.errors import BattleRejected, BridgeError, ConfigError, ConnectionLost

from .game import Game, Result
from .servers import AgentClient, AgentServer

if TYPE_CHECKING:
    from .player import AgentPlayer

__all__ = ["Accept", "Challenge", "Ladder", "Session", "Way"]

_LOG_IN_SECONDS: Final = 30.0
# What was accepted begins within this, or whoever has challenged is gone.
_BEGIN_SECONDS: Final = 30.0
_FORFEIT_SECONDS: Final = 5.0


class Way(ABC):
    """How a player comes to its battles; `count` of them, or without end."""

    begin_seconds: float | None = None
    """Within what time a battle begins that was asked for, if that is up to the server alone."""
    survives_refusals = False
    """Whether the next one may begin though this one does not."""

    def __init__(self, count: int | None) -> None:
        self.count = count

    @abstractmethod
    async def ask(self, player: AgentPlayer) -> None:
        """Asks the server for a battle, once there is whom to ask for."""

    @abstractmethod
    async def withdraw(self, player: AgentPlayer) -> None:
        """Takes back what was asked for."""

    @abstractmethod
    def __str__(self) -> str:
        """What is waited for."""


class Accept(Way):
    """Whoever challenges the player."""

    begin_seconds = _BEGIN_SECONDS
    survives_refusals = True

    async def ask(self, player: AgentPlayer) -> None:
        challenger = await player._challenge_queue.get()
        await player.ps_client.accept_challenge(challenger, player.next_team)

    async def withdraw(self, player: AgentPlayer) -> None:
        """Whoever has challenged can take that back."""

    def __str__(self) -> str:
        return "waiting for challenges"


class Challenge(Way):
    """Somebody by name, who has to accept."""

    def __init__(self, name: str, count: int | None) -> None:
        super().__init__(count)
        self.name = name

    async def ask(self, player: AgentPlayer) -> None:
        await player.ps_client.challenge(self.name, player.format, player.next_team)

    async def withdraw(self, player: AgentPlayer) -> None:
        await player.ps_client.send_message(f"/cancelchallenge {self.name}")

    def __str__(self) -> str:
        return f"challenging {self.name}"


class Ladder(Way):
    """Whoever the server finds."""

    async def ask(self, player: AgentPlayer) -> None:
        await player.ps_client.search_ladder_game(player.format, player.next_team)

    async def withdraw(self, player: AgentPlayer) -> None:
        await player.ps_client.send_message("/cancelsearch")

    def __str__(self) -> str:
        return "looking for opponents on the ladder"


class Session:
    """One stay at a server, from the log-in to the last battle."""

    def __init__(
        self,
        player: AgentPlayer,
        way: Way,
        *,
        concurrent: int = 1,
        tell: Callable[[str], None] = print,
    ) -> None:
        client = player.ps_client
        server = client.server_configuration
        if not isinstance(client, AgentClient) or not isinstance(server, AgentServer):
            raise ConfigError(
                f"{player.username} is at a server of another kind: make the player with "
                "server_configuration=find_server(…), start_listening=False, and the running loop"
            )
        self.results: Counter[Result] = Counter()
        self.given_up = 0
        """Battles that did not go on for a reason of ours."""
        self.is_cut_short = False
        """Whether it was told to end while there was something to play."""
        self._player = player
        self._client = client
        self._server = server
        self._way = way
        self._tell = tell
        self._concurrent = concurrent
        self._answers: asyncio.Queue[Game | BridgeError] = asyncio.Queue()
        """What becomes of what was asked for."""
        self._over = asyncio.Event()
        """Set each time that a battle is over."""
        self._lost: asyncio.Future[BridgeError] = asyncio.get_running_loop().create_future()
        self._ending: set[asyncio.Task[None]] = set()
        self._is_asking = False
        self._is_leaving = False
        player.on_begin, player.on_end = self._begun, self._ended
        client.on_refused = self._refused
        client.on_broken, client.on_lost = self._broken, self._lose

    def __repr__(self) -> str:
        return f"<Session: {self._way}, {self.totals()}>"

    async def run(self, until: asyncio.Event | None = None) -> None:
        """Plays all battles, or until it is told to end; then it forfeits what is under way.

        Raises what ended it before its time.
        """
        listening = asyncio.ensure_future(self._client.listen())
        playing = asyncio.ensure_future(self._play())
        ending = asyncio.ensure_future(until.wait() if until else asyncio.Event().wait())
        try:
            waiting: list[asyncio.Future[Any]] = [playing, ending, self._lost]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if self._lost.done():
                await self._break_off(self._lost.result())
            elif playing.done():
                playing.result()
            else:
                playing.cancel()
                await self._leave()
        finally:
            ending.cancel()
            playing.cancel()
            await asyncio.gather(playing, ending, *self._ending, return_exceptions=True)
            self._lost.cancel()
            await self._player.close()
            await asyncio.gather(listening, return_exceptions=True)

    async def _play(self) -> None:
        await self._log_in()
        self._tell(f"{self._player.username} is at {self._server.address}, {self._way}")
        begun = 0
        refusal = None
        while refusal is None and (self._way.count is None or begun < self._way.count):
            await self._until_there_are(self._concurrent - 1)
            try:
                begun += await self._start()
            except BattleRejected as error:
                refusal = error
        # Also after a refusal: what has begun goes on to its end.
        await self._until_there_are(0)
        if refusal is not None:
            raise refusal

    async def _until_there_are(self, most: int) -> None:
        """Waits until so few battles are being played, or fewer."""
        while len(self._player.games) > most:
            self._over.clear()
            await self._over.wait()

    async def _log_in(self) -> None:
        try:
            async with asyncio.timeout(_LOG_IN_SECONDS):
                await self._client.logged_in.wait()
        except TimeoutError:
            raise ConnectionLost(
                f"{self._server.address} has not let {self._player.username} log in within "
                f"{_LOG_IN_SECONDS:g} s"
            ) from None

    async def _start(self) -> bool:
        """Whether another battle has begun; raises BattleRejected if none will."""
        self._is_asking = True
        await self._way.ask(self._player)
        answer = await self._answer()
        self._is_asking = False
        if isinstance(answer, Game):
            return True
        # A team that is not legal is so for nobody.
        if not self._way.survives_refusals or answer.message.startswith("Your team"):
            raise answer
        self._tell(f"no battle: {answer.in_one_line()}")
        return False

    async def _answer(self) -> Game | BridgeError:
        try:
            async with asyncio.timeout(self._way.begin_seconds):
                return await self._answers.get()
        except TimeoutError:
            return BattleRejected("a battle that was accepted has not begun")

    # What becomes of battles

    def _begun(self, game: Game) -> None:
        if self._is_asking:
            self._answers.put_nowait(game)
        if self._is_leaving:
            self._do(self._client.send_message("/forfeit", game.room))

    def _refused(self, error: BridgeError) -> None:
        if self._is_asking:
            self._answers.put_nowait(error)

    def _ended(self, game: Game) -> None:
        assert game.result is not None
        self.results[game.result] += 1
        if game.failure is not None:
            self.given_up += 1
        self._tell(self._line(game))
        # poke-env keeps its model of each battle for ever.
        self._player._battles.pop(game.room, None)
        self._over.set()

    def _line(self, game: Game) -> str:
        assert game.result is not None
        against = f"against {game.opponent or 'nobody'}"
        turns = f"{game.turns} turn{'s' * (game.turns != 1)}"
        told = f"{game.result.value:5} {against:30} {turns:>10}  {self._server.page_of(game.room)}"
        if game.failure is None:
            return told
        cause = game.failure
        why = cause.in_one_line() if isinstance(cause, BridgeError) else repr(cause)
        return f"{told}  given up: {why}"

    def totals(self) -> str:
        """How all battles went, in a line."""
        count = self.results.total()
        parts = [
            f"{self.results[result]} {result.value}" for result in Result if self._tells(result)
        ]
        given_up = f", of which {self.given_up} given up" * bool(self.given_up)
        return f"{count} battle{'s' * (count != 1)}: {', '.join(parts)}{given_up}"

    def _tells(self, result: Result) -> bool:
        return result is not Result.ENDED or self.results[result] > 0

    # The end before its time

    def _broken(self, room: str, error: BridgeError) -> None:
        game = self._player.games.get(room)
        if game is not None:
            self._do(self._player.abandon(game, error))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _lose(self, error: BridgeError) -> None:
        if not self._lost.done():
            self._lost.set_result(error)

    async def _break_off(self, error: BridgeError) -> None:
        for game in list(self._player.games.values()):
            await self._player.abandon(game, error)
        if "Connect call failed" in error.message:
            told = "start ours with `python -m bridge.serve`, or name another one by --server"
            raise ConnectionLost(f"there is no server at {self._server.address}: {told}") from error
        raise error

    async def _leave(self) -> None:
        """Nobody is kept waiting: what is under way is forfeited, what was asked for withdrawn."""
        self._is_leaving = True
        self.is_cut_short = self._way.count is not None or bool(self._player.games)
        if self._is_asking:
            await self._way.withdraw(self._player)
        for room in list(self._player.games):
            await self._client.send_message("/forfeit", room)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FORFEIT_SECONDS):
                await self._until_there_are(0)
