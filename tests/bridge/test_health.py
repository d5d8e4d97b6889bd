"""A process that does not answer is as dead as one that exited; one that was not heard is not."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import psutil
import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.placement import is_lost


@pytest.mark.parametrize(
    ("overdue", "busy", "held", "lost"),
    [
        (9.9, 9.9, True, False),
        (10.0, 0.0, True, True),
        (10.0, 5.0, False, True),
        (10.0, 4.9, False, False),
        (39.9, 4.9, False, False),
        (40.0, 0.0, False, True),
    ],
)
def test_a_starved_process_gets_four_times_as_long(
    overdue: float, busy: float, held: bool, lost: bool
) -> None:
    assert is_lost(overdue, busy, held, patience=10.0) is lost


@pytest.fixture
def watchful(settings: BridgeConfig) -> BridgeConfig:
    """A process that has loaded the format of these tests, and is looked at every second."""
    return settings.replace(warmup_battles=1, heartbeat=0.1, response_timeout=1.0)


async def test_an_idle_process_that_is_stopped_is_found_and_replaced(
    watchful: BridgeConfig,
) -> None:
    async with ControllerRegistry(watchful) as registry:
        [controller] = registry.stats()["controllers"]
        os.kill(controller["pid"], signal.SIGSTOP)
        gone = psutil.wait_procs([psutil.Process(controller["pid"])], timeout=0)[0]
        assert not gone
        async with asyncio.timeout(30):
            await asyncio.to_thread(psutil.Process(controller["pid"]).wait)
        room = await registry.open("gen9randombattle", seed=1)
        await room.close()
        assert registry.stats()["counters"]["deaths"] == 1


async def test_a_loop_that_did_not_listen_does_not_blame_the_process(
    watchful: BridgeConfig,
) -> None:
    async with ControllerRegistry(watchful) as registry:
        room = await registry.open("gen9randombattle", seed=1)
        for _ in range(2):
            choice = room.p1.choose("default")
            await asyncio.sleep(0)
            time.sleep(5)  # noqa: ASYNC251
            await choice
            await room.p2.choose("default")
        assert registry.stats()["counters"]["deaths"] == 0
        await room.close()
