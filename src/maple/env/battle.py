"""One battle of an environment: its two seats, what they are asked, what they choose, its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from bridge import BattleRoom, Player, Result, Update, View
from bridge.errors import BridgeError, ChoiceRejected, ProtocolViolation, RoomClosed

from .actions import Action, Actions, Preview
from .errors import IllegalAction
from .keys import step_key

__all__ = [
    "FORFEIT",
    "Agent",
    "Battle",
    "Ending",
    "Opponent",
    "Rival",
    "Seat",
    "Table",
    "read_choices",
    "take_seats",
]

SeatName: TypeAlias = Literal["p1", "p2"]
SEATS: tuple[SeatName, SeatName] = ("p1", "p2")
FORFEIT: Final = "/forfeit"
"""What the second seat chooses to give up."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the battle of an agent ended, and the last that it saw of it."""

    observation: bytes
    reason: str
    """"win", "tie" or "forfeit", or the error by which a truncated battle failed."""
    is_truncated: bool
    opponent: str
    """Who had the second seat."""
    winner: SeatName | None = None
    score: int = 0
    """1 for a battle that the agent won, -1 for one that it lost."""
    turns: int = 0
    input_log: str | None = None
    """The battle in the simulator's input language, if somebody wants it."""


class Agent:
    """A row of the environment: the seat of a slot that somebody outside decides for."""

    __slots__ = (
        "action",
        "ending",
        "is_acting",
        "is_first",
        "key",
        "number",
        "observation",
        "opponent",
        "seat",
        "slot",
        "steps",
    )

    def __init__(self, number: int, slot: int, seat: int) -> None:
        self.number = number
        self.slot = slot
        self.seat = seat
        self.opponent: str | None = None
        """Who has the second seat of the battle that it is in; none while it is in no battle."""
        self.observation = b""
        """What it saw last of the battle that it is in."""
        self.action: Action | None = None
        """What it did last, none before its first action."""
        self.key = 0
        self.steps = 0
        """The key of its seat in this battle, and how many decisions it has been asked for."""
        self.ending: Ending | None = None
        """How its last battle ended, until somebody has been told."""
        self.is_first = True
        """Whether nothing led to its observation: a battle that was asked for begins with it."""
        self.is_acting = False
        """Whether it was handed out, and an action is owed."""

    def begin_anew(self) -> None:
        """Owes nothing, and is told nothing, of battles that were given up."""
        self.is_acting = False
        self.is_first = True
        self.ending = None
        self.leave()

    def sit(self, opponent: str) -> None:
        """Takes its seat in a battle that begins."""
        if self.opponent is None:
            # What it did last was in another battle, of which it was told the end.
            self.is_first = True
        self.opponent = opponent

    def leave(self) -> None:
        """Has no seat any more, and sees nothing."""
        self.opponent = None
        self.observation = b""

    @property
    def is_due(self) -> bool:
        """Whether something has come of what it did last.

        It must decide again, or its battle has ended and it has no seat in the next.
        """
        has_left = self.opponent is None and self.ending is not None
        return not self.is_first and (self.is_acting or has_left)

    def ask(self, seat: Seat) -> None:
        """Takes over what its seat has been asked."""
        seat.steps += 1
        self.observation = seat.observation
        self.key = seat.key
        self.steps = seat.steps

    def act(self, action: Action) -> None:
        """Notes an action that was taken."""
        self.action = action
        self.is_acting = False
        self.is_first = False

    def __repr__(self) -> str:
        state = "acting" if self.is_acting else "not acting"
        return f"<Agent {self.number}: {SEATS[self.seat]} of environment {self.slot}, {state}>"


class Seat:
    """One side of one battle: what it was asked, and what it has chosen."""

    __slots__ = (
        "agent",
        "battle",
        "choice",
        "index",
        "is_asked",
        "key",
        "observation",
        "preview",
        "rqid",
        "steps",
    )

    def __init__(self, battle: Battle, index: int, agent: Agent | None, key: int) -> None:
        self.battle = battle
        self.index = index
        self.agent = agent
        self.key = key
        self.steps = 0
        """Decisions taken so far."""
        self.observation = b""
        self.rqid: int | None = None
        self.is_asked = False
        """Whether the battle waits for a choice of this seat that nobody has made yet."""
        self.choice: str | None = None
        """What was chosen, until it is sent."""
        self.preview: Preview | None = None

    def hear(self, update: Update) -> None:
        """Takes note; what follows from it is for when both seats have heard.

        A seat without lines is told of nothing but what it is asked, and the end.
        """
        if update.rqid is not None:
            self.rqid = update.rqid
            self.is_asked = True
        if update.observation is None:
            self.battle.table.break_down(ProtocolViolation("Node asks without an observation"))
        else:
            self.observation = update.observation

    def next_key(self) -> int:
        """The key of this seat's next decision, for those who draw it."""
        self.steps += 1
        return step_key(self.key, self.steps)

    def forgive(self) -> bool:
        """Whether it chooses again after a choice that was no choice at all. Here nobody does."""
        return False

    def choose(self, choice: str) -> None:
        self.choice = choice
        self.is_asked = False

    def pick(self, actions: Actions, action: Action) -> None:
        """Picks in a team preview: that makes the choice, or another observation to pick from."""
        if self.preview is None:
            self.preview = Preview(actions, self.observation)
        choice = self.preview.pick(action)
        if choice is None:
            self.observation = actions.with_mask(self.observation, self.preview.mask())
        else:
            self.preview = None
            self.choose(choice)


class Opponent(Protocol):
    """Decides for a seat that no agent has."""

    view: View
    """What its seat is shown."""
    has_own_team: bool
    """Whether it brings a team where none is given."""

    def sit(self, battle: Battle, index: int, key: int) -> Seat:
        """A seat in a new battle."""

    def decide(self, seat: Seat) -> None:
        """Chooses for a seat that is asked, now or later, and then tells the seat's battle."""

    def player(self, name: str, team: str | None, key: int) -> Player:
        """Who sits there; the key of the seat is for those who draw a team of their own."""

    def update(self, policy: object) -> None:
        """Decides by another policy from now on; raises ConfigError if it has none."""

    async def close(self) -> None:
        """Gives back what it holds."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Who has the second seat of a battle."""

    name: str
    opponent: Opponent | None
    """None if an agent has it."""


class Table(Protocol):
    """What a battle needs of whoever plays it."""

    def answered(self, battle: Battle, error: BaseException | None) -> None:
        """Node has answered what was sent."""

    def chosen(self, battle: Battle) -> None:
        """A seat without an agent has chosen."""

    def break_down(self, error: BaseException) -> None:
        """Nothing can go on: everybody is told why."""


class Battle:
    """A room and what its two seats are about to do. At most one command is with Node at a time."""

    __slots__ = ("number", "rival", "room", "seats", "sent", "slot", "spoiled", "table")

    def __init__(self, table: Table, slot: int, number: int, rival: Rival) -> None:
        self.table = table
        self.slot = slot
        self.number = number
        self.rival = rival
        self.room: BattleRoom
        self.seats: tuple[Seat, Seat]
        self.sent = 0
        self.spoiled: BridgeError | None = None
        """Why a seat cannot follow it any more."""

    def __repr__(self) -> str:
        room = repr(self.room) if hasattr(self, "room") else "not open yet"
        return f"<Battle {self.number} of environment {self.slot}: {room}>"

    def begin(self, room: BattleRoom, seats: tuple[Seat, Seat]) -> None:
        """Sits down: both seats hear what they are asked first."""
        self.room = room
        self.seats = seats
        room.p1.listen(seats[0].hear)
        room.p2.listen(seats[1].hear)

    @property
    def waits(self) -> bool:
        """Whether it waits for a seat to choose."""
        first, second = self.seats
        return first.is_asked or second.is_asked

    def send(self) -> None:
        """Sends what the seats have chosen, in one command; raises what ended the battle."""
        first, second = self.seats
        ours, theirs = first.choice, second.choice
        first.choice = second.choice = None
        self.sent += 1
        if theirs is FORFEIT:
            task = asyncio.ensure_future(self.room.p2.forfeit())
            task.add_done_callback(lambda done: self.answered(_error_of(done)))
        else:
            rqids = first.rqid, second.rqid
            self.room.answer(ours, theirs, rqids=rqids, tell=self.answered)

    def answered(self, error: BaseException | None) -> None:
        """Tells the table that Node has answered; both seats know what follows."""
        try:
            self.table.answered(self, error)
        except Exception as fault:  # noqa: BLE001 - whoever waits is told, where a log would not
            self.table.break_down(fault)

    def check(self, error: BaseException | None) -> BridgeError | None:
        """What ended the battle, if not a refusal after which somebody chooses again."""
        if self.spoiled is not None and not self.room.is_over:
            return self.spoiled
        if error is None or (isinstance(error, ChoiceRejected) and self._choose_again(error)):
            return None
        if not isinstance(error, BridgeError):
            raise error
        return error

    def _choose_again(self, refusal: ChoiceRejected) -> bool:
        """Whether all whose choices were refused are asked again, or can choose again."""
        return bool(refusal.sides) and all(
            seat.is_asked or seat.forgive()
            for name, seat in zip(SEATS, self.seats, strict=True)
            if name in refusal.sides
        )

    @property
    def failure(self) -> BridgeError | None:
        """What ended the battle before its time, or will, if anything."""
        try:
            self.room.raise_failure()
        except BridgeError as error:
            return error
        return self.spoiled

    def give_up(self) -> None:
        """Ends it without a result."""
        room = self.room
        room.abandon(RoomClosed("the environment gave the battle up", room=room.tag))

    def endings(
        self, error: BridgeError | None = None, *, with_log: bool = False
    ) -> list[tuple[Agent, Ending]]:
        """What the agents of a battle that is over are told."""
        result = self.room.outcome if error is None else None
        log = self.room.journal.input_log() if with_log else None
        return [
            (s.agent, _ending(s, result, error, log)) for s in self.seats if s.agent is not None
        ]


def take_seats(battle: Battle, agents: Sequence[Agent]) -> list[Agent]:
    """Sits the agents of an environment down in a battle that begins.

    Returns those that have no seat in it, and were in the one before: they are told its end.
    """
    leaving = []
    for agent, seat in zip(agents, battle.seats, strict=False):
        if seat.agent is agent:
            agent.sit(battle.rival.name)
        elif agent.opponent is not None:
            agent.leave()
            leaving.append(agent)
    return leaving


def _error_of(done: asyncio.Future[None]) -> BaseException | None:
    return None if done.cancelled() else done.exception()


def read_choices(
    actions: Actions, agents: Sequence[Agent], taken: Sequence[Action]
) -> list[str | None]:
    """What the actions stand for, before any of them is taken; None for a pick in a team preview.

    Raises ValueError for an agent that has nothing to decide, and IllegalAction.
    """
    choices: list[str | None] = []
    for agent, action in zip(agents, taken, strict=True):
        if not agent.is_acting:
            raise ValueError(f"{agent} has nothing to decide: it was not received")
        row = agent.observation
        if actions.is_preview(row):
            if not actions.is_legal(row, action):
                words = f"action {action} ({actions.describe(action)})"
                raise IllegalAction(f"agent {agent.number}: {words} is not legal in a team preview")
            choices.append(None)
            continue
        try:
            choices.append(actions.choice(row, action))
        except IllegalAction as error:
            raise IllegalAction(f"agent {agent.number}: {error.message}") from None
    return choices


def _ending(
    seat: Seat, result: Result | None, error: BridgeError | None, log: str | None
) -> Ending:
    rival = seat.battle.rival.name
    if result is None:
        assert error is not None
        reason = f"{type(error).__name__}: {error.message}"
        return Ending(seat.observation, reason, True, rival, input_log=log)
    return Ending(
        seat.observation,
        result.reason,
        False,
        rival,
        winner=result.winner,
        score=0 if result.winner is None else 1 if result.winner == SEATS[seat.index] else -1,
        turns=result.turns,
        input_log=log,
    )
