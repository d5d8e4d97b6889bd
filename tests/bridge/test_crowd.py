"""Crowds of rooms that play in step, for benchmarks that compare like with like."""

from __future__ import annotations

import asyncio

import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.benchmarks.crowd import Gate, Twins, gathered

FORMAT = "gen1randombattle"


class Players:
    """Tasks that go through a gate for ever and count how often they did."""

    def __init__(self, gate: Gate, count: int) -> None:
        self._gate = gate
        self.turns = [0] * count
        self.tasks = [asyncio.ensure_future(self._play(number)) for number in range(count)]

    async def _play(self, number: int) -> None:
        while True:
            await self._gate()
            self.turns[number] += 1
            for _ in range(number):
                await asyncio.sleep(0)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_a_gate_lets_everybody_through_as_often_as_it_is_told() -> None:
    gate = Gate(3)
    shutting = asyncio.ensure_future(gate.shut())
    await asyncio.sleep(0)
    players = Players(gate, 3)
    await shutting
    for turn in range(5):
        assert players.turns == [turn] * 3
        assert repr(gate) == "<Gate: shut, 3 of 3 held>"
        await gate.pass_once()
    await players.end()


async def test_an_open_gate_holds_nobody_until_it_is_shut() -> None:
    gate = Gate(2)
    for _ in range(100):
        await gate()
    shutting = asyncio.ensure_future(gate.shut())
    await asyncio.sleep(0)
    first = asyncio.ensure_future(gate())
    await asyncio.sleep(0)
    assert not shutting.done()
    second = asyncio.ensure_future(gate())
    await shutting
    assert [task.done() for task in (first, second)] == [False, False]
    gate.open()
    await asyncio.gather(first, second)
    assert repr(gate) == "<Gate: open, 0 of 2 held>"


async def test_twins_play_the_same_turns_timed_and_not(settings: BridgeConfig) -> None:
    async with (
        ControllerRegistry(settings) as registry,
        gathered(registry, 3, FORMAT) as one,
        gathered(registry, 3, FORMAT) as other,
    ):
        await one.start()
        await other.start()
        before = registry.trips.total("choose").count
        decided = registry.stats()["counters"]["decisions"]
        timed, untimed = await Twins(registry, (one, other)).play(4)
        assert timed.battles == untimed.battles >= 4
        assert timed.decisions == untimed.decisions > 100
        assert timed.turns == untimed.turns
        assert registry.stats()["counters"]["decisions"] - decided == 2 * timed.decisions
        recorded = registry.trips.total("choose").count - before
        assert timed.decisions <= recorded < 1.2 * timed.decisions
        assert all(s.python_cpu > 0 and s.node_cpu > 0 and s.wall > 0 for s in (timed, untimed))


async def test_a_crowd_that_starts_in_the_middle_is_at_all_stages(settings: BridgeConfig) -> None:
    crowded = settings.replace(rooms_per_controller=100)
    async with ControllerRegistry(crowded) as registry, gathered(registry, 80, FORMAT) as crowd:
        await crowd.start_in_the_middle(20)
        # Some players may be about to open their next room.
        assert 60 < registry.stats()["pool"]["rooms"] <= 80
        assert registry.counters.battles_ended >= 20
        ages = {len(room.journal.moves) for room in registry._rooms.values()}
        assert len(ages) > 10
        await crowd.gate.shut()
        assert repr(crowd) == "<Crowd: 80 of 80 players, <Gate: shut, 64 of 64 held>>"


async def test_a_player_that_fails_ends_its_crowd(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        with pytest.raises(ExceptionGroup) as failed:
            async with gathered(registry, 2, "gen9ou") as crowd:
                await crowd.start()
        assert "needs a team" in str(failed.value.exceptions[0])
