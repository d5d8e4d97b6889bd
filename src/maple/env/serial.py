"""The same environment, one battle at a time: for a debugger, and to compare with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog

from bridge import ControllerRegistry, seeds
from bridge.errors import BridgeError

from .actions import Action
from .battle import Agent, Battle, Seat, read_choices
from .errors import StepTimeout
from .opening import Opening, check_false_start
from .vector import VectorEnv

__all__ = ["SerialBattles", "SerialVectorEnv"]

log = structlog.get_logger("maple.env")


class SerialVectorEnv(VectorEnv):
    """A VectorEnv that plays its environments one after the other, each up to its next decision."""

    @staticmethod
    def _make_battles(
        registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> SerialBattles:
        return SerialBattles(registry, opening, slots, timeout=timeout)


class _Environment:
    """The battle that one environment plays."""

    __slots__ = ("agents", "battle", "number", "opened")

    def __init__(self, number: int, agents: list[Agent]) -> None:
        self.number = number
        self.agents = agents
        self.battle: Battle | None = None
        self.opened = 0


class SerialBattles:
    """What Battles does, with one battle under way at a time, and none opened ahead."""

    def __init__(
        self, registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> None:
        seats = opening.seats
        self.agents = [Agent(n, n // seats, n % seats) for n in range(slots * seats)]
        self._registry = registry
        self._opening = opening
        self._timeout = timeout
        self._seed: seeds.Seed = 0
        self._ready: list[Agent] = []
        self._chosen = asyncio.Event()
        self._answer: asyncio.Future[BaseException | None] | None = None
        self._fault: BaseException | None = None
        self._environments = [
            _Environment(n, self.agents[n * seats : (n + 1) * seats]) for n in range(slots)
        ]

    def __repr__(self) -> str:
        return f"<SerialBattles: {len(self._environments)}, {len(self._ready)} agents ready>"

    # What users do

    async def reset(self, seed: seeds.Seed | None) -> None:
        if seed is not None:
            self._seed = seed
        self._fault = None
        self._ready.clear()
        for environment in self._environments:
            if environment.battle is not None:
                await environment.battle.room.close()
            if seed is not None:
                environment.opened = 0
            for agent in environment.agents:
                agent.is_acting = False
                agent.is_first = True
                agent.ending = None
            await self._in_time(environment, self._begin(environment))
            await self._in_time(environment, self._play_on(environment))

    async def send(self, agents: Sequence[Agent], actions: Sequence[Action]) -> None:
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
        for number in sorted({agent.slot for agent in agents}):
            environment = self._environments[number]
            await self._in_time(environment, self._play_on(environment))

    async def receive(self, wanted: int) -> list[Agent]:
        if not self._ready:
            raise RuntimeError("no agent will have to decide before actions are sent, or a reset")
        batch, self._ready = self._ready[:wanted], self._ready[wanted:]
        for agent in batch:
            agent.is_acting = True
        return batch

    async def step(self, agents: Sequence[Agent], actions: Sequence[Action]) -> list[Agent]:
        await self.send(agents, actions)
        return await self.receive(len(self.agents))

    async def close(self) -> None:
        for environment in self._environments:
            if environment.battle is not None:
                await environment.battle.room.close()
        if self._opening.opponent is not None:
            await self._opening.opponent.close()

    # One environment

    async def _play_on(self, environment: _Environment) -> None:
        """Plays until an agent has to decide."""
        while True:
            battle = environment.battle
            assert battle is not None
            for seat in battle.seats:
                if seat.is_asked and seat.agent is None:
                    await self._ask_opponent(seat)
            asked = [seat for seat in battle.seats if seat.is_asked and seat.agent is not None]
            if asked:
                self._hand_out(asked)
                return
            error = await self._send(battle)
            if error is not None or battle.room.is_over:
                for agent, ending in battle.endings(error):
                    agent.ending = ending
                await self._begin(environment)

    async def _ask_opponent(self, seat: Seat) -> None:
        assert self._opening.opponent is not None
        self._opening.opponent.decide(seat)
        while seat.is_asked and self._fault is None:
            self._chosen.clear()
            await self._chosen.wait()
        if self._fault is not None:
            raise self._fault

    def _hand_out(self, seats: list[Seat]) -> None:
        for seat in seats:
            agent = seat.agent
            assert agent is not None
            if not agent.is_acting and agent not in self._ready:
                agent.ask(seat)
                self._ready.append(agent)

    async def _send(self, battle: Battle) -> BridgeError | None:
        self._answer = asyncio.get_running_loop().create_future()
        try:
            battle.send()
        except BridgeError as error:
            return error
        return battle.check(await self._answer)

    async def _begin(self, environment: _Environment) -> None:
        failures = 0
        while True:
            battle = Battle(self, environment.number, environment.opened)
            environment.opened += 1
            try:
                await self._opening.open(self._registry, battle, self._seed, environment.agents)
            except BridgeError as error:
                failures += 1
                check_false_start(error, failures)
            else:
                environment.battle = battle
                return

    async def _in_time(self, environment: _Environment, work: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await work
        except TimeoutError as error:
            raise StepTimeout(
                f"no answer within {self._timeout:g} s from environment {environment.number}",
                environments=(environment.number,),
            ) from error

    # What battles tell

    def answered(self, battle: Battle, error: BaseException | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(error)

    def chosen(self, battle: Battle) -> None:
        self._chosen.set()

    def break_down(self, error: BaseException) -> None:
        self._fault = self._fault or error
        self._chosen.set()
