"""One battle as its player has it: who is in it, what is asked, how it went. Does no I/O."""

from __future__ import annotations

import asyncio
import enum
import json
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigError
from bridge.lobby.names import to_id

if TYPE_CHECKING:
    from maple.env import Observations

    from .deciding import Decider
    from .observer import ObservedBattle

__all__ = ["Game", "Result"]


class Result(enum.Enum):
    """How a battle ended for its player."""

    WON = "won"
    LOST = "lost"
    TIED = "tied"
    ENDED = "ended"
    """Without a result: the connection was lost, or the server took the battle away."""


class Game:
    """A battle that an agent plays, or has played."""

    def __init__(
        self, room: str, username: str, observed: ObservedBattle, decider: Decider
    ) -> None:
        self.room = room
        self.observed = observed
        self.decider = decider
        self.opponent = ""
        self.turns = 0
        self.result: Result | None = None
        self.failure: Exception | None = None
        """Why the agent gave it up, if it did."""
        self.request: dict[str, Any] | None = None
        """The newest one."""
        self.refusals = 0
        """How many choices for it were refused."""
        self.sheets_are_settled = False
        """Whether the team sheets are shown by now, or will not be."""
        self.sheets_timer: asyncio.TimerHandle | None = None
        """Runs while the agent waits for them."""
        self._user = to_id(username)

    def __repr__(self) -> str:
        state = "played" if self.result is None else self.result.value
        return f"<Game {self.room} against {self.opponent or 'nobody yet'}: {state}>"

    @property
    def is_over(self) -> bool:
        return self.result is not None

    @property
    def rqid(self) -> int | None:
        """The number of the newest request, if the server gives it one."""
        return None if self.request is None else self.request.get("rqid")

    @property
    def must_choose(self) -> bool:
        return self.request is not None and not self.request.get("wait")

    @property
    def is_preview(self) -> bool:
        return self.request is not None and bool(self.request.get("teamPreview"))

    def begin_anew(self) -> None:
        """The server tells all of it again."""
        self.observed.begin_anew()

    def ask(self, text: str) -> dict[str, Any]:
        """Takes a request, as JSON."""
        # The simulator cuts names in half, which only this parser lets pass.
        request: dict[str, Any] = json.loads(text)
        self.request = request
        self.refusals = 0
        self.observed.ask(text)
        return request

    def hear(self, words: list[str]) -> None:
        """Takes a line, cut at its bars."""
        self.observed.hear(("|".join(words),))
        if len(words) == 1 and "rejected open team sheets." in words[0]:
            self.sheets_are_settled = True
        match words[1:]:
            case ["player", _, name, *_] if name and to_id(name) != self._user:
                self.opponent = name
            case ["turn", number, *_] if number.isdecimal():
                self.turns = int(number)
            case ["showteam", "p2", *_]:
                self.sheets_are_settled = True
            case ["win", name, *_]:
                self.result = Result.WON if to_id(name) == self._user else Result.LOST
            case ["tie", *_]:
                self.result = Result.TIED
            case ["deinit", *_] if self.result is None:
                self.result = Result.ENDED

    def require(self, observations: Observations, words: list[str]) -> None:
        """Raises ConfigError for a line by which the battle is none that the agent can play."""
        match words[1:]:
            case ["gametype", game, *_] if game != observations.game:
                raise ConfigError(
                    f"this is a battle of {game}, and the agent has learned {observations.game}",
                    room=self.room,
                )
            case ["gen", generation, *_] if generation != str(observations.generation):
                raise ConfigError(
                    f"this is a battle of generation {generation}, and the agent has learned "
                    f"generation {observations.generation}",
                    room=self.room,
                )
