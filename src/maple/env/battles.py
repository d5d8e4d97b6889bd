"""The battles of all environments at once: who must decide, what was chosen, how it ended.

Knows rooms, seats and slots; neither features nor rewards. All of it lives on one event loop, and
no battle has a task of its own: rooms call back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

import structlog

from bridge import BattleRoom, ControllerRegistry, Player, Result, Update, View, seeds
from bridge.errors import (
    BattlePoisoned,
    BridgeError,
    ChoiceRejected,
    ControllerDied,
    ProtocolViolation,
    RoomClosed,
)

from .actions import Action, Actions, Preview
from .errors import IllegalAction, StepTimeout
from .keys import battle_key, step_key

__all__ = ["Agent", "Battle", "Battles", "Ending", "Engine", "Opening", "Opponent", "Seat"]

log = structlog.get_logger("maple.env")

SeatName: TypeAlias = Literal["p1", "p2"]
SEATS: tuple[SeatName, SeatName] = ("p1", "p2")
FORFEIT: Final = "/forfeit"
"""What the second seat chooses to give up."""
# Battles of one environment that may fail in a row before they begin.
_FALSE_STARTS = 5
# The next battle of an environment is opened once this many choices of its battle were sent, and
# up to as many more again, so that those of environments that began together do not come at once.
_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Ending:
    """How the battle of an agent ended, and the last that it saw of it."""

    observation: bytes
    reason: str
    """"win", "tie" or "forfeit", or the error by which a truncated battle failed."""
    is_truncated: bool
    winner: SeatName | None = None
    score: int = 0
    """1 for a battle that the agent won, -1 for one that it lost."""
    turns: int = 0
    error: BridgeError | None = None


class Agent:
    """A row of the environment: the seat of a slot that somebody outside decides for."""

    __slots__ = (
        "ending",
        "is_acting",
        "is_first",
        "key",
        "number",
        "observation",
        "seat",
        "slot",
        "steps",
    )

    def __init__(self, number: int, slot: int, seat: int) -> None:
        self.number = number
        self.slot = slot
        self.seat = seat
        self.observation = b""
        """What it saw last."""
        self.key = 0
        self.steps = 0
        """The key of its seat in this battle, and how many decisions it has been asked for."""
        self.ending: Ending | None = None
        """How its last battle ended, until somebody has been told."""
        self.is_first = True
        """Whether nothing led to its observation: a battle that was asked for begins with it."""
        self.is_acting = False
        """Whether it was handed out, and an action is owed."""

    def ask(self, seat: Seat) -> None:
        """Takes over what its seat has been asked."""
        seat.steps += 1
        self.observation = seat.observation
        self.key = seat.key
        self.steps = seat.steps

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

    def player(self, name: str, team: str | None) -> Player:
        """Who sits there."""

    def update(self, policy: object) -> None:
        """Decides by another policy from now on; raises ConfigError if it has none."""

    async def close(self) -> None:
        """Gives back what it holds."""


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

    __slots__ = ("number", "room", "seats", "sent", "slot", "table")

    def __init__(self, table: Table, slot: int, number: int) -> None:
        self.table = table
        self.slot = slot
        self.number = number
        self.room: BattleRoom
        self.seats: tuple[Seat, Seat]
        self.sent = 0

    def __repr__(self) -> str:
        return f"<Battle {self.number} of environment {self.slot}: {self.room!r}>"

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
        """What ended the battle before its time, if anything has."""
        try:
            self.room.raise_failure()
        except BridgeError as error:
            return error
        return None

    def give_up(self) -> None:
        """Ends it without a result."""
        room = self.room
        room.abandon(RoomClosed("the environment gave the battle up", room=room.tag))

    def endings(self, error: BridgeError | None = None) -> list[tuple[Agent, Ending]]:
        """What the agents of a battle that is over are told."""
        result = self.room.outcome if error is None else None
        return [(s.agent, _ending(s, result, error)) for s in self.seats if s.agent is not None]


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
        if not actions.is_preview(row):
            choices.append(actions.choice(row, action))
        elif actions.is_legal(row, action):
            choices.append(None)
        else:
            words = actions.describe(action)
            raise IllegalAction(f"action {action} ({words}) is not legal in this team preview")
    return choices


def _ending(seat: Seat, result: Result | None, error: BridgeError | None) -> Ending:
    if result is None:
        assert error is not None
        return Ending(
            seat.observation, f"{type(error).__name__}: {error.message}", True, error=error
        )
    score = 0 if result.winner is None else 1 if result.winner == SEATS[seat.index] else -1
    return Ending(seat.observation, result.reason, False, result.winner, score, result.turns)


@dataclass(frozen=True, slots=True)
class Opening:
    """How the battles of all environments begin."""

    format: str
    view: View
    """What an agent's seat is shown."""
    actions: Actions
    opponent: Opponent | None
    """Who has the second seat; None if that is an agent too."""
    teams: Callable[[seeds.Seed, int, int, int], str | None]
    """The team of a seat, by seed, environment, number of the battle, and seat."""

    @property
    def seats(self) -> int:
        """Agents in an environment."""
        return 2 if self.opponent is None else 1

    async def open(
        self,
        registry: ControllerRegistry,
        battle: Battle,
        seed: seeds.Seed,
        agents: Sequence[Agent],
    ) -> None:
        """Opens the room of a battle. What it is like depends on seed, slot and number alone."""
        slot, number = battle.slot, battle.number
        teams = [self.teams(seed, slot, number, index) for index in range(2)]
        names = ("Agent", "Agent 2" if self.opponent is None else "Opponent")
        second = (
            Player(names[1], teams[1], is_valid=True)
            if self.opponent is None
            else self.opponent.player(names[1], teams[1])
        )
        room = await registry.open(
            self.format,
            seed=seeds.derive(seed, f"environment {slot}, battle {number}"),
            p1=Player(names[0], teams[0], is_valid=True),
            p2=second,
            view=(self.view, self.view if self.opponent is None else self.opponent.view),
        )
        keys = [battle_key(seed, slot, number, index) for index in range(2)]
        first = Seat(battle, 0, agents[0], keys[0])
        if self.opponent is None:
            battle.begin(room, (first, Seat(battle, 1, agents[1], keys[1])))
        else:
            battle.begin(room, (first, self.opponent.sit(battle, 1, keys[1])))


def check_false_start(error: BaseException, failures: int) -> None:
    """Raises what kept a battle from beginning, unless that is its own fault and the first few."""
    if not isinstance(error, BattlePoisoned | ControllerDied) or failures >= _FALSE_STARTS:
        raise error
    log.warning("a battle did not begin, and is left out", cause=error.message)


class Engine(Protocol):
    """Plays the battles of all environments. Everything in it is used on one event loop."""

    agents: list[Agent]

    async def reset(self, seed: seeds.Seed | None) -> None:
        """Gives up the battles under way and begins new ones: the first of a seed, or the next."""

    async def send(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
        """Takes actions of agents that were handed out; they have left when this returns."""

    async def receive(self, wanted: int) -> list[Agent]:
        """Hands out so many agents that must decide; fewer only if no more will come."""

    async def step(self, agents: Sequence[Agent], actions: Sequence[Action]) -> list[Agent]:
        """Sends actions; hands out all agents that must decide once every slot waits for one."""

    async def close(self) -> None:
        """Gives up all battles; the registry is not closed here."""


class _Slot:
    """One environment: the battle that it plays, and the next one, which is opened meanwhile."""

    __slots__ = ("agents", "battle", "false_starts", "is_busy", "number", "opened", "upcoming")

    def __init__(self, number: int, agents: list[Agent]) -> None:
        self.number = number
        self.agents = agents
        self.battle: Battle | None = None
        self.upcoming: asyncio.Task[Battle] | None = None
        self.opened = 0
        """Battles begun, or about to be, since the seed was set."""
        self.false_starts = 0
        self.is_busy = False
        """Whether it waits for anything but its agents."""


class Battles:
    """All environments: hands out the agents that must decide, and takes their actions."""

    def __init__(
        self, registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> None:
        seats = opening.seats
        self.agents = [Agent(n, n // seats, n % seats) for n in range(slots * seats)]
        self._registry = registry
        self._opening = opening
        self._actions = opening.actions
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._slots = [_Slot(n, self.agents[n * seats : (n + 1) * seats]) for n in range(slots)]
        config = registry.config
        self._opens_ahead = config.pool * config.rooms_per_controller >= 2 * slots
        self._seed: seeds.Seed = 0
        self._ready: deque[Agent] = deque()
        self._busy = 0
        self._wanted = 0
        self._waiter: asyncio.Future[None] | None = None
        self._fault: BaseException | None = None
        self._failing = self._loop.create_task(self._watch_pool())

    def __repr__(self) -> str:
        acting = sum(agent.is_acting for agent in self.agents)
        return (
            f"<Battles: {len(self._slots)} environments, {self._busy} busy, "
            f"{len(self._ready)} agents ready, {acting} acting>"
        )

    # What users do

    async def reset(self, seed: seeds.Seed | None) -> None:
        """Gives up the battles under way and begins new ones: the first of a seed, or the next."""
        if seed is not None:
            self._seed = seed
        self._fault = None
        self._ready.clear()
        for slot in self._slots:
            self._abandon(slot)
            if seed is not None:
                self._forget_upcoming(slot)
                slot.opened = 0
            for agent in slot.agents:
                agent.is_acting = False
                agent.is_first = True
                agent.ending = None
            self._set_busy(slot, True)
        for slot in self._slots:
            self._begin_next(slot)
        await asyncio.sleep(0)

    async def send(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
        """Takes actions of agents that were handed out; they have left when this returns."""
        self._take(agents, actions)
        # The commands of this loop turn are written in the next.
        await asyncio.sleep(0)

    async def receive(self, wanted: int) -> list[Agent]:
        """Hands out so many agents that must decide; fewer only if no more will come."""
        await self._wait(wanted)
        ready = self._ready
        if not ready:
            raise RuntimeError("no agent will have to decide before actions are sent, or a reset")
        batch = [ready.popleft() for _ in range(min(wanted, len(ready)))]
        for agent in batch:
            agent.is_acting = True
        return batch

    async def step(self, agents: Sequence[Agent], actions: Sequence[Action]) -> list[Agent]:
        """Sends actions; hands out all agents that must decide once every slot waits for one."""
        self._take(agents, actions)
        return await self.receive(len(self.agents) + 1)

    async def close(self) -> None:
        """Gives up all battles; the registry is not closed here."""
        self._failing.cancel()
        ending: list[asyncio.Task[Any]] = [self._failing]
        for slot in self._slots:
            self._abandon(slot)
            if slot.upcoming is not None:
                ending.append(slot.upcoming)
                self._forget_upcoming(slot)
        if self._opening.opponent is not None:
            await self._opening.opponent.close()
        await asyncio.gather(*ending, return_exceptions=True)

    # Waiting

    async def _wait(self, wanted: int) -> None:
        self._raise_fault()
        self._wanted = wanted
        if not self._busy or len(self._ready) >= wanted:
            return
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_later(self._timeout, self._expire, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None
        self._raise_fault()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _expire(self, waiter: asyncio.Future[None]) -> None:
        if waiter.done():
            return
        silent = [slot for slot in self._slots if slot.is_busy]
        rooms = [slot.battle.room for slot in silent if slot.battle is not None]
        waiter.set_exception(
            StepTimeout(
                f"no answer within {self._timeout:g} s from {_name([s.number for s in silent])}",
                environments=tuple(slot.number for slot in silent),
                room=rooms[0].tag if len(rooms) == 1 else None,
            )
        )

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    async def _watch_pool(self) -> None:
        self.break_down(await self._registry.failure())

    def break_down(self, error: BaseException) -> None:
        """Nothing can go on: whoever waits, or comes to wait, is told why."""
        self._fault = self._fault or error
        self._wake()

    def _set_busy(self, slot: _Slot, busy: bool) -> None:
        self._busy += busy - slot.is_busy
        slot.is_busy = busy

    # Actions

    def _take(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
        self._raise_fault()
        choices = read_choices(self._actions, agents, actions)
        for agent, action, choice in zip(agents, actions, choices, strict=True):
            self._act(agent, action, choice)

    def _act(self, agent: Agent, action: Action, choice: str | None) -> None:
        slot = self._slots[agent.slot]
        battle = slot.battle
        assert battle is not None
        seat = battle.seats[agent.seat]
        agent.is_acting = False
        agent.is_first = False
        if choice is not None:
            seat.choose(choice)
        else:
            seat.pick(self._actions, action)
        if seat.is_asked:
            agent.ask(seat)
            self._ready.append(agent)
        elif not battle.waits:
            self._send(slot, battle)
        elif not any(s.is_asked and s.agent is not None for s in battle.seats):
            self._set_busy(slot, True)

    def chosen(self, battle: Battle) -> None:
        """A seat without an agent has chosen."""
        slot = self._slots[battle.slot]
        if battle is slot.battle and not battle.waits:
            self._send(slot, battle)

    def _send(self, slot: _Slot, battle: Battle) -> None:
        self._set_busy(slot, True)
        try:
            battle.send()
        except BridgeError as error:
            # The room has failed since it was last heard of.
            self._end(slot, battle, error)
            return
        if battle.sent >= _AHEAD + slot.number % _AHEAD and slot.upcoming is None:
            self._open_ahead(slot)

    # Battles

    def answered(self, battle: Battle, error: BaseException | None) -> None:
        """Node has answered: somebody is asked, or the battle is over."""
        slot = self._slots[battle.slot]
        if battle is not slot.battle:
            # It was given up meanwhile.
            return
        fault = None if error is None else battle.check(error)
        if fault is not None or battle.room.is_over:
            self._end(slot, battle, fault)
        else:
            self._ask(slot, battle)

    def _ask(self, slot: _Slot, battle: Battle) -> None:
        """Hands out the agents that are asked, and asks the opponent if that one is."""
        opponents = None
        for seat in battle.seats:
            if not seat.is_asked:
                continue
            if seat.agent is None:
                opponents = seat
            else:
                seat.agent.ask(seat)
                self._ready.append(seat.agent)
                if slot.is_busy:
                    self._set_busy(slot, False)
        if opponents is not None:
            assert self._opening.opponent is not None
            self._opening.opponent.decide(opponents)
        if self._waiter is not None and (not self._busy or len(self._ready) >= self._wanted):
            self._wake()

    def _end(self, slot: _Slot, battle: Battle, error: BridgeError | None) -> None:
        if error is not None:
            log.warning("a battle failed", environment=slot.number, cause=error.message)
        for agent, ending in battle.endings(error):
            agent.ending = ending
        self._abandon(slot)
        self._begin_next(slot)

    def _begin_next(self, slot: _Slot) -> None:
        """Goes on with the next battle, at once if it is open."""
        self._open_ahead(slot, needed=True)
        upcoming = slot.upcoming
        assert upcoming is not None
        if upcoming.done():
            self._begin(slot, upcoming)
        else:
            upcoming.add_done_callback(lambda opened: self._begin_later(slot, opened))

    def _open_ahead(self, slot: _Slot, *, needed: bool = False) -> None:
        if slot.upcoming is None and (needed or self._opens_ahead):
            battle = Battle(self, slot.number, slot.opened)
            slot.opened += 1
            slot.upcoming = self._loop.create_task(self._open(battle, slot.agents))

    async def _open(self, battle: Battle, agents: list[Agent]) -> Battle:
        await self._opening.open(self._registry, battle, self._seed, agents)
        return battle

    def _begin_later(self, slot: _Slot, opened: asyncio.Task[Battle]) -> None:
        try:
            self._begin(slot, opened)
        except Exception as error:  # noqa: BLE001 - whoever waits is told, where a log would not
            self.break_down(error)

    def _begin(self, slot: _Slot, opened: asyncio.Task[Battle]) -> None:
        if slot.upcoming is not opened or slot.battle is not None:
            # It was given up meanwhile.
            return
        slot.upcoming = None
        error = opened.exception() or opened.result().failure
        if error is None:
            slot.false_starts = 0
            slot.battle = opened.result()
            self._ask(slot, slot.battle)
            return
        slot.false_starts += 1
        try:
            check_false_start(error, slot.false_starts)
        except BaseException as fault:  # noqa: BLE001 - whoever waits is told
            self.break_down(fault)
        else:
            self._begin_next(slot)

    def _abandon(self, slot: _Slot) -> None:
        # In this order: whoever waits for the room's answer hears of its end at once.
        battle, slot.battle = slot.battle, None
        if battle is not None:
            battle.give_up()

    def _forget_upcoming(self, slot: _Slot) -> None:
        opening, slot.upcoming = slot.upcoming, None
        if opening is None:
            return
        if not opening.done():
            opening.cancel()
        elif opening.exception() is None:
            opening.result().give_up()


def _name(environments: Sequence[int]) -> str:
    most = 8
    named = ", ".join(map(str, environments[:most]))
    more = len(environments) - most
    return f"environments {named}" + (f" and {more} more" if more > 0 else "")
