"""The battle timer of Pokémon Showdown, as state that is told what happens and says what to do.

It has no clock of its own: its owner calls `tick` TICK seconds after a ScheduleTick, unless another
one came first. The rules, and the lines that players see, are those of Showdown's RoomBattleTimer.

The timer is off until somebody starts it, on until everybody who did so stops it, and ended with
the battle. While it is on, its clock is

    STOPPED until a side is asked something,
    RUNNING from then on, for every side whose request is OPEN, and
    PAUSED by a tick that finds nobody to wait for or somebody out of time, until the next request.

A side has three amounts of seconds: in total, for this turn, and for being away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ..journal import SideId
from ..settings import suggest
from .names import to_id

__all__ = [
    "TICK",
    "BattleTimer",
    "Choose",
    "Effect",
    "Lose",
    "Say",
    "ScheduleTick",
    "Tie",
    "TimerSettings",
]

TICK = 5
"""The seconds between two looks at the clock."""

_COOLDOWN = 20
_AWAY = 60
_AWAY_BANK = 300

_RULES = (
    "starting",
    "grace",
    "addPerTurn",
    "maxPerTurn",
    "maxFirstTurn",
    "timeoutAutoChoose",
    "accelerate",
    "dcTimer",
    "dcTimerBank",
)


@dataclass(frozen=True, slots=True)
class TimerSettings:
    """How much time the players of a battle have, in seconds."""

    starting: float
    grace: float
    """What is added to the starting time once; time that a turn adds never restores it."""
    add_per_turn: float
    max_per_turn: float
    max_first_turn: float
    timeout_auto_choose: bool
    """Whether the simulator chooses for a player whose turn is over, who would lose otherwise."""
    accelerate: bool
    """Whether turns add less after turn 100, and less again after turn 200."""
    dc_timer: bool
    """Whether a player may be away for a minute at most."""
    dc_timer_bank: bool
    """Whether a player who is away spends a bank of five minutes, and no time of the turn."""

    @classmethod
    def for_battle(
        cls, *, is_challenge: bool, is_singles: bool, rules: Mapping[str, float | bool]
    ) -> TimerSettings:
        """The defaults for a kind of battle, and over them what the format's own rules say."""
        for key in rules:
            if key not in _RULES:
                raise ValueError(f"unknown timer rule {key!r}; {suggest(key, _RULES)}")
        limit = 300 if is_challenge else 150
        max_per_turn = rules.get("maxPerTurn", limit)
        return cls(
            starting=rules.get("starting", limit),
            grace=rules.get("grace", 60),
            add_per_turn=rules.get("addPerTurn", 10 if is_singles else 25),
            max_per_turn=max_per_turn if max_per_turn > 0 else math.inf,
            max_first_turn=rules.get("maxFirstTurn", limit),
            timeout_auto_choose=bool(rules.get("timeoutAutoChoose", False)),
            accelerate=bool(rules.get("accelerate", not rules and not is_challenge)),
            dc_timer=bool(rules.get("dcTimer", not is_challenge)),
            dc_timer_bank=bool(rules.get("dcTimerBank", is_challenge)),
        )


@dataclass(frozen=True, slots=True)
class Say:
    """Show a line to one player, or to everybody in the room."""

    line: str
    to: SideId | None = None


@dataclass(frozen=True, slots=True)
class Choose:
    """Let the simulator make the default choice for a side."""

    side: SideId


@dataclass(frozen=True, slots=True)
class Lose:
    """Say that a player, whose name comes before the reason, has lost, and make it so."""

    side: SideId
    reason: str = " lost due to inactivity."


@dataclass(frozen=True, slots=True)
class Tie:
    """Say why the battle is a tie, and make it one."""

    reason: str = "All players are inactive."


@dataclass(frozen=True, slots=True)
class ScheduleTick:
    """Call `tick` in TICK seconds from now, and not when it was to be called before."""


Effect = Say | Choose | Lose | Tie | ScheduleTick


class _Clock(Enum):
    STOPPED = "stopped"
    RUNNING = "running"
    PAUSED = "paused"


class _Request(Enum):
    OPEN = "open"
    ANSWERED = "answered"
    NONE = "none"
    """There is nothing to choose, or no way back from what was chosen."""


@dataclass(slots=True)
class _Player:
    """One side's time, and what it depends on."""

    side: SideId
    name: str
    seconds: float
    turn_seconds: float
    away_seconds: float
    request: _Request = _Request.NONE
    is_present: bool = True
    has_lost: bool = False

    @property
    def must_choose(self) -> bool:
        return self.request is _Request.OPEN


class BattleTimer:
    """The timer of one battle between two players."""

    def __init__(self, settings: TimerSettings, names: Mapping[SideId, str]) -> None:
        self.settings = settings
        seconds = settings.starting + settings.grace
        away_seconds = _AWAY_BANK if settings.dc_timer_bank else _AWAY
        self._players: dict[SideId, _Player] = {
            side: _Player(side, names[side], seconds, seconds, away_seconds)
            for side in ("p1", "p2")
        }
        # None stands for the server.
        self._requesters: list[SideId | None] = []
        self._clock = _Clock.STOPPED
        self._has_ended = False
        self._is_first_request = True
        self._requests = 0
        self._battle_turn = 0
        self._counted_turn: int | None = None
        self._last_stop: tuple[SideId, float] | None = None

    def __repr__(self) -> str:
        state = "ended" if self._has_ended else "on" if self.is_on else "off"
        times = [f"{player.name} {player.seconds:g} s" for player in self._players.values()]
        return f"<BattleTimer: {state}, clock {self._clock.value}, {', '.join(times)}>"

    @property
    def is_on(self) -> bool:
        """Whether somebody wants the timer, and the battle goes on."""
        return bool(self._requesters)

    @property
    def is_ticking(self) -> bool:
        """Whether a tick is due; one that is not due does nothing."""
        return self._clock is _Clock.RUNNING

    def start(self, side: SideId | None, now: float) -> list[Effect]:
        """A player wants the timer on, or the server does (None)."""
        if side in self._requesters:
            return []
        if self._has_ended:
            return _tell(side, "The timer can't be enabled after a battle has ended.")
        if self._requesters:
            self._requesters.append(side)
            name = "staff" if side is None else self._players[side].name
            return [Say(f"|inactive|{name} also wants the timer to be on.")]
        cooldown = self._cooldown(side, now)
        if cooldown > 0:
            return _tell(
                side,
                "The timer can't be re-enabled so soon after disabling it "
                f"({math.ceil(cooldown)} seconds remaining).",
            )
        self._requesters.append(side)
        by = "" if side is None else f" (requested by {self._players[side].name})"
        effects: list[Effect] = [
            Say(
                "|inactive|Battle timer is ON: "
                f"inactive players will automatically lose when time's up.{by}"
            )
        ]
        for player in self._players.values():
            effects += self._begin_request(player)
        return effects

    def stop(self, side: SideId | None, now: float) -> list[Effect]:
        """A player no longer wants the timer on; the server (None) turns it off for everybody."""
        if side is None:
            self._requesters.clear()
        elif side in self._requesters:
            self._requesters.remove(side)
            self._last_stop = (side, now)
        else:
            return []
        if side is not None and self._requesters:
            others = ", ".join(self._id(other) for other in self._requesters)
            return [
                Say(
                    f"|inactive|{self._players[side].name} no longer wants the timer on, "
                    f"but the timer is staying on because {others} still does."
                )
            ]
        # Showdown is silent about a timer whose clock has never run.
        had_clock = self._clock is not _Clock.STOPPED
        self._clock = _Clock.STOPPED
        return [Say("|inactiveoff|Battle timer is now OFF.")] if had_clock else []

    def end(self) -> None:
        """The battle is over, and with it the timer."""
        self._has_ended = True
        self._requesters.clear()
        self._clock = _Clock.STOPPED
        for player in self._players.values():
            player.request = _Request.NONE

    def asked(self, side: SideId, *, waits: bool, is_update: bool, turn: int) -> list[Effect]:
        """A side was sent a request, in a turn of which the room has been told.

        `waits` says that it only waits for the other side, `is_update` that the request corrects
        one that is still open, for which the clock already runs.
        """
        player = self._players[side]
        player.request = _Request.NONE if waits else _Request.OPEN
        self._requests += 1
        self._battle_turn = turn
        return [] if is_update else self._begin_request(player)

    def answered(self, side: SideId) -> None:
        """A side has chosen."""
        self._players[side].request = _Request.ANSWERED

    def undone(self, side: SideId) -> None:
        """A side has taken its choice back."""
        self._players[side].request = _Request.OPEN

    def refused(self, side: SideId, *, is_undo: bool = False) -> None:
        """The simulator calls a choice invalid, or will not let the side take it back (`is_undo`).

        An unavailable choice is not an invalid one: a request that is an update follows it.
        """
        self._players[side].request = _Request.NONE if is_undo else _Request.OPEN

    def present(self, side: SideId, is_present: bool) -> list[Effect]:
        """A player has joined or left the room."""
        player = self._players[side]
        if self._has_ended or player.is_present == is_present:
            return []
        player.is_present = is_present
        if not is_present and not self.settings.dc_timer_bank:
            player.away_seconds = _AWAY if self.settings.dc_timer else 10 * _AWAY
        if not self.is_on:
            return []
        return [Say(self._welcome(player) if is_present else self._farewell(player))]

    def tick(self) -> list[Effect]:
        """TICK seconds have passed."""
        if not self.is_ticking:
            return []
        self._clock = _Clock.PAUSED
        players = self._players.values()
        if all(player.request is _Request.NONE for player in players):
            return []
        effects: list[Effect] = []
        for player in players:
            if player.must_choose:
                effects += self._spend(player)
        timeouts = self._timeouts()
        return effects + (timeouts or self._run_clock())

    def resume(self) -> list[Effect]:
        """Lets the clock go on for a side that still has to choose, after choices for the other.

        Showdown's would stand still until the next request, which never comes if that side is away.
        """
        players = self._players.values()
        if self._clock is not _Clock.PAUSED or any(player.has_lost for player in players):
            return []
        return self._run_clock() if any(player.must_choose for player in players) else []

    def _cooldown(self, side: SideId | None, now: float) -> float:
        """How long a player who has stopped the timer may not start it again."""
        if self._last_stop is None or self._last_stop[0] != side:
            return 0
        return self._last_stop[1] + _COOLDOWN - now

    def _id(self, side: SideId | None) -> str:
        return "staff" if side is None else to_id(self._players[side].name)

    def _run_clock(self) -> list[Effect]:
        self._clock = _Clock.RUNNING
        return [ScheduleTick()]

    def _begin_request(self, player: _Player) -> list[Effect]:
        """Gives a player the time for a request, and tells how much that is."""
        if player.seconds <= 0:
            return []
        if not player.must_choose:
            player.turn_seconds = self.settings.max_per_turn
            return []
        self._clock = _Clock.STOPPED
        if not self.is_on or any(other.seconds <= 0 for other in self._players.values()):
            return []
        self._add_time()
        first = self.settings.max_first_turn if self._is_first_request else 0
        player.turn_seconds = min(player.seconds, first or self.settings.max_per_turn)
        return self._time_left(player) + self._run_clock()

    def _time_left(self, player: _Player) -> list[Effect]:
        starting = self.settings.starting
        grace = max(0, player.seconds - starting)
        line = (
            f"|inactive|Time left: {_show(player.turn_seconds)} sec this turn"
            f" | {_show(player.seconds - grace)} sec total"
        )
        effects: list[Effect] = [
            Say(f"{line} | {_show(grace)} sec grace" if grace else line, player.side)
        ]
        if player.turn_seconds <= 30 and player.turn_seconds < starting:
            seconds = f"{_show(player.turn_seconds)} seconds left this turn."
            effects.append(Say(f"|inactive|{player.name} has {seconds}"))
        return effects

    def _add_time(self) -> None:
        """Adds what a new turn, or a request in the middle of one, gives to both players."""
        players = self._players.values()
        if self._counted_turn is None:
            self._counted_turn = self._battle_turn
        elif self._battle_turn > self._counted_turn:
            self._counted_turn = self._battle_turn
            self._is_first_request = False
            for player in players:
                added = player.seconds + self._added_by_turn()
                player.seconds = min(added, self.settings.starting)
        # Two open requests mean that time was added with the first of them.
        elif sum(player.must_choose for player in players) <= 1:
            self._is_first_request = False
            for player in players:
                player.seconds += min(self.settings.add_per_turn, TICK)

    def _added_by_turn(self) -> float:
        added = self.settings.add_per_turn
        if not self.settings.accelerate:
            return added
        if self._battle_turn > 200 and self._requests // 2 % 2:
            return 0
        return added - TICK if self._battle_turn > 100 and added > TICK else added

    def _spend(self, player: _Player) -> list[Effect]:
        """Takes a tick off a player's time, and warns of what is left now and then."""
        has_bank = self.settings.dc_timer_bank
        if not player.is_present:
            player.away_seconds -= TICK
        if player.is_present or not has_bank:
            player.seconds -= TICK
            player.turn_seconds -= TICK
        if player.away_seconds <= 0:
            player.turn_seconds = 0
        if not player.turn_seconds:
            return []
        left, purpose = player.turn_seconds, "left."
        if not player.is_present and (has_bank or player.away_seconds <= left):
            left, purpose = player.away_seconds, "to reconnect!"
        if left % 30 and left > 20:
            return []
        return [Say(f"|inactive|{player.name} has {_show(left)} seconds {purpose}")]

    def _timeouts(self) -> list[Effect]:
        """What becomes of the players whose turn is over."""
        players = self._players.values()
        may_choose = self.settings.timeout_auto_choose
        if all(player.turn_seconds <= 0 for player in players) and (
            not may_choose or all(player.seconds <= 0 for player in players)
        ):
            return [Tie()]
        effects: list[Effect] = []
        for player in players:
            if player.has_lost or player.turn_seconds > 0:
                continue
            if may_choose and player.seconds > 0 and player.is_present:
                effects.append(Choose(player.side))
            else:
                player.has_lost = True
                effects.append(Lose(player.side))
        return effects

    def _farewell(self, player: _Player) -> str:
        deadline = "!"
        if self.settings.dc_timer_bank:
            bank = f"{_show(player.away_seconds)} seconds to reconnect"
            has_time = player.away_seconds > 0
            deadline = f" and has {bank if has_time else 'no disconnection time left'}!"
        elif self.settings.dc_timer:
            deadline = " and has a minute to reconnect!"
        return f"|inactive|{player.name} disconnected{deadline}"

    def _welcome(self, player: _Player) -> str:
        left = f" and has {_show(player.turn_seconds)} seconds left" if player.must_choose else ""
        return f"|inactive|{player.name} reconnected{left}."


def _tell(side: SideId | None, refusal: str) -> list[Effect]:
    """Tells a player why the timer is not started; the server needs no answer."""
    return [] if side is None else [Say(f"|inactiveoff|{refusal}", side)]


def _show(seconds: float) -> str:
    """Seconds as JavaScript writes them: it has a name for a turn without a limit."""
    return f"{seconds:g}" if math.isfinite(seconds) else "Infinity"
