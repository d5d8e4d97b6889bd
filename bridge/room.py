"""One battle as Python sees it, wherever it is played: controllers come and go under it."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from .command import Callback, Command
from .controller import Controller
from .errors import (
    BattleRejected,
    BridgeError,
    ChoiceRejected,
    ProtocolViolation,
    RoomClosed,
    StaleChoice,
)
from .journal import FORFEITED, Journal, Move, SideId
from .side import Side, Update
from .timing import RoundTrips
from .wire import Failure, Fields, Frame, SideFailure

__all__ = ["BattleRoom", "Result", "RoomState"]


class RoomState(enum.Enum):
    """Where a battle is in its life."""

    OPENING = "opening"
    PLAYING = "playing"
    MOVING = "moving"
    ENDED = "ended"
    CLOSED = "closed"
    FAILED = "failed"


_S = RoomState
_TRANSITIONS: Final = {
    _S.OPENING: {_S.PLAYING, _S.MOVING, _S.ENDED, _S.CLOSED, _S.FAILED},
    _S.PLAYING: {_S.MOVING, _S.ENDED, _S.CLOSED, _S.FAILED},
    _S.MOVING: {_S.OPENING, _S.PLAYING, _S.CLOSED, _S.FAILED},
    _S.ENDED: set[RoomState](),
    _S.CLOSED: set[RoomState](),
    _S.FAILED: set[RoomState](),
}
_SIDES: Final[tuple[SideId, SideId]] = ("p1", "p2")
# What a line has beside its body: the number of the command, and the newline.
_NUMBERING: Final = 64
_OVER: Final = (_S.ENDED, _S.CLOSED, _S.FAILED)
# The commands, beside a choice, that a journal records.
_MOVES: Final[dict[str, Literal["undo", "forfeit", "tie", "sheets"]]] = {
    "undo": "undo",
    "forfeit": "forfeit",
    "tie": "tie",
    "sheets": "sheets",
}


@dataclass(frozen=True, slots=True)
class Result:
    """How a battle ended: who won (None for a tie), after how many turns, and why."""

    winner: SideId | None
    turns: int
    reason: Literal["win", "tie", "forfeit"]


class Host(Protocol):
    """What a room needs of the registry that it lives in."""

    max_frame: int
    """The longest command, in bytes, that a controller reads."""
    trips: RoundTrips
    """Whose clock says when a command was asked."""

    def adopt(self, room: BattleRoom, controller: Controller) -> None:
        """The room now stands on a controller that made it by itself."""

    def leave(self, room: BattleRoom) -> None:
        """The room has no more use for its place."""

    def move(self, room: BattleRoom) -> None:
        """The room has lost its place to a fault of its own, and wants another."""

    async def fork(self, room: BattleRoom) -> BattleRoom:
        """A second room in the same state."""


class BattleRoom:
    """One battle, named by its room tag."""

    __slots__ = (
        "_arrival",
        "_asks_again",
        "_chosen",
        "_end",
        "_failure",
        "_host",
        "_loop",
        "_opened",
        "_played",
        "_unanswered",
        "avoid",
        "controller",
        "deaths_in_hand",
        "decisions",
        "is_over",
        "journal",
        "last_active",
        "last_crash",
        "p1",
        "p2",
        "setbacks",
        "state",
        "strikes",
        "tag",
    )

    def __init__(self, tag: str, journal: Journal, host: Host) -> None:
        self.tag = tag
        self.journal = journal
        self.state = RoomState.OPENING
        self.is_over = False
        """Whether nothing more will happen."""
        self.p1 = Side(self, "p1")
        self.p2 = Side(self, "p2")
        self.decisions = 0
        self.strikes = 0
        self.deaths_in_hand = 0
        self.setbacks = 0
        self.last_crash = ""
        self.avoid: Controller | None = None
        self.controller: Controller | None = None
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._opened = False
        self._asks_again = False
        # Bound once: every command in flight would have to hold one of its own.
        self._chosen = self._on_chosen
        self._played = self._on_played
        self._unanswered: dict[Command, None] = {}
        self._failure: BridgeError | None = None
        self._end: asyncio.Future[Result] = self._loop.create_future()
        self._arrival: asyncio.Future[None] | None = None
        self.last_active = self._loop.time()

    def __repr__(self) -> str:
        where = f"on {self.controller.pid}" if self.controller else "nowhere"
        return (
            f"<BattleRoom {self.tag}: {self.state.value}, {where}, {len(self.journal.moves)} moves>"
        )

    async def __aenter__(self) -> BattleRoom:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def format(self) -> str:
        return self.journal.format

    @property
    def turns(self) -> int | None:
        """The length of a battle that was played to its end."""
        return self._end.result().turns if self.state is RoomState.ENDED else None

    @property
    def outcome(self) -> Result | None:
        """How a battle ended that was played to its end, without waiting for it."""
        return self._end.result() if self.state is RoomState.ENDED else None

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _become(self, state: RoomState) -> None:
        if state not in _TRANSITIONS[self.state]:
            raise AssertionError(f"a room cannot go from {self.state} to {state}")
        self.state = state
        self.is_over = state in _OVER

    # What users do

    async def result(self) -> Result:
        """How the battle ended, once it has."""
        return await asyncio.shield(self._end)

    async def fork(self) -> BattleRoom:
        """A second room in the same state, for search; the two share nothing from here on.

        Each side of it finds the updates that are unread here, and its open request, if it has one.
        """
        self._require_play("fork")
        return await self._host.fork(self)

    async def close(self) -> None:
        """Ends the battle without a result and gives its place back. Does nothing if it is over."""
        if self.is_over:
            return
        closing = self._loop.create_future()
        controller = self.controller
        self.abandon(RoomClosed("the room was closed", room=self.tag), closing)
        if controller is not None:
            await closing

    async def open(self) -> None:
        """Starts the battle on the controller that the room was given."""
        await self._ask("open", self.journal.opening(self.tag), self._on_opened)

    def choose(self, side: SideId, choice: str, rqid: int | None) -> asyncio.Future[None]:
        self._require_play("choose")
        fields = {"room": self.tag, "side": side, "choice": choice, "rqid": rqid or 0}
        return self._ask("choose", fields, self._chosen)

    def play(
        self, p1: str, p2: str, *, rqids: tuple[int | None, int | None] | None = None
    ) -> asyncio.Future[None]:
        """Answers the requests of both sides at once, by default the current ones.

        Each choice is taken or refused on its own, as by `choose`, of which this is the faster way.
        A refusal raises ChoiceRejected, or StaleChoice if nothing else is wrong, with the `sides`
        whose choices were refused.
        """
        self._require_play("play")
        first, second = rqids or (self.p1.rqid, self.p2.rqid)
        fields = {"room": self.tag, "p1": (first or 0, p1), "p2": (second or 0, p2)}
        return self._ask("play", fields, self._played)

    def answer(
        self,
        p1: str | None,
        p2: str | None,
        *,
        rqids: tuple[int | None, int | None],
        tell: Callable[[Exception | None], None],
    ) -> None:
        """Answers for one side or both, and calls back with what is wrong, or None.

        As `choose` and `play`, for those who have hundreds of battles and no task for each: `tell`
        is called in the middle of reading from Node, when both sides have been told what follows.
        It may answer again, but must neither take long nor raise.
        """
        if p1 is None and p2 is None:
            raise ValueError("nobody answers: p1 and p2 are None")
        self._require_play("answer")
        callback = Callback(tell)
        if p1 is not None and p2 is not None:
            fields: Fields = {
                "room": self.tag,
                "p1": (rqids[0] or 0, p1),
                "p2": (rqids[1] or 0, p2),
            }
            self._tell_node("play", fields, self._played, callback)
        elif p1 is not None:
            fields = {"room": self.tag, "side": "p1", "choice": p1, "rqid": rqids[0] or 0}
            self._tell_node("choose", fields, self._chosen, callback)
        else:
            fields = {"room": self.tag, "side": "p2", "choice": p2, "rqid": rqids[1] or 0}
            self._tell_node("choose", fields, self._chosen, callback)

    def undo(self, side: SideId, rqid: int | None) -> asyncio.Future[None]:
        self._require_play("undo")
        fields = {"room": self.tag, "side": side, "rqid": rqid or 0}
        return self._ask("undo", fields, self._on_moved)

    async def forfeit(self, side: SideId, reason: str) -> None:
        self._require_play("forfeit")
        usual = {} if reason == FORFEITED else {"reason": reason}
        await self._ask("forfeit", {"room": self.tag, "side": side} | usual, self._on_moved)

    async def tie(self, reason: str) -> None:
        """Ends the battle with no winner; the log says why."""
        self._require_play("tie")
        await self._ask("tie", {"room": self.tag, "reason": reason}, self._on_moved)

    async def show_team_sheets(self) -> None:
        """Shows each side the other's team, without its numbers, before the first turn."""
        self._require_play("show team sheets")
        await self._ask("sheets", {"room": self.tag}, self._on_moved)

    async def fork_into(self, copy: BattleRoom) -> None:
        """Makes `copy`, on the same controller, a room in the same state."""

        def forked(command: Command, frame: Frame) -> None:
            code = None if frame.error is None else frame.error.code
            if code not in (None, "unforkable"):
                self._refused(command, frame)
                return
            self._note_answer(command)
            controller = self.controller
            if controller is None or copy.is_over:
                if controller is not None and code is None:
                    controller.send(_closing(copy.tag))
                command.abandon(copy._failure or RoomClosed("the room is over", room=self.tag))
                return
            copy.start_as(self)
            self._host.adopt(copy, controller)
            if code is None:
                copy.ask_again(frame)
            else:
                copy.settle_on(controller)
            command.settle()

        await self._ask("fork", {"room": self.tag, "as": copy.tag}, forked)

    def _require_play(self, deed: str) -> None:
        if self.is_over:
            self.raise_failure()
            raise StaleChoice(f"cannot {deed}: the battle has ended", room=self.tag)

    def _ask(
        self, operation: str, fields: Fields, answered: Callable[[Command, Frame], None]
    ) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        self._tell_node(operation, fields, answered, future)
        return future

    def _tell_node(
        self,
        operation: str,
        fields: Fields,
        answered: Callable[[Command, Frame], None],
        future: asyncio.Future[None] | Callback,
    ) -> None:
        host = self._host
        try:
            command = Command(
                operation, fields, answered=answered, issued=host.trips.clock(), future=future
            )
        except ValueError as error:
            raise _rejection(operation)(str(error), room=self.tag) from error
        if (length := len(command.body)) > host.max_frame - _NUMBERING:
            raise _rejection(operation)(f"{length} bytes are too long for a command", room=self.tag)
        self._unanswered[command] = None
        if self.controller is not None:
            self.controller.send(command)

    @property
    def quiet_since(self) -> float:
        """When something last happened here; while Node owes an answer or a place, that is now."""
        busy = self._unanswered or self.controller is None
        return self._loop.time() if busy else self.last_active

    # What controllers answer

    def _on_opened(self, command: Command, frame: Frame) -> None:
        if frame.error is None and frame.teams is None:
            raise ProtocolViolation("Node opened a battle without teams", room=self.tag)
        if self._refused(command, frame):
            return
        self._opened = True
        assert frame.teams is not None
        self.journal.settle_teams(frame.teams)
        if self.state is RoomState.OPENING:
            self._become(RoomState.PLAYING)
        self._deliver(frame)
        command.settle()

    def _on_chosen(self, command: Command, frame: Frame) -> None:
        fields = command.fields
        side: SideId = fields["side"]
        told = (frame.p1 if side == "p1" else frame.p2) is not None
        if frame.error is None or told:
            self._note_move(Move("choose", side, fields["choice"]))
        if self._refused(command, frame):
            return
        self.decisions += 1
        self._deliver(frame)
        command.settle()

    def _on_played(self, command: Command, frame: Frame) -> None:
        if frame.error is not None:
            self._on_play_refused(command, frame, frame.error.sides or {})
            return
        fields = command.fields
        self._note_move(Move("choose", "p1", fields["p1"][1]))
        self._note_move(Move("choose", "p2", fields["p2"][1]))
        self.decisions += 2
        self._note_answer(command)
        self._deliver(frame)
        command.settle()

    def _on_play_refused(
        self, command: Command, frame: Frame, refused: dict[SideId, SideFailure]
    ) -> None:
        """Notes what was done all the same, if the refusals are of some side's choice.

        That is a choice that was taken, and one in whose place the simulator asked again. Any other
        changed nothing, whatever news the choice of the other side led to.
        """
        for side in _SIDES if refused else ():
            failure = refused.get(side)
            news = frame.p1 if side == "p1" else frame.p2
            if failure is None or (news is not None and news.refusal is not None):
                self._note_move(Move("choose", side, command.fields[side][1]))
            self.decisions += failure is None
        self._refused(command, frame)

    def _on_moved(self, command: Command, frame: Frame) -> None:
        if self._refused(command, frame):
            return
        self._note_move(_move(command))
        self._deliver(frame)
        command.settle()

    def _note_move(self, move: Move) -> None:
        self.journal.moves.append(move)
        self.deaths_in_hand = 0
        self.setbacks = 0

    def _on_resumed(self, command: Command, frame: Frame) -> None:
        if self._refused(command, frame):
            return
        if self.state is RoomState.MOVING:
            self._become(RoomState.PLAYING)
        self._note_arrival()
        if self._asks_again:
            self.ask_again(frame)
        self._deliver_end(frame)

    def _refused(self, command: Command, frame: Frame) -> bool:
        """Deals with a frame that says no; returns whether it did."""
        error = frame.error
        if error is None:
            self._note_answer(command)
            return False
        if error.code == "crashed":
            self._crashed(error.message)
            return True
        self._note_answer(command)
        self._deliver(frame)
        self._fail_command(command, error)
        return True

    def _note_answer(self, command: Command) -> None:
        self.last_active = self._loop.time()
        self._unanswered.pop(command, None)

    def _fail_command(self, command: Command, failure: Failure) -> None:
        pid = self.controller.pid if self.controller else None
        kinds: dict[str, type[BridgeError]] = {
            "rejected": BattleRejected,
            "stale": StaleChoice,
            "invalid": ChoiceRejected,
            "bad_field": _rejection(command.operation),
        }
        kind = kinds.get(failure.code, ProtocolViolation)
        error = kind(failure.message, room=self.tag, pid=pid)
        if isinstance(error, BattleRejected):
            error.problems = tuple(failure.problems or ())
        if isinstance(error, ChoiceRejected):
            error.sides = _refused_sides(command, failure)
        command.fail(error)
        if command.operation == "open" and not self.is_over:
            self._over(RoomState.FAILED, error)

    def _crashed(self, message: str) -> None:
        """The simulator threw in this battle: another controller shall try, once."""
        if self.is_over:
            return
        self.strikes += 1
        self.last_crash = message
        if self.controller is not None:
            self.controller.withdraw(set(self._unanswered))
        self._host.move(self)

    def _deliver(self, frame: Frame) -> None:
        if self.is_over:
            return
        if frame.p1 is not None:
            self.p1.push(Update(frame.p1, frame.end is not None))
        if frame.p2 is not None:
            self.p2.push(Update(frame.p2, frame.end is not None))
        self._deliver_end(frame)

    def _deliver_end(self, frame: Frame) -> None:
        end = frame.end
        if end is not None and not self.is_over:
            self._end.set_result(Result(end.winner, end.turns, end.reason))
            self._over(RoomState.ENDED)

    # What the registry does

    def settle_on(self, controller: Controller) -> None:
        """Begins or goes on there: repeats what was answered, then asks what was not."""
        unanswered = list(self._unanswered)
        if self._opened:
            replay = {
                "replay": [(m.operation, m.side, m.words) for m in self.journal.moves],
                "ask": self._asks_again,
                "rqid": max(self.p1.rqid or 0, self.p2.rqid or 0),
            }
            fields = self.journal.opening(self.tag) | replay
            resume = Command(
                "open", fields, answered=self._on_resumed, issued=self._host.trips.clock()
            )
            self._unanswered = {resume: None}
            controller.send(resume)
        elif self.state is RoomState.MOVING:
            self._become(RoomState.OPENING)
        for command in unanswered:
            controller.send(command)
            self._unanswered[command] = None

    def suspend(self) -> None:
        """Its controller is gone: commands wait until there is another."""
        self.controller = None
        if self.state is not RoomState.MOVING:
            self._become(RoomState.MOVING)
        # A replay is made anew from the journal, which may be longer by then.
        for command in [c for c in self._unanswered if "replay" in c.fields]:
            del self._unanswered[command]

    def withdraw(self) -> None:
        """Takes back what its controller has not answered, to ask it elsewhere."""
        if self.controller is not None:
            self.controller.withdraw(set(self._unanswered))
            self.controller.send(_closing(self.tag))

    async def replay_on(self, controller: Controller) -> None:
        """Begins with a journal that was played before; returns when Node has played it again."""
        self._opened = True
        self._asks_again = True
        self._become(RoomState.MOVING)
        self._arrival = self._loop.create_future()
        self.settle_on(controller)
        await self._arrival
        self.raise_failure()

    def _note_arrival(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def pending_journal(self) -> Journal:
        """The journal with the moves that no controller has lived to answer.

        Without those that it would have refused: a second choice for a request, one for another
        request, one that is not a line of text.
        """
        journal = self.journal.copy()
        newest: dict[SideId, int | None] = {"p1": self.p1.rqid, "p2": self.p2.rqid}
        current = newest.copy()
        for command in self._unanswered:
            operation, fields = command.operation, command.fields
            side, rqid = fields.get("side", ""), fields.get("rqid", 0)
            if operation == "choose" and current.get(side) == rqid and _is_line(fields["choice"]):
                current[side] = None
                journal.moves.append(Move("choose", side, fields["choice"]))
            elif operation == "play":
                for each in _SIDES:
                    number, choice = fields[each]
                    if current[each] == number and _is_line(choice):
                        current[each] = None
                        journal.moves.append(Move("choose", each, choice))
            elif operation == "undo" and newest.get(side) == rqid:
                current[side] = rqid
                journal.moves.append(_move(command))
            elif operation in ("forfeit", "tie", "sheets") and _is_line(fields.get("reason", "-")):
                journal.moves.append(_move(command))
        return journal

    def start_as(self, original: BattleRoom) -> None:
        """Takes over the state of another room, at the moment when that one was copied."""
        self.journal = original.journal.copy()
        self._opened = True
        self.p1.take_over(original.p1)
        self.p2.take_over(original.p2)
        if self.state is RoomState.OPENING:
            self._become(RoomState.PLAYING)
        self._asks_again = True

    def ask_again(self, frame: Frame) -> None:
        """Tells the sides of a copy which requests are open; the original's sides know already."""
        self._asks_again = False
        for side, news in ((self.p1, frame.p1), (self.p2, frame.p2)):
            if news is not None:
                side.ask_again(Update(news))

    def fail(self, error: BridgeError) -> None:
        """Ends the battle with an error for everybody who waits on it."""
        if not self.is_over:
            self._over(RoomState.FAILED, error)

    def abandon(self, error: BridgeError, closing: asyncio.Future[None] | None = None) -> None:
        """Ends the battle here, and in Node as soon as that is told."""
        if self.is_over:
            return
        controller = self.controller
        self._over(RoomState.CLOSED, error, leave=controller is None)
        if controller is None:
            return

        def closed(command: Command, frame: Frame) -> None:
            self._leave()
            command.settle()

        close = Command(
            "close",
            {"room": self.tag},
            answered=closed,
            issued=self._host.trips.clock(),
            future=closing,
        )
        controller.send(close)
        self._unanswered[close] = None

    def controller_gone(self) -> None:
        """The controller of a room that is over has died before it confirmed."""
        self.controller = None
        for command in self._unanswered:
            command.settle()
        self._unanswered.clear()
        self._leave()

    def _over(
        self, state: RoomState, failure: BridgeError | None = None, *, leave: bool = True
    ) -> None:
        """Tells everybody who waits for anything here that nothing more will happen."""
        self._become(state)
        self._failure = failure
        self._note_arrival()
        if failure is not None and not self._end.done():
            self._end.set_exception(failure)
            self._end.exception()
        unanswered, self._unanswered = self._unanswered, {}
        for command in unanswered:
            command.abandon(failure or StaleChoice("the battle has ended", room=self.tag))
        self.p1.wake()
        self.p2.wake()
        if leave:
            self._leave()

    def _leave(self) -> None:
        self._host.leave(self)
        self.controller = None


def _move(command: Command) -> Move:
    """What a command other than a choice did."""
    fields = command.fields
    return Move(_MOVES[command.operation], fields.get("side"), fields.get("reason", ""))


def _refused_sides(command: Command, failure: Failure) -> dict[str, str]:
    if failure.sides is not None:
        return {side: refused.message for side, refused in failure.sides.items()}
    side = command.fields.get("side")
    sides = (side,) if side is not None else _SIDES if command.operation == "play" else ()
    return dict.fromkeys(sides, failure.message)


def _rejection(operation: str) -> type[BridgeError]:
    """The error for a command that is malformed or too long."""
    return BattleRejected if operation == "open" else ChoiceRejected


def _closing(tag: str) -> Command:
    """Closes a room in Node that nobody has here any more."""
    return Command("close", {"room": tag}, answered=_ignore, issued=0)


def _ignore(command: Command, frame: Frame) -> None:
    """Nobody waits for this answer."""


def _is_line(choice: object) -> bool:
    return isinstance(choice, str) and len(choice.splitlines()) == 1
