"""Players of poke-env as opponents: their models of battles are fed without a client."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, cast

from poke_env.battle import AbstractBattle, DoubleBattle, Pokemon
from poke_env.battle import Battle as SinglesModel
from poke_env.data import GenData
from poke_env.player import Player, SimpleHeuristicsPlayer
from poke_env.ps_client import AccountConfiguration
from poke_env.teambuilder import ConstantTeambuilder, Teambuilder

from bridge import Player as Seated
from bridge import Update, View
from bridge.errors import ConfigError

from .battle import FORFEIT, Battle, Seat
from .errors import OpponentFailed
from .keys import step_key

__all__ = ["PlayerOpponent", "heuristics"]

Order: TypeAlias = Any
"""A BattleOrder, a message, or what can be awaited for either."""

_CHOOSE: Final = "/choose "
_TEAM: Final = "/team "


def heuristics(format: str) -> PlayerOpponent:
    """poke-env's SimpleHeuristicsPlayer."""
    player = SimpleHeuristicsPlayer(
        AccountConfiguration("Heuristics", None), battle_format=format, start_listening=False
    )
    return PlayerOpponent(player, format)


class PlayerOpponent:
    """A player that chooses by `choose_move` and `teampreview`, for any number of battles at once.

    What it draws from Python's `random` while it chooses, or takes a team, is decided by the seed
    of the battle, unless it chooses in a coroutine.
    """

    has_own_team = True

    def __init__(self, player: Player, format: str) -> None:
        if player.format != format:
            raise ConfigError(
                f"{player.username} plays {player.format}, not {format}: give it battle_format"
            )
        self._player = player
        self._loop = asyncio.get_running_loop()
        self._choosing: set[asyncio.Task[None]] = set()
        self.view = View(lines=True)

    def __repr__(self) -> str:
        return f"<PlayerOpponent: {self._player.username}>"

    def sit(self, battle: Battle, index: int, key: int) -> Seat:
        return _PlayerSeat(self._player, battle, index, key)

    def player(self, name: str, team: str | None, key: int) -> Seated:
        if team is not None:
            return Seated(self._player.username, team, is_valid=True)
        # The first step of its key, as where a team is drawn from those of an environment.
        with _drawn_by(step_key(key, 0)):
            return Seated(self._player.username, self._player.next_team)

    def decide(self, seat: Seat) -> None:
        assert isinstance(seat, _PlayerSeat)
        try:
            with _drawn_by(seat.next_key()):
                chosen = self._choose(seat)
            if inspect.isawaitable(chosen):
                self._wait_for(self._take_later(seat, chosen))
            else:
                self._take(seat, chosen)
        except Exception as cause:  # noqa: BLE001 - whatever a player raises is told
            seat.fail(cause)

    def _choose(self, seat: _PlayerSeat) -> Order:
        if seat.was_refused:
            # It would choose the same again, for all that it knows.
            return Player.choose_default_move()
        if seat.model.teampreview:
            return self._player.teampreview(seat.model)
        return self._player.choose_move(seat.model)

    async def _take_later(self, seat: _PlayerSeat, chosen: Awaitable[Order]) -> None:
        try:
            self._take(seat, await chosen)
        except Exception as cause:  # noqa: BLE001 - whatever a player raises is told
            seat.fail(cause)

    def _wait_for(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._choosing.add(task)
        task.add_done_callback(self._choosing.discard)

    def _take(self, seat: _PlayerSeat, chosen: Order) -> None:
        message = chosen if isinstance(chosen, str) else chosen.message
        if message.startswith(_CHOOSE):
            choice = message.removeprefix(_CHOOSE)
        elif message.startswith(_TEAM):
            choice = f"team {_numbers(message.removeprefix(_TEAM))}"
        elif message == FORFEIT:
            choice = FORFEIT
        else:
            raise ValueError(f"an opponent cannot say {message!r}")
        seat.choose(choice)
        seat.battle.table.chosen(seat.battle)

    def update(self, policy: object) -> None:
        raise ConfigError(f"{self._player.username} has no policy that could be replaced")

    async def close(self) -> None:
        for task in self._choosing:
            task.cancel()
        await asyncio.gather(*self._choosing, return_exceptions=True)


class _PlayerSeat(Seat):
    """A seat whose player keeps a model of the battle."""

    __slots__ = ("_player", "model", "was_refused")

    def __init__(self, player: Player, battle: Battle, index: int, key: int) -> None:
        super().__init__(battle, index, None, key)
        self._player = player
        self.model = _new_model(player, f"battle-{player.format}-{battle.slot}-{battle.number}")
        self.was_refused = False

    def hear(self, update: Update) -> None:
        try:
            for line in update.lines:
                self._hear_line(line.split("|"))
            request = update.request
            if request is not None:
                self.model.parse_request(request, self._player._strict_battle_tracking)
                self.rqid = update.rqid
                self.is_asked = not self.model._wait
                self.was_refused = False
        except Exception as cause:  # noqa: BLE001 - the battle ends with whatever a model raises
            self.battle.spoiled = self._failure("cannot follow the battle", cause)

    def forgive(self) -> bool:
        """It goes on with the simulator's default, once."""
        is_first = not self.was_refused
        self.is_asked = self.was_refused = True
        return is_first

    def fail(self, cause: Exception) -> None:
        """The player itself has failed, which is not the fault of one battle."""
        if not self.battle.room.is_over:
            self.battle.table.break_down(self._failure("failed", cause))

    def _failure(self, words: str, cause: Exception) -> OpponentFailed:
        error = OpponentFailed(
            f"{self._player.username} {words}: {type(cause).__name__}: {cause}",
            room=self.battle.room.tag,
        )
        error.__cause__ = cause
        return error

    def _hear_line(self, words: list[str]) -> None:
        """What Player._handle_battle_message does with a line that is no request."""
        if len(words) < 2 or words[1] in self._player.MESSAGES_TO_IGNORE:
            return
        model = self.model
        match words[1]:
            case "win" | "tie":
                if words[1] == "win":
                    model.won_by(words[2])
                else:
                    model.tied()  # type: ignore[no-untyped-call]
                try:
                    self._player._battle_finished_callback(model)
                except Exception as cause:  # noqa: BLE001 - whatever a player raises is told
                    self.fail(cause)
            case "error" | "bigerror":
                # Words for people: that a long battle will end in a tie, say. A choice that is
                # refused is told of elsewhere.
                self._player.logger.info("%s", "|".join(words))
            case "showteam":
                self._see_team(words)
            case _:
                model.parse_message(words)

    def _see_team(self, words: list[str]) -> None:
        model, role = self.model, words[2]
        team = Teambuilder.parse_packed_team("|".join(words[3:]))
        own = role == model.player_role
        for shown in model.teampreview_team if own else model.teampreview_opponent_team:
            built = next(
                one
                for one in team
                if one.nickname is not None and shown.identifies_as(one.nickname)
            )
            pokemon = model.get_pokemon(f"{role}: {built.nickname}", details=shown._last_details)
            pokemon._update_from_teambuilder(built)


def _new_model(player: Player, tag: str) -> AbstractBattle:
    """A battle as Player._create_battle makes it."""
    generation = GenData.from_format(player.format).gen
    kind = DoubleBattle if player.format_is_doubles else SinglesModel
    model = kind(
        battle_tag=tag,
        username=player.username,
        logger=player.logger,
        gen=generation,
        save_replays=player._save_replays,
    )
    team = player._team
    if isinstance(team, ConstantTeambuilder):
        model.teampreview_team = [Pokemon(gen=generation, teambuilder=one) for one in team.team]
    return cast(AbstractBattle, model)


def _numbers(team: str) -> str:
    """The order of a team, with commas; poke-env takes it as "3461" or as "3, 4, 6, 1"."""
    return ",".join(team.replace(" ", "").replace(",", ""))


@contextmanager
def _drawn_by(key: int) -> Iterator[None]:
    """Has what is drawn from `random` depend on the key, and leaves `random` as it was."""
    state = random.getstate()
    random.seed(key)
    try:
        yield
    finally:
        random.setstate(state)
