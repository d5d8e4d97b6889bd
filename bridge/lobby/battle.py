"""One battle of the lobby: passes updates to its two players, and their choices to the simulator.

A seat is waiting until it is asked, asked until it has chosen, and chosen until the simulator asks
again, refuses the choice, or lets the player take it back.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, Protocol

from ..errors import BridgeError, ChoiceRejected
from ..formats import FormatFacts
from ..journal import SideId
from ..room import BattleRoom, Result
from ..side import Side, Update
from .timer import BattleTimer, Choose, Effect, Lose, Say, ScheduleTick, Tie, TimerSettings
from .users import Game, User

__all__ = ["Battle", "Host"]

_NOTHING_TO_CHOOSE: Final = "|error|[Invalid choice] There's nothing to choose"
_NOTHING_TO_CANCEL: Final = "|error|[Invalid choice] There's nothing to cancel"
_TOO_LATE: Final = (
    "|error|[Invalid choice] Sorry, too late to {}; the next turn has already started"
)
# Each is kept, to be played again elsewhere, so that nobody may go on for ever.
_MOST_CHANGES: Final = 50
_ON: Final = ("on", "start", "true", "yes", "enable", "1")
_OFF: Final = ("off", "stop", "false", "no", "disable", "0")


class SeatState(enum.Enum):
    """What a player can do now."""

    WAITING = "waiting"
    ASKED = "asked"
    CHOSEN = "chosen"


class Host(Protocol):
    """What a battle needs of the lobby that it is played in."""

    tick_seconds: float

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Does something in the background; an error of the bridge in it is logged."""

    def add_game(self, game: Game, users: Iterable[User]) -> None: ...

    def remove_game(self, game: Game, users: Iterable[User]) -> None: ...


class Seat:
    """A player in a battle, and what it has been told."""

    __slots__ = (
        "changes",
        "hears_refusal",
        "is_present",
        "log",
        "request",
        "rqid",
        "side",
        "state",
        "user",
        "wants_sheets",
    )

    def __init__(self, user: User, side: Side) -> None:
        self.user = user
        self.side = side
        self.state = SeatState.WAITING
        self.is_present = user.connection is not None
        self.log: list[str] = []
        self.changes = 0
        """How often it has taken a choice back since it was asked."""
        self.rqid = 0
        self.request = ""
        self.hears_refusal = False
        self.wants_sheets: bool | None = None


class Battle:
    """A room of the lobby with a battle in it."""

    def __init__(
        self,
        host: Host,
        room: BattleRoom,
        facts: FormatFacts,
        users: tuple[User, User],
        *,
        is_challenge: bool,
        on_end: Callable[[Battle, User | None], None] | None = None,
    ) -> None:
        self.tag = room.tag
        self.title = f"{users[0].name} vs. {users[1].name}"
        self.facts = facts
        self.room = room
        self.is_over = False
        self._host = host
        self._is_challenge = is_challenge
        self._on_end = on_end
        self._turn = 0
        self._timer: BattleTimer | None = None
        self._next_tick: asyncio.TimerHandle | None = None
        self._seats = (Seat(users[0], room.p1), Seat(users[1], room.p2))

    def __repr__(self) -> str:
        states = ", ".join(f"{seat.user.name} {seat.state.value}" for seat in self._seats)
        return f"<Battle {self.tag}: {'over' if self.is_over else states}>"

    @property
    def users(self) -> tuple[User, User]:
        first, second = self._seats
        return first.user, second.user

    def begin(self) -> None:
        """Lets the players in, and tells them all that the simulator says from now on."""
        self._host.add_game(self, self.users)
        for seat in self._seats:
            self._tell(seat, self._opening())
        if "blitz" in self.facts.id:
            self.start_timer()
        for seat in self._seats:
            seat.side.listen(self._listener(seat))
        self._host.spawn(self._watch())
        for seat in self._seats:
            if not seat.is_present:
                self._miss(seat)

    def _opening(self) -> str:
        joined = "".join(f"\n|j|☆{user.name}" for user in self.users)
        return f"|init|battle\n|title|{self.title}{joined}"

    def _listener(self, seat: Seat) -> Callable[[Update], None]:
        return lambda update: self._hear(seat, update)

    # What the simulator says

    def _hear(self, seat: Seat, update: Update) -> None:
        if update.refusal is not None:
            seat.hears_refusal = True
            self._tell(seat, f"|error|{update.refusal}")
        text = update.text
        if text:
            seat.log.append(text)
            # Clients that are told of the end by itself would be told more in a room that they
            # have forgotten.
            self._tell(seat, f"{text}\n|deinit" if update.is_last else text)
            if (turn := text.rfind("\n|turn|")) >= 0:
                self._turn = int(text[turn + 7 :].partition("\n")[0])
        request = update.request_text
        if request is not None:
            assert update.rqid is not None
            self._ask(seat, request, update.rqid)

    def _ask(self, seat: Seat, request: str, rqid: int) -> None:
        waits = request.startswith('{"wait":true')
        seat.rqid = rqid
        seat.changes = 0
        seat.request = f'|request|{request[:-1]},"rqid":{rqid}}}'
        seat.state = SeatState.WAITING if waits else SeatState.ASKED
        self._tell(seat, seat.request)
        if self._timer is not None:
            is_update = request.endswith('"update":true}')
            effects = self._timer.asked(
                seat.side.id, waits=waits, is_update=is_update, turn=self._turn
            )
            self._act(effects)

    async def _watch(self) -> None:
        """Waits for the end, whichever way it comes."""
        try:
            result = await self.room.result()
        except BridgeError as error:
            self._break(error)
        else:
            self._finish(result)

    def _finish(self, result: Result) -> None:
        winner = None if result.winner is None else self._seat_at(result.winner).user
        self.close()
        if self._on_end is not None:
            self._on_end(self, winner)

    def _break(self, error: BridgeError) -> None:
        """The battle cannot go on: its players are told why, and that nobody has won."""
        cause = f"{type(error).__name__}: {error}".replace("|", "/").replace("\n", " ")
        for seat in self._seats:
            self._tell(seat, f"|bigerror|{cause}\n|tie\n|deinit")
        self.close()
        if self._on_end is not None:
            self._on_end(self, None)

    def close(self) -> None:
        self.is_over = True
        self._stop_ticking()
        if self._timer is not None:
            self._timer.end()
        self._host.remove_game(self, self.users)

    def _tell(self, seat: Seat, text: str) -> None:
        if seat.is_present:
            seat.user.send(text, self.tag)

    def _add(self, line: str, to: SideId | None = None) -> None:
        """Says something in the room that the simulator has not said, and nobody says again."""
        for seat in self._seats:
            if to in (None, seat.side.id):
                self._tell(seat, line)

    def _seat_of(self, user: User) -> Seat:
        first, second = self._seats
        return first if first.user is user else second

    def _seat_at(self, side: SideId) -> Seat:
        return self._seats[0] if side == "p1" else self._seats[1]

    # What players do

    def choose(self, user: User, choice: str, rqid: str = "") -> None:
        """Answers the open request, or replaces an answer that the battle has not acted on."""
        seat = self._seat_of(user)
        if seat.state is SeatState.WAITING:
            self._tell(seat, _NOTHING_TO_CHOOSE)
        elif self._is_too_late(seat, rqid):
            self._tell(seat, _TOO_LATE.format("make a different move"))
        else:
            self._choose(seat, choice)

    def _is_too_late(self, seat: Seat, rqid: str) -> bool:
        if (rqid and rqid != str(seat.rqid)) or seat.changes > _MOST_CHANGES:
            return True
        return all(each.state is not SeatState.ASKED for each in self._seats)

    def _choose(self, seat: Seat, choice: str) -> None:
        if seat.state is SeatState.CHOSEN:
            seat.changes += 1
            self._send(seat, seat.side.undo)
        seat.state = SeatState.CHOSEN
        self._send(seat, lambda: seat.side.choose(choice, rqid=seat.rqid))
        if self._timer is not None:
            self._timer.answered(seat.side.id)

    def undo(self, user: User) -> None:
        seat = self._seat_of(user)
        if seat.state is not SeatState.CHOSEN:
            self._tell(seat, _NOTHING_TO_CANCEL)
        elif self._is_too_late(seat, ""):
            self._tell(seat, _TOO_LATE.format("cancel"))
        else:
            seat.state = SeatState.ASKED
            seat.changes += 1
            self._send(seat, seat.side.undo)
            if self._timer is not None:
                self._timer.undone(seat.side.id)

    def _send(self, seat: Seat, act: Callable[[], asyncio.Future[None]]) -> None:
        try:
            answer = act()
        except BridgeError as error:
            self._refuse(seat, error)
        else:
            answer.add_done_callback(lambda done: self._on_answer(seat, done))

    def _on_answer(self, seat: Seat, answer: asyncio.Future[None]) -> None:
        if not answer.cancelled() and (error := answer.exception()) is not None:
            self._refuse(seat, error)

    def _refuse(self, seat: Seat, error: BaseException) -> None:
        if self.room.is_over or not isinstance(error, ChoiceRejected):
            # The end of the battle is told by whoever has watched it.
            return
        if seat.hears_refusal:
            seat.hears_refusal = False
            return
        if seat.state is SeatState.WAITING:
            # It tried to replace a choice that it could not take back, and was told so.
            return
        message = error.message
        if not message.startswith("["):
            message = f"[Invalid choice] {message}"
        is_final = "Can't undo" in message
        seat.state = SeatState.WAITING if is_final else SeatState.ASKED
        self._tell(seat, f"|error|{message}")
        if self._timer is not None:
            self._timer.refused(seat.side.id, is_undo=is_final)

    def forfeit(self, user: User, reason: str = " forfeited.") -> None:
        if not self.room.is_over:
            self._host.spawn(self._seat_of(user).side.forfeit(reason))

    def chat(self, user: User, line: str) -> None:
        self._add(f"|c|☆{user.name}|{line}")

    def log_of(self, user: User) -> str:
        return "\n".join(self._seat_of(user).log)

    def join(self, user: User) -> None:
        seat = self._seat_of(user)
        seat.is_present = True
        self._tell(seat, "\n".join((self._opening(), *seat.log)))
        if seat.request and seat.state is not SeatState.WAITING:
            self._tell(seat, seat.request)
        if self._timer is not None:
            self._act(self._timer.present(seat.side.id, True))

    def leave(self, user: User) -> None:
        seat = self._seat_of(user)
        if seat.is_present and not self.is_over:
            seat.is_present = False
            self._miss(seat)

    def _miss(self, seat: Seat) -> None:
        """A battle that misses a player is timed from then on, so that it has an end."""
        timer = self._timer or self._new_timer()
        if not timer.is_on:
            self._act(timer.start(None, self._now()))
        self._act(timer.present(seat.side.id, False))

    def confirm_ready(self, user: User) -> None:
        self._complain(user, "You aren't a player in this best-of set.")

    def decide_on_sheets(self, user: User, *, accepts: bool) -> None:
        """Takes a player's word on whether both show their team sheets."""
        seat = self._seat_of(user)
        if problem := self._sheets_problem(seat, accepts=accepts):
            self._complain(user, problem)
            return
        seat.wants_sheets = accepts
        if accepts:
            self._add("|uhtmlchange|otsrequest|", seat.side.id)
            self._add(f"{user.name} has agreed to open team sheets.")
            if all(each.wants_sheets for each in self._seats):
                self._host.spawn(self.room.show_team_sheets())
        else:
            self._add("|uhtmlchange|otsrequest|")
            self._add(f"{user.name} rejected open team sheets.")

    def _sheets_problem(self, seat: Seat, *, accepts: bool) -> str | None:
        if not self.facts.offers_team_sheets:
            by_hand = " You can both manually agree to it by using !showteam hidestats."
            return f"This format does not allow requesting open team sheets.{by_hand * accepts}"
        if self._turn > 0:
            deed = "agree to" if accepts else "reject"
            return f"You cannot {deed} open team sheets after Team Preview."
        if accepts and any(each.wants_sheets is False for each in self._seats):
            return "An opponent has already rejected open team sheets."
        if seat.wants_sheets is not None:
            return "You have already made your decision about agreeing to open team sheets."
        return None

    def _complain(self, user: User, message: str) -> None:
        self._tell(self._seat_of(user), f"|error|{message}")

    # Time

    def set_timer(self, user: User, state: str) -> None:
        side = self._seat_of(user).side.id
        timer = self._timer
        if not state:
            is_on = timer is not None and timer.is_on
            self._tell(self._seat_of(user), f"The game timer is {'ON' if is_on else 'OFF'}.")
        elif state in _ON:
            self._act((timer or self._new_timer()).start(side, self._now()))
        elif state not in _OFF:
            self._complain(user, f'"{state}" is not a recognized timer state.')
        elif timer is None or not timer.is_on:
            self._complain(user, "The timer is already off.")
        else:
            self._act(timer.stop(side, self._now()))

    def start_timer(self) -> None:
        """Times the battle, whether or not its players ask for that."""
        self._act((self._timer or self._new_timer()).start(None, self._now()))

    def _new_timer(self) -> BattleTimer:
        """A timer that knows how the battle stands."""
        settings = TimerSettings.for_battle(
            is_challenge=self._is_challenge,
            is_singles=self.facts.game_type == "singles",
            rules=self.facts.timer,
        )
        first, second = self.users
        timer = BattleTimer(settings, {"p1": first.name, "p2": second.name})
        for seat in self._seats:
            waits = seat.state is SeatState.WAITING
            timer.asked(seat.side.id, waits=waits, is_update=False, turn=self._turn)
            if seat.state is SeatState.CHOSEN:
                timer.answered(seat.side.id)
        self._timer = timer
        return timer

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _act(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Say(line, to):
                    self._add(line, to)
                case Choose(side):
                    self._choose(self._seat_at(side), "default")
                case Lose(side, reason):
                    self.forfeit(self._seat_at(side).user, reason)
                case Tie(reason):
                    self._host.spawn(self.room.tie(reason))
                case ScheduleTick():
                    self._stop_ticking()
                    loop = asyncio.get_running_loop()
                    self._next_tick = loop.call_later(self._host.tick_seconds, self._tick)

    def _tick(self) -> None:
        self._next_tick = None
        if self._timer is not None and not self.is_over:
            self._act(self._timer.tick())
            self._act(self._timer.resume())

    def _stop_ticking(self) -> None:
        if self._next_tick is not None:
            self._next_tick.cancel()
            self._next_tick = None
