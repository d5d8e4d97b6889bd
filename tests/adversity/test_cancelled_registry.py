"""Cancelling or closing a registry while it starts or closes leaves no process and no task."""

from __future__ import annotations

import asyncio

import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.errors import RegistryClosed
from tests.conftest import controllers, until

pytestmark = pytest.mark.timeout(60)

FORMAT = "gen1randombattle"
Moment = tuple[str, int]
MOMENTS_OF_A_START: list[Moment] = [
    *(("turns of the loop", count) for count in (0, 1, 8)),
    *(("processes", count) for count in (1, 2, 3)),
    ("ready", 1),
]


async def start_until(registry: ControllerRegistry, moment: Moment) -> asyncio.Future[None]:
    """Starts the registry, and returns in the midst of it, however fast the machine."""
    what, count = moment
    ready = asyncio.Event()
    starting = asyncio.ensure_future(registry.start(lambda _: ready.set()))
    if what == "processes":
        await until(lambda: len(controllers()) >= count)
    elif what == "ready":
        await ready.wait()
    else:
        for _ in range(count + 1):
            await asyncio.sleep(0)
    assert not starting.done()
    return starting


@pytest.mark.parametrize("moment", MOMENTS_OF_A_START, ids=str)
def test_start(runner: asyncio.Runner, settings: BridgeConfig, moment: Moment) -> None:
    async def main() -> None:
        registry = ControllerRegistry(settings, pool=3)
        starting = await start_until(registry, moment)
        starting.cancel()
        await asyncio.wait([starting])
        await registry.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with pytest.raises(RegistryClosed):
            await registry.open(FORMAT)

    runner.run(main())


@pytest.mark.parametrize("moment", MOMENTS_OF_A_START, ids=str)
def test_close_during_a_start(
    runner: asyncio.Runner, settings: BridgeConfig, moment: Moment
) -> None:
    async def main() -> None:
        registry = ControllerRegistry(settings, pool=3, warmup_battles=2)
        starting = await start_until(registry, moment)
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
