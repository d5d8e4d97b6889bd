"""Cancelling or closing a registry while it starts or closes leaves no process and no task."""

from __future__ import annotations

import asyncio

import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.errors import RegistryClosed
from tests.conftest import controllers

pytestmark = pytest.mark.timeout(60)

FORMAT = "gen1randombattle"
MOMENTS_OF_A_START = [0, 1, 8, 0.02, 0.1, 0.3, 0.6]


@pytest.mark.parametrize("when", MOMENTS_OF_A_START)
def test_start(runner: asyncio.Runner, settings: BridgeConfig, when: float) -> None:
    async def main() -> None:
        registry = ControllerRegistry(settings, pool=2)
        starting = asyncio.ensure_future(registry.start())
        if isinstance(when, int):
            for _ in range(when):
                await asyncio.sleep(0)
        else:
            await asyncio.wait([starting], timeout=when)
        starting.cancel()
        await asyncio.wait([starting])
        await registry.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with pytest.raises(RegistryClosed):
            await registry.open(FORMAT)

    runner.run(main())


@pytest.mark.parametrize("when", [*MOMENTS_OF_A_START, "the first is warm"])
def test_close_during_a_start(
    runner: asyncio.Runner, settings: BridgeConfig, when: float | str
) -> None:
    async def main() -> None:
        first_is_warm = asyncio.Event()
        registry = ControllerRegistry(settings, pool=3, warmup_battles=2)
        starting = asyncio.ensure_future(registry.start(lambda _: first_is_warm.set()))
        if isinstance(when, str):
            await first_is_warm.wait()
        elif isinstance(when, int):
            for _ in range(when + 1):
                await asyncio.sleep(0)
        else:
            await asyncio.wait([starting], timeout=when)
        await registry.close()
        assert controllers() == set()
        with pytest.raises(RegistryClosed, match="closed while it started"):
            await starting
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with pytest.raises(RegistryClosed):
            await registry.open(FORMAT)
        with pytest.raises(RegistryClosed):
            await registry.start()

    runner.run(main())


@pytest.mark.parametrize("drain", [True, False])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_close_of_a_registry(
    runner: asyncio.Runner, settings: BridgeConfig, count: int, drain: bool
) -> None:
    async def main() -> None:
        registry = ControllerRegistry(settings, drain_timeout=0.1)
        await registry.start()
        room = await registry.open(FORMAT)
        closing = asyncio.ensure_future(registry.close(drain=drain))
        for _ in range(count):
            await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await registry.close()
        assert room.is_over
        assert asyncio.all_tasks() == {asyncio.current_task()}

    runner.run(main())
