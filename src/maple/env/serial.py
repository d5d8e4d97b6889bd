"""The same environment, one battle at a time: for a debugger, and to compare with."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

import structlog

from bridge import ControllerRegistry, seeds
from bridge.errors import BridgeError

from .actions import Action
from .battle import Agent, Battle, Seat, read_choices, take_seats
from .errors import StepTimeout
from .opening import Opening, check_false_start
from .vector import VectorEnv

__all__ = ["SerialBattles", "SerialVectorEnv"]

log = structlog.get_logger("maple.env")


class SerialVectorEnv(VectorEnv):
    """A VectorEnv that plays its environments one after the other, each up to its next decision.

    They are played while somebody waits for them, and not when actions are sent.
    """

    @staticmethod
    def _make_battles(
        registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> SerialBattles:
        return SerialBattles(registry, opening, slots, timeout=timeout)


class _Environment:
    """The battle that one environment plays, and what it waits for."""

    __slots__ = ("agents", "answer", "battle", "deciding", "false_starts", "number", "opened")

    def __init__(self, number: int, agents: list[Agent]) -> None:
        self.number = number
        self.agents = agents
        self.battle: Battle | None = None
        self.opened = 0
        self.false_starts = 0
        self.answer: asyncio.Future[BaseException | None] | None = None
        """What Node says to the choices that were sent, until it is read."""
        self.deciding: Seat | None = None
        """The seat that the opponent was asked to decide for."""

    def give_up(self) -> None:
        # In this order: whoever waits for the room's answer hears of its end at once.
        battle, self.battle = self.battle, None
        self.answer = self.deciding = None
        if battle is not None:
            battle.give_up()


class SerialBattles:
    """What Battles does, with one battle under way at a time, and none opened ahead.

    Who stops waiting, for time or Ctrl-C, finds everything where it was: a battle remembers what it
    waits for.
    """

    def __init__(
        self, registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> None:
        seats = opening.seating.seats
        self.agents = [Agent(n, n // seats, n % seats) for n in range(slots * seats)]
        self.timeout = timeout
        self._registry = registry
        self._opening = opening
        self._seed: seeds.Seed = 0
        self._ready: list[Agent] = []
        self._leaving: list[Agent] = []
        self._due: deque[_Environment] = deque()
        self._chosen = asyncio.Event()
        self._fault: BaseException | None = None
        self._environments = [
            _Environment(n, self.agents[n * seats : (n + 1) * seats]) for n in range(slots)
        ]

    def __repr__(self) -> str:
        return (
            f"<SerialBattles: {len(self._environments)} environments, {len(self._due)} to play on, "
            f"{len(self._ready)} agents ready>"
        )

    # What users do

    @property
    def is_waiting(self) -> bool:
        return not self._due and not self._ready

    async def reset(self, seed: seeds.Seed | None) -> None:
        if seed is not None:
            self._seed = seed
        self._fault = None
        self._ready.clear()
        self._leaving.clear()
        for environment in self._environments:
            environment.give_up()
            environment.false_starts = 0
            if seed is not None:
                environment.opened = 0
            for agent in environment.agents:
                agent.begin_anew()
        self._due = deque(self._environments)

    async def send(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
        self._raise_fault()
        choices = read_choices(self._opening.actions, agents, actions)
        for agent, action, choice in zip(agents, actions, choices, strict=True):
            environment = self._environments[agent.slot]
            assert environment.battle is not None
            seat = environment.battle.seats[agent.seat]
            agent.act(action)
            if choice is not None:
                seat.choose(choice)
            else:
                seat.pick(self._opening.actions, action)
            if environment not in self._due:
                self._due.append(environment)

    async def receive(self, wanted: int) -> list[Agent]:
        self._raise_fault()
        while self._due and len(self._ready) < wanted:
            environment = self._due.popleft()
            try:
                await self._play_in_time(environment)
            except BaseException:
                self._due.append(environment)
                raise
        if not self._ready:
            raise RuntimeError("no agent will have to decide before actions are sent, or a reset")
        batch, self._ready = self._ready[:wanted], self._ready[wanted:]
        for agent in batch:
            agent.is_acting = True
        batch += self._leaving
        self._leaving.clear()
        return batch

    async def step(self, agents: Sequence[Agent], actions: Sequence[Action]) -> list[Agent]:
        await self.send(agents, actions)
        return await self.receive(len(self.agents) + 1)

    async def close(self) -> None:
        for environment in self._environments:
            environment.give_up()
        await self._opening.seating.close()

    # One environment

    async def _play_in_time(self, environment: _Environment) -> None:
        try:
            async with asyncio.timeout(self.timeout):
                await self._play_on(environment)
        except TimeoutError as error:
            raise StepTimeout(
                f"no answer within {self.timeout:g} s from environment {environment.number}",
                environments=(environment.number,),
            ) from error

    async def _play_on(self, environment: _Environment) -> None:
        """Plays until an agent has to decide."""
        while True:
            battle = environment.battle or await self._begin(environment)
            if environment.answer is None:
                for seat in battle.seats:
                    if seat.agent is None:
                        await self._ask_opponent(environment, battle, seat)
                asked = [seat for seat in battle.seats if seat.is_asked]
                if asked:
                    self._hand_out(asked)
                    return
            error = await self._send(environment, battle)
            if error is not None or battle.room.is_over:
                if error is not None:
                    log.warning(
                        "a battle failed", environment=environment.number, cause=error.message
                    )
                with_log = self._opening.input_logs
                for agent, ending in battle.endings(error, with_log=with_log):
                    agent.ending = ending
                environment.give_up()

    async def _ask_opponent(self, environment: _Environment, battle: Battle, seat: Seat) -> None:
        if seat.is_asked and environment.deciding is not seat:
            environment.deciding = seat
            assert battle.rival.opponent is not None
            battle.rival.opponent.decide(seat)
        while seat.is_asked and self._fault is None:
            self._chosen.clear()
            await self._chosen.wait()
        self._raise_fault()
        environment.deciding = None

    def _hand_out(self, seats: list[Seat]) -> None:
        for seat in seats:
            agent = seat.agent
            assert agent is not None
            if not agent.is_acting and agent not in self._ready:
                agent.ask(seat)
                self._ready.append(agent)

    async def _send(self, environment: _Environment, battle: Battle) -> BridgeError | None:
        if environment.answer is None:
            environment.answer = asyncio.get_running_loop().create_future()
            try:
                battle.send()
            except BridgeError as error:
                return error
        fault = battle.check(await asyncio.shield(environment.answer))
        environment.answer = None
        return fault

    async def _begin(self, environment: _Environment) -> Battle:
        while True:
            battle = self._opening.make_battle(
                self, self._seed, environment.number, environment.opened
            )
            try:
                await self._opening.open(self._registry, battle, self._seed, environment.agents)
                if (failure := battle.failure) is not None:
                    battle.give_up()
                    raise failure
            except BridgeError as error:
                environment.opened += 1
                environment.false_starts += 1
                check_false_start(error, environment.false_starts)
            else:
                environment.opened += 1
                environment.false_starts = 0
                environment.battle = battle
                self._leaving += take_seats(battle, environment.agents)
                return battle

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    # What battles tell

    def answered(self, battle: Battle, error: BaseException | None) -> None:
        environment = self._environments[battle.slot]
        answer = environment.answer
        if battle is environment.battle and answer is not None and not answer.done():
            answer.set_result(error)

    def chosen(self, battle: Battle) -> None:
        self._chosen.set()

    def break_down(self, error: BaseException) -> None:
        self._fault = self._fault or error
        self._chosen.set()
