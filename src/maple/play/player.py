"""A trained agent as a player of poke-env, on any server that poke-env can play on.

It decides by what its network observes, which is made of the lines and requests that the server
sends, and not by poke-env's model of the battle. That model is kept for whoever looks at it; where
it cannot follow, the agent goes on.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from poke_env.battle import AbstractBattle
from poke_env.concurrency import handle_threaded_coroutines
from poke_env.player import Player
from poke_env.player.battle_order import BattleOrder
from poke_env.ps_client import AccountConfiguration

from bridge.errors import BridgeError, ConfigError
from bridge.sampling import derive_keys
from bridge.seeds import Seed
from maple.agents import Checkpoint, find_checkpoint, load_checkpoint

from .deciding import Decider
from .game import Game, Result
from .observer import Observer

__all__ = ["AgentPlayer", "Choice"]

Words = list[str]
"""A line, cut at its bars."""

# For who waits to be shown the team sheets that both players have to agree to.
_SHEETS_SECONDS: Final = 30.0
# What the server says to a choice that comes after it has chosen by itself, or the battle is over.
_TOO_LATE: Final = ("too late", "nothing to choose", "not your turn", "game is over")
_DEFAULT: Final = "default"
# What the names of formats have that are doubles.
_DOUBLES: Final = ("double", "vgc", "2v2", "metronome")


class Choice(BattleOrder):
    """A choice in the words of the simulator."""

    def __init__(self, choice: str) -> None:
        self.choice = choice

    @property
    def message(self) -> str:
        return f"/choose {self.choice}"


class AgentPlayer(Player):
    """Plays as a checkpoint's network decides, in any number of battles at once.

    A battle that the agent cannot go on with, it gives up, and plays the others; `failure` of the
    game says why.

    Args:
        checkpoint: Who plays: a checkpoint, the file of one, or the folder of a run.
        greedy: Whether the likeliest action is taken, rather than one drawn by its probability.
        seed: What actions are drawn by; by default other ones each time.
        battle_format: By default that which the checkpoint has learned. Any other has to be of the
            same generation, and singles or doubles as well.
        observer: A process that observes for several players; by default the player has its own.
        node: The Node that the player's own observer runs; by default the one that is found.
        on_begin: Told of each battle that begins.
        on_end: Told of each battle that ends.
        save_replays: A folder for a page of each battle; True is "replays".
        named: What every player of poke-env takes.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | str | Path,
        *,
        greedy: bool = False,
        seed: Seed | None = None,
        battle_format: str | None = None,
        observer: Observer | None = None,
        node: str | None = None,
        on_begin: Callable[[Game], None] | None = None,
        on_end: Callable[[Game], None] | None = None,
        save_replays: bool | str = False,
        account_configuration: AccountConfiguration | None = None,
        **named: Any,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            checkpoint = load_checkpoint(find_checkpoint(checkpoint))
        self.checkpoint = checkpoint
        self.observations = checkpoint.observations()
        played = battle_format or checkpoint.format
        require_format(played, checkpoint)
        self._network = checkpoint.network(self.observations)
        self._greedy = greedy
        self._key = derive_keys(secrets.randbits(64) if seed is None else seed)
        self._has_own_observer = observer is None
        self.observer = observer or Observer(self.observations.groups, node=node)
        if self.observer.groups != self.observations.groups:
            raise ConfigError(
                f"the observer shows {', '.join(self.observer.groups)}, and the agent has learned "
                f"from {', '.join(self.observations.groups)}: give it one of its own"
            )
        self.on_begin = on_begin
        self.on_end = on_end
        self.games: dict[str, Game] = {}
        """The battles that are being played."""
        self._begun = 0
        self._deciding: set[asyncio.Task[None]] = set()
        self._replays = Path("replays") if save_replays is True else save_replays or None
        # Last: the first messages may arrive before it returns, on another thread.
        super().__init__(
            account_configuration,
            battle_format=played,
            # It would keep a battle from its end, if the folder cannot be written.
            save_replays=False,
            **named,
        )

    def __repr__(self) -> str:
        return f"<AgentPlayer {self.username}: {self.format}, {len(self.games)} battles>"

    async def close(self) -> None:
        """Leaves the server, and ends the player's own observer."""
        await self.ps_client.stop_listening()  # type: ignore[no-untyped-call]
        if self._has_own_observer:
            await handle_threaded_coroutines(self.observer.close(), self.ps_client.loop)

    # What poke-env asks

    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        """What the agent does now in one of its battles."""
        return Choice(await self._choose(self._game_of(battle)))

    async def teampreview(self, battle: AbstractBattle) -> str:
        """Whom the agent brings to one of its battles."""
        return Choice(await self._choose(self._game_of(battle))).message

    def _game_of(self, battle: AbstractBattle) -> Game:
        game = self.games.get(battle.battle_tag)
        if game is None or not game.must_choose:
            raise ConfigError(
                f"{self.username} has nothing to choose in {battle.battle_tag}: an agent decides "
                "in battles that a server tells it of"
            )
        return game

    async def _choose(self, game: Game) -> str:
        return game.decider.choose(await game.observed.observe())

    # What the server says

    async def _handle_battle_message(self, split_messages: list[Words]) -> None:
        heading, *lines = split_messages
        room = heading[0].removeprefix(">")
        if not room.startswith("battle-"):
            await super()._handle_battle_message(split_messages)
            return
        if lines and lines[0][1:2] == ["init"]:
            await self._begin(room, heading)
        for words in lines:
            # Looked up for each: a game that is over hears no more.
            game = self.games.get(room)
            if game is None:
                return
            try:
                await self._hear(game, words)
            except Exception as cause:
                # One battle must not end the others.
                if game.is_over:
                    self.logger.exception("after the end of %s", room)
                else:
                    await self._give_up(game, cause)

    async def _begin(self, room: str, heading: Words) -> None:
        game = self.games.get(room)
        if game is not None:
            game.begin_anew()
            return
        try:
            await self._create_battle(heading[0].split("-"))
        except Exception as cause:  # noqa: BLE001 - a battle of another format is not for this player
            self.logger.error("%s does not play %s: %r", self.username, room, cause)
            return
        key = int(derive_keys(self._key, self._begun)[0])
        self._begun += 1
        decider = Decider(self._network, self.observations, key=key, greedy=self._greedy)
        game = Game(room, self.username, self.observer.follow(room), decider)
        self.games[room] = game
        if self.on_begin is not None:
            self.on_begin(game)

    async def _hear(self, game: Game, words: Words) -> None:
        match words[1:]:
            case ["request", *text]:
                await self._take_request(game, "|".join(text))
            case ["error", *text]:
                await self._take_error(game, "|".join(text))
            case _:
                await self._take_line(game, words)

    async def _take_line(self, game: Game, words: Words) -> None:
        game.hear(words)
        if game.is_over:
            await self._end(game, words)
            return
        game.require(self.observations, words)
        await self._tell_model(game, words)
        if game.sheets_are_settled:
            self._stop_waiting(game)

    async def _tell_model(self, game: Game, words: Words) -> None:
        """poke-env's own way with a line, but that what goes wrong concerns its model alone."""
        try:
            await super()._handle_battle_message([[f">{game.room}"], words])
        except Exception as cause:  # noqa: BLE001 - whatever a model raises
            self.logger.info("poke-env cannot follow %s: %r at %s", game.room, cause, words)

    async def _handle_battle_request(
        self, battle: AbstractBattle, maybe_default_order: bool = False
    ) -> None:
        """poke-env's way to a choice, which this player does not take: see _take_request."""

    async def _take_request(self, game: Game, text: str) -> None:
        if not text:
            return
        request = game.ask(text)
        try:
            battle = self._battles[game.room]
            battle.parse_request(request, self._strict_battle_tracking)
        except Exception as cause:  # noqa: BLE001 - whatever a model raises
            self.logger.info("poke-env cannot read a request of %s: %r", game.room, cause)
        if game.failure is not None or not game.must_choose:
            return
        if self._waits_for_sheets(game):
            self._wait_for_sheets(game)
        else:
            await self._decide(game)

    async def _decide(self, game: Game) -> None:
        try:
            choice = await self._choose(game)
        except Exception as cause:  # noqa: BLE001 - whatever it is, nobody may wait for ever
            await self._give_up(game, cause)
        else:
            await self._say(game, Choice(choice).message)

    async def _say(self, game: Game, message: str) -> None:
        # With the number of the request, so that a late choice is none for the next one.
        rqid = game.rqid
        await self.ps_client.send_message(message, game.room, None if rqid is None else str(rqid))

    async def _take_error(self, game: Game, text: str) -> None:
        if text.startswith("[Unavailable choice]"):
            # What that has revealed is in the request that follows.
            return
        self.logger.warning("%s: %s", game.room, text)
        if not text.startswith("[Invalid choice]") or any(words in text for words in _TOO_LATE):
            return
        game.refusals += 1
        if game.refusals > 1:
            raise BridgeError(f"the server refused two choices: {text}", room=game.room)
        await self._say(game, Choice(_DEFAULT).message)

    async def _give_up(self, game: Game, cause: Exception) -> None:
        """Forfeits: a battle that the agent does not play would keep somebody waiting."""
        if game.failure is not None:
            return
        game.failure = cause
        self.logger.error("%s gives %s up: %s", self.username, game.room, cause)
        await self.ps_client.send_message("/forfeit", game.room)

    # Team sheets

    def _waits_for_sheets(self, game: Game) -> bool:
        """Whether there may be more to see before the team is picked."""
        asked = self.accept_open_team_sheet and not self.format_is_bestof
        return asked and game.is_preview and not game.sheets_are_settled

    def _wait_for_sheets(self, game: Game) -> None:
        """The opponent may never say whether it agrees."""
        loop = asyncio.get_running_loop()
        game.sheets_timer = loop.call_later(_SHEETS_SECONDS, self._stop_waiting, game)

    def _stop_waiting(self, game: Game) -> None:
        timer, game.sheets_timer = game.sheets_timer, None
        if timer is not None and not game.is_over:
            timer.cancel()
            task = asyncio.get_running_loop().create_task(self._decide(game))
            self._deciding.add(task)
            task.add_done_callback(self._deciding.discard)

    # The end

    async def abandon(self, game: Game, cause: Exception) -> None:
        """The battle has no end for this player: the connection is lost, say."""
        if not game.is_over:
            game.failure = game.failure or cause
            game.result = Result.ENDED
            await self._end(game, [])

    async def _end(self, game: Game, words: Words) -> None:
        del self.games[game.room]
        game.observed.close()
        if game.result is Result.ENDED:
            await self._forget(game)
        else:
            await self._tell_model(game, words)
        self._save_replay(game)
        if self.on_end is not None:
            self.on_end(game)

    async def _forget(self, game: Game) -> None:
        """The battle has no result, and poke-env would wait for one."""
        battle = self._battles.get(game.room)
        if battle is None or battle.finished:
            return
        battle._finish_battle()  # type: ignore[no-untyped-call]
        if not self.format_is_bestof:
            await self._battle_count_queue.get()
            self._battle_count_queue.task_done()
            async with self._battle_end_condition:
                self._battle_end_condition.notify_all()

    def _save_replay(self, game: Game) -> None:
        battle = self._battles.get(game.room)
        if self._replays is None or battle is None:
            return
        file = Path(self._replays) / f"{self.username} - {game.room}.html"
        try:
            battle.save_replay(file)
        except OSError as error:
            self.logger.error("cannot save %s: %s", file, error)


def require_format(format: str, checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a format that is not of the kind that a checkpoint has learned."""
    if format == checkpoint.format:
        return
    learned = checkpoint.actions["game"], checkpoint.actions["generation"]
    generation = int(format[3]) if re.match(r"gen\d", format) else 0
    game = "doubles" if any(word in format for word in _DOUBLES) else "singles"
    if (game, generation) != learned:
        raise ConfigError(
            f"the checkpoint has learned {checkpoint.format}, {learned[0]} of generation "
            f"{learned[1]}, and cannot play {format}"
        )
