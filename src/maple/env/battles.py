"""The battles of all environments at once: hands out who must decide, and takes their actions.

Knows rooms, seats and slots; neither features nor rewards. All of it lives on one event loop, and
no battle has a task of its own: rooms call back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from bridge import ControllerRegistry, seeds
from bridge.errors import BattlePoisoned, BridgeError
from maple.profiling import profile

from .actions import Action
from .battle import Agent, Battle, read_choices, take_seats
from .errors import OpponentFailed, StepTimeout
from .opening import Opening, check_false_start

__all__ = ["Battles", "Engine"]

log = structlog.get_logger("maple.env")

# The next battle of an environment is opened once this many choices of its battle were sent, and
# up to as many more again, so that those of environments that began together do not come at once.
_AHEAD = 8


class Engine(Protocol):
    """Plays the battles of all environments. Everything in it is used on one event loop."""

    agents: list[Agent]
    timeout: float
    """Seconds that anything is waited for."""

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is to come before actions are sent: all who are asked were handed out."""

    async def reset(self, seed: seeds.Seed | None) -> None:
        """Gives up the battles under way and begins new ones: the first of a seed, or the next."""

    async def send(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
        """Takes actions of agents that were handed out; they have left when this returns."""

    async def receive(self, wanted: int) -> list[Agent]:
        """Hands out so many agents that must decide; fewer only if no more will come.

        Beside them those whose battle has ended and who have no seat in the next: these owe
        nothing, and are told the end.
        """

    async def step(self, agents: Sequence[Agent], actions: Sequence[Action]) -> list[Agent]:
        """Sends actions; hands out all agents that must decide once every slot waits for one."""

    async def close(self) -> None:
        """Gives up all battles; the registry is not closed here."""


class _Slot:
    """One environment: the battle that it plays, and the next one, which is opened meanwhile."""

    __slots__ = (
        "agents",
        "battle",
        "false_starts",
        "is_ahead",
        "is_busy",
        "number",
        "opened",
        "upcoming",
    )

    def __init__(self, number: int, agents: list[Agent]) -> None:
        self.number = number
        self.agents = agents
        self.battle: Battle | None = None
        self.upcoming: asyncio.Task[Battle] | None = None
        self.is_ahead = False
        """Whether the next one was opened before anybody needed it."""
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
        seats = opening.seating.seats
        self.agents = [Agent(n, n // seats, n % seats) for n in range(slots * seats)]
        self._registry = registry
        self._opening = opening
        self._actions = opening.actions
        self.timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._slots = [_Slot(n, self.agents[n * seats : (n + 1) * seats]) for n in range(slots)]
        config = registry.config
        self._opens_ahead = config.pool * config.rooms_per_controller >= 2 * slots
        self._seed: seeds.Seed = 0
        self._ready: deque[Agent] = deque()
        self._leaving: list[Agent] = []
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

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is to come before actions are sent: all who are asked were handed out."""
        return not self._busy and not self._ready

    async def reset(self, seed: seeds.Seed | None) -> None:
        """Gives up the battles under way and begins new ones: the first of a seed, or the next."""
        if seed is not None:
            self._seed = seed
        self._fault = None
        self._ready.clear()
        self._leaving.clear()
        for slot in self._slots:
            self._abandon(slot)
            if seed is not None:
                self._forget_upcoming(slot)
                slot.opened = 0
            slot.false_starts = 0
            for agent in slot.agents:
                agent.begin_anew()
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
        """Hands out so many agents that must decide, and those that leave."""
        await self._wait(wanted)
        ready = self._ready
        if not ready:
            raise RuntimeError("no agent will have to decide before actions are sent, or a reset")
        batch = [ready.popleft() for _ in range(min(wanted, len(ready)))]
        for agent in batch:
            agent.is_acting = True
        batch += self._leaving
        self._leaving.clear()
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
        await self._opening.seating.close()
        await asyncio.gather(*ending, return_exceptions=True)

    # Waiting

    async def _wait(self, wanted: int) -> None:
        self._raise_fault()
        self._wanted = wanted
        if not self._busy or len(self._ready) >= wanted:
            return
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_later(self.timeout, self._expire, waiter)
        try:
            with profile("env_wait"):
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
                f"no answer within {self.timeout:g} s from {_name([s.number for s in silent])}",
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
        agent.act(action)
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
        fault = battle.check(error)
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
            assert battle.rival.opponent is not None
            battle.rival.opponent.decide(opponents)
        if self._waiter is not None and (not self._busy or len(self._ready) >= self._wanted):
            self._wake()

    def _end(self, slot: _Slot, battle: Battle, error: BridgeError | None) -> None:
        if error is not None:
            log.warning("a battle failed", environment=slot.number, cause=error.message)
        for agent, ending in battle.endings(error, with_log=self._opening.input_logs):
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
            battle = self._opening.make_battle(self, self._seed, slot.number, slot.opened)
            slot.opened += 1
            slot.is_ahead = not needed
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
        error = opened.exception() or _failure_of(opened.result())
        if error is None:
            slot.false_starts = 0
            slot.battle = opened.result()
            self._leaving += take_seats(slot.battle, slot.agents)
            self._ask(slot, slot.battle)
            return
        if slot.is_ahead and not isinstance(error, BattlePoisoned | OpponentFailed):
            # It may have had no place beside the battle before it. Now that one is over.
            slot.opened -= 1
            self._begin_next(slot)
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


def _failure_of(battle: Battle) -> BridgeError | None:
    """Why a battle that was opened cannot begin; its room is not kept then."""
    failure = battle.failure
    if failure is not None:
        battle.give_up()
    return failure


def _name(environments: Sequence[int]) -> str:
    most = 8
    named = ", ".join(map(str, environments[:most]))
    more = len(environments) - most
    return f"environments {named}" + (f" and {more} more" if more > 0 else "")
