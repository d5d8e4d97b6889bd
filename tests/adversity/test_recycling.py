"""Controllers are replaced while battles run, and nobody notices but the counters."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.controller import Controller, ControllerState
from bridge.workload import policies_for
from tests.conftest import controllers, until
from tests.recording import Recorder, Recording, record

pytestmark = pytest.mark.timeout(90)

HOARD = Path(__file__).parent / "faults" / "hoard.js"
FORMAT = "gen1randombattle"
BATTLES = [(FORMAT, seed) for seed in range(12)]
AT_ONCE = 6


@dataclass
class Calm:
    """What the battles are like on one controller that stays, and the memory that it then has.

    Without turbo, as one that hoards: its fault loads the simulator before turbo could.
    """

    recordings: list[Recording]
    megabytes: int


@pytest.fixture(scope="module")
def calm() -> Calm:
    async def main() -> Calm:
        settings = BridgeConfig(pool=1, warmup_battles=0, turbo=False, response_timeout=30)
        async with ControllerRegistry(settings) as registry:
            (controller,) = registry._ready()
            recordings = await play(registry)
            await controller.ping()
            return Calm(recordings, controller.vitals.rss // 1_000_000)

    return asyncio.run(main())


@pytest.fixture
def restless(settings: BridgeConfig) -> BridgeConfig:
    """Two controllers that are replaced for no reason yet, but then at once."""
    return settings.replace(
        pool=2,
        heartbeat=0.1,
        response_timeout=30.0,
        recycle_battles=0,
        recycle_memory_mb=0,
        recycle_age=0.0,
        recycle_jitter=0.0,
    )


async def play(registry: ControllerRegistry) -> list[Recording]:
    """Plays all battles, some at a time, and records them."""
    recordings: dict[int, Recording] = {}
    numbers = iter(range(len(BATTLES)))

    async def keep_playing(some: Iterable[int]) -> None:
        for number in some:
            recordings[number] = await record(registry, *BATTLES[number])

    await asyncio.gather(*(keep_playing(numbers) for _ in range(AT_ONCE)))
    return [recordings[number] for number in range(len(BATTLES))]


def counters(registry: ControllerRegistry) -> dict[str, Any]:
    found: dict[str, Any] = registry.stats(round_trips=False)["counters"]
    return found


class Census:
    """Looks again and again how many processes there are, and notes which were recycled."""

    def __init__(self, registry: ControllerRegistry) -> None:
        assert registry._pool is not None
        self.recycled: set[int] = set()
        self._registry = registry
        self._recycle = registry._pool._recycle
        registry._pool._recycle = self._note  # type: ignore[method-assign]
        self._task = asyncio.create_task(self._count())

    def _note(self, controller: Controller, reason: str) -> None:
        self.recycled.add(controller.pid)
        self._recycle(controller, reason)

    async def _count(self) -> None:
        pool = self._registry.config.pool
        while True:
            stats = self._registry.stats(round_trips=False)
            draining = [c for c in stats["controllers"] if c["state"] != "ready"]
            # In each place one that works and one that is to replace it.
            assert len(controllers()) <= 2 * pool + len(draining), stats["controllers"]
            assert stats["pool"]["ready"] <= pool
            await asyncio.sleep(0.2)

    async def close(self) -> None:
        """Ends the count; raises what it found wrong."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


async def play_until_recycled(config: BridgeConfig, calm: Calm, reason: str) -> dict[str, Any]:
    """Plays the battles over and over until processes have been replaced; returns the counters."""
    async with ControllerRegistry(config) as registry:
        census = Census(registry)
        rounds = 0
        while counters(registry)["recycled"].get(reason, 0) < 2:
            assert await play(registry) == calm.recordings
            rounds += 1
        found = counters(registry)
        former = census.recycled.copy()
        assert len(former) == found["recycled"][reason]
        await until(lambda: not any(map(psutil.pid_exists, former)))
        await census.close()
    assert found["recycled"].keys() == {reason}
    assert found["battles_ended"] == rounds * len(BATTLES)
    assert (found["deaths"], found["failed_starts"], found["battles_poisoned"]) == (0, 0, 0)
    return found


@pytest.mark.parametrize("drain_timeout", [20.0, 0.0], ids=["drained", "moved"])
async def test_recycling_by_battles_goes_unnoticed(
    restless: BridgeConfig, calm: Calm, drain_timeout: float
) -> None:
    config = restless.replace(recycle_battles=5, drain_timeout=drain_timeout)
    found = await play_until_recycled(config, calm, "battles")
    assert (found["battles_moved"] > 0) == (drain_timeout == 0)
    # Whoever was recycled had so many battles; one that moves is a battle wherever it comes.
    had = found["battles_ended"] + found["battles_moved"]
    assert found["recycled"]["battles"] <= had / 5


async def test_recycling_by_memory_goes_unnoticed(restless: BridgeConfig, calm: Calm) -> None:
    config = restless.replace(
        recycle_memory_mb=calm.megabytes + 150,
        node_arguments=("--require", str(HOARD)),
        drain_timeout=20.0,
    )
    found = await play_until_recycled(config, calm, "memory")
    # It takes four battles to hoard as much.
    assert found["recycled"]["memory"] <= found["battles_ended"] / 4
    assert found["battles_moved"] == 0


async def test_recycling_by_age_goes_unnoticed(restless: BridgeConfig, calm: Calm) -> None:
    config = restless.replace(recycle_age=1.0, drain_timeout=20.0)
    found = await play_until_recycled(config, calm, "age")
    assert found["battles_moved"] == 0


async def recycle(registry: ControllerRegistry) -> Controller:
    """Has the only controller of a pool replaced, and returns the one that drains."""
    (former,) = registry._ready()
    assert registry._pool is not None
    (berth,) = registry._pool._berths
    berth.recycle = "battles"
    berth.attention.set()
    await until(lambda: former.state is not ControllerState.READY)
    return former


async def hold(registry: ControllerRegistry, number: int) -> tuple[BattleRoom, Recorder]:
    """A battle that has begun, and that nobody goes on with for now."""
    name, seed = BATTLES[number]
    room = await registry.open(name, seed=seed)
    recorder = Recorder(room, policies_for(seed))
    await recorder.play(rounds=2)
    return room, recorder


async def test_a_room_that_does_not_end_in_time_moves_and_goes_on_as_it_would_have(
    restless: BridgeConfig, calm: Calm
) -> None:
    async with ControllerRegistry(restless, pool=1, drain_timeout=0.2) as registry:
        held = {number: await hold(registry, number) for number in (0, 1)}
        former = await recycle(registry)
        pid = former.pid
        await until(lambda: former.state is ControllerState.DEAD)
        assert counters(registry)["battles_moved"] == 2
        for number, (room, recorder) in held.items():
            assert room.controller is registry._ready()[0]
            assert await recorder.play() == calm.recordings[number]
        assert not psutil.pid_exists(pid)
        assert counters(registry)["recycled"] == {"battles": 1}
        assert counters(registry)["deaths"] == 0


async def test_a_room_that_ends_in_time_is_left_where_it_is(
    restless: BridgeConfig, calm: Calm
) -> None:
    async with ControllerRegistry(restless, pool=1, drain_timeout=60.0) as registry:
        room, recorder = await hold(registry, 0)
        former = await recycle(registry)
        newcomer = await registry.open(FORMAT)
        assert newcomer.controller is not former
        assert room.controller is former
        assert await recorder.play() == calm.recordings[0]
        await until(lambda: former.state is ControllerState.DEAD)
        await newcomer.close()
        assert counters(registry)["battles_moved"] == 0


async def test_a_controller_that_dies_while_it_drains_loses_no_battle(
    restless: BridgeConfig, calm: Calm
) -> None:
    async with ControllerRegistry(restless, pool=1, drain_timeout=60.0) as registry:
        _, recorder = await hold(registry, 0)
        former = await recycle(registry)
        assert former.state is ControllerState.DRAINING
        os.kill(former.pid, signal.SIGKILL)
        assert await recorder.play() == calm.recordings[0]
        found = counters(registry)
        assert (found["deaths"], found["battles_moved"], found["starts"]) == (1, 1, 2)


async def test_a_controller_that_dies_while_it_is_to_be_recycled_is_replaced_once(
    restless: BridgeConfig, calm: Calm
) -> None:
    async with ControllerRegistry(restless, pool=1) as registry:
        _, recorder = await hold(registry, 0)
        (former,) = registry._ready()
        recycling = asyncio.ensure_future(recycle(registry))
        await until(lambda: counters(registry)["starts"] == 2)
        os.kill(former.pid, signal.SIGKILL)
        assert await recycling is former
        assert await recorder.play() == calm.recordings[0]
        found = counters(registry)
        assert (found["deaths"], found["starts"], found["recycled"]) == (1, 2, {})


# Newcomers warm before they replace who is healthy


ENDLESS = 1_000_000


def ask_for_another(registry: ControllerRegistry) -> Controller:
    """Has the only controller of a pool replaced some time; returns it."""
    assert registry._pool is not None
    (berth,) = registry._pool._berths
    berth.recycle = "battles"
    berth.attention.set()
    (former,) = registry._ready()
    return former


async def successor_of(registry: ControllerRegistry) -> Controller:
    """The controller that warms to take the place of another."""
    assert registry._pool is not None
    (berth,) = registry._pool._berths
    await until(lambda: berth.successor is not None)
    assert berth.successor is not None
    return berth.successor


@pytest.fixture
def warming(restless: BridgeConfig) -> BridgeConfig:
    return restless.replace(pool=1, warmup_battles=ENDLESS, warmup_format=FORMAT)


async def test_a_healthy_controller_is_replaced_by_one_that_is_warm(
    warming: BridgeConfig,
) -> None:
    async with ControllerRegistry(warming, warmup_battles=20) as registry:
        former = ask_for_another(registry)
        newcomer = await successor_of(registry)
        assert newcomer.vitals.warmth < 1
        assert registry._ready() == [former]
        states = [c["state"] for c in registry.stats(round_trips=False)["controllers"]]
        assert states == ["ready", "warming"]
        await until(lambda: former.state is not ControllerState.READY)
        assert registry._ready() == [newcomer]
        assert newcomer.vitals.warm == (20, 20)
        assert counters(registry)["recycled"] == {"battles": 1}


async def test_a_controller_that_dies_is_replaced_at_once_even_by_a_cold_one(
    warming: BridgeConfig, calm: Calm
) -> None:
    async with ControllerRegistry(warming) as registry:
        _, recorder = await hold(registry, 0)
        former = ask_for_another(registry)
        newcomer = await successor_of(registry)
        os.kill(former.pid, signal.SIGKILL)
        assert await recorder.play() == calm.recordings[0]
        assert registry._ready() == [newcomer]
        assert newcomer.vitals.warmth < 1
        found = counters(registry)
        assert (found["deaths"], found["starts"], found["recycled"]) == (1, 2, {})


async def test_a_newcomer_that_dies_while_it_warms_has_a_successor(
    warming: BridgeConfig, calm: Calm
) -> None:
    config = warming.replace(warmup_battles=60, backoff_base=0.01)
    async with ControllerRegistry(config) as registry:
        _, recorder = await hold(registry, 0)
        former = ask_for_another(registry)
        first = await successor_of(registry)
        os.kill(first.pid, signal.SIGKILL)
        await until(lambda: former.state is not ControllerState.READY)
        (second,) = registry._ready()
        assert second is not first
        assert second.vitals.warmth == 1
        assert await recorder.play() == calm.recordings[0]
        found = counters(registry)
        assert (found["deaths"], found["starts"], found["failed_starts"]) == (1, 3, 0)


async def test_nobody_waits_for_ever_until_a_newcomer_is_warm(warming: BridgeConfig) -> None:
    async with ControllerRegistry(warming, start_timeout=5.0) as registry:
        former = ask_for_another(registry)
        newcomer = await successor_of(registry)
        await until(lambda: former.state is not ControllerState.READY)
        assert registry._ready() == [newcomer]
        assert newcomer.vitals.warmth < 1


async def test_closing_ends_a_newcomer_that_warms(warming: BridgeConfig) -> None:
    async with ControllerRegistry(warming) as registry:
        ask_for_another(registry)
        await successor_of(registry)
        assert len(controllers()) == 2
    assert controllers() == set()


async def test_closing_ends_those_that_drain_and_those_that_start(
    restless: BridgeConfig,
) -> None:
    async with ControllerRegistry(restless, pool=1, drain_timeout=60.0) as registry:
        await hold(registry, 0)
        await recycle(registry)
        recycling = asyncio.ensure_future(recycle(registry))
        # A start is counted before its process is there to be seen.
        await until(lambda: len(controllers()) == 3)
        assert counters(registry)["starts"] == 3
        await registry.close(drain=False)
        recycling.cancel()
    assert controllers() == set()
