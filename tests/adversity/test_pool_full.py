"""A full pool lets `open` wait its turn, and never takes more battles than it has places for."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.controller import Controller
from bridge.errors import BattleRejected, PoolExhausted, RegistryClosed
from bridge.pool import Pool
from bridge.workload import policies_for
from tests.conftest import until
from tests.recording import Recorder, record_all

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

FORMAT = "gen1randombattle"
PATIENCE = 30.0


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def two_places() -> AsyncIterator[ControllerRegistry]:
    settings = BridgeConfig(pool=1, rooms_per_controller=2, warmup_battles=0, open_timeout=1.0)
    async with ControllerRegistry(settings, response_timeout=PATIENCE) as registry:
        yield registry


@pytest.fixture(name="settings")
def patient(settings: BridgeConfig) -> BridgeConfig:
    return settings.replace(response_timeout=PATIENCE)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def every_place_is_given_back(registry: ControllerRegistry) -> AsyncIterator[None]:
    yield
    for room in list(registry._rooms.values()):
        await room.close()
    assert not registry._waiting
    assert [controller.load for controller in registry._ready()] == [0]


async def fill(registry: ControllerRegistry) -> list[BattleRoom]:
    places = registry.config.pool * registry.config.rooms_per_controller
    return [await registry.open(FORMAT, seed=seed) for seed in range(places)]


async def line_up(registry: ControllerRegistry, count: int) -> list[asyncio.Task[BattleRoom]]:
    """Opens that wait, the first in line first."""
    opens = []
    for number in range(count):
        opening = registry.open(FORMAT, seed=100 + number, timeout=PATIENCE)
        opens.append(asyncio.create_task(opening))
        await until(lambda: len(registry._waiting) == len(opens))
    return opens


# Waiting


async def forfeit(room: BattleRoom) -> None:
    await room.p1.forfeit()


async def play_out(room: BattleRoom) -> None:
    await Recorder(room, policies_for(0)).play()


WAYS_TO_LEAVE: dict[str, Callable[[BattleRoom], Awaitable[None]]] = {
    "closed": BattleRoom.close,
    "forfeited": forfeit,
    "played to its end": play_out,
}


@pytest.mark.parametrize("leave", WAYS_TO_LEAVE.values(), ids=list(WAYS_TO_LEAVE))
async def test_a_place_that_comes_free_goes_to_the_first_in_line(
    registry: ControllerRegistry, leave: Callable[[BattleRoom], Awaitable[None]]
) -> None:
    rooms = await fill(registry)
    opens = await line_up(registry, 3)
    for number, opening in enumerate(opens):
        assert [task.done() for task in opens[number:]] == [False] * (3 - number)
        await leave(rooms.pop(0))
        rooms.append(await opening)
        assert len(registry._waiting) == 2 - number


async def test_a_newcomer_does_not_overtake_those_who_wait(registry: ControllerRegistry) -> None:
    rooms = await fill(registry)
    (first,) = await line_up(registry, 1)
    rooms[0].fail(RegistryClosed("the room goes, and its place is promised, in this very step"))
    assert registry._rooms.keys() == {rooms[1].tag}
    with pytest.raises(PoolExhausted):
        await registry.open(FORMAT, timeout=0)
    assert not (await first).is_over
    # Node was not told, as the room has not been closed but failed.
    await registry._ready()[0].ask("close", room=rooms[0].tag)


async def test_opening_gives_up_at_its_deadline_and_says_what_to_do(
    registry: ControllerRegistry,
) -> None:
    loop = asyncio.get_running_loop()
    await fill(registry)
    started = loop.time()
    with pytest.raises(PoolExhausted) as exhausted:
        await registry.open(FORMAT)
    assert loop.time() - started >= registry.config.open_timeout
    message = exhausted.value.message
    assert message.startswith("no place for another battle within 1 s: 1 of 1 controllers")
    assert "2 places" in message
    assert "2 rooms" in message
    for setting in ("pool", "rooms_per_controller", "open_timeout"):
        assert setting in message
    with pytest.raises(PoolExhausted, match=r"within 0\.05 s"):
        await registry.open(FORMAT, timeout=0.05)


async def test_a_timeout_of_zero_takes_what_is_free_and_does_not_wait(
    registry: ControllerRegistry,
) -> None:
    for _ in range(2):
        await registry.open(FORMAT, timeout=0)
    with pytest.raises(PoolExhausted):
        await registry.open(FORMAT, timeout=0)


async def test_the_place_of_a_battle_that_was_rejected_is_free_again(
    registry: ControllerRegistry,
) -> None:
    await registry.open(FORMAT)
    with no_answer_from(registry._ready()[0]):
        rejected = asyncio.create_task(registry.open("gen1unheardof"))
        await until(lambda: len(registry._rooms) == 2)
        (opening,) = await line_up(registry, 1)
    with pytest.raises(BattleRejected):
        await rejected
    await opening


async def test_the_place_of_a_fork_that_was_given_up_is_free_again(
    registry: ControllerRegistry,
) -> None:
    room = await registry.open(FORMAT)
    controller = registry._ready()[0]
    with no_answer_from(controller):
        forking = asyncio.create_task(room.fork())
        await until(lambda: controller.reserved)
        (opening,) = await line_up(registry, 1)
        forking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forking
        assert not registry._waiting
    await opening


@contextmanager
def no_answer_from(controller: Controller) -> Iterator[None]:
    """Whatever the controller is asked meanwhile, it answers afterwards."""
    os.kill(controller.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(controller.pid, signal.SIGCONT)


async def test_a_fork_waits_for_a_place_too(registry: ControllerRegistry) -> None:
    rooms = await fill(registry)
    with pytest.raises(PoolExhausted):
        await rooms[0].fork()
    forking = asyncio.create_task(rooms[0].fork())
    await until(lambda: registry._waiting)
    await rooms[1].close()
    copy = await forking
    assert await copy.p1.next() is not None


async def test_those_who_wait_are_told_when_the_registry_closes(settings: BridgeConfig) -> None:
    registry = ControllerRegistry(settings, rooms_per_controller=2)
    await registry.start()
    await fill(registry)
    opens = await line_up(registry, 2)
    await registry.close(drain=False)
    for opening in opens:
        with pytest.raises(RegistryClosed):
            await opening


# The rooms of a controller that died come first


async def test_rooms_that_lost_their_place_come_before_new_ones(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ControllerRegistry(settings, pool=2, rooms_per_controller=2) as registry:
        assert registry._pool is not None
        undisturbed = await record_all(registry, [(FORMAT, seed) for seed in range(4)])
        replacement = hold_replacements(registry._pool, monkeypatch)
        rooms = await fill(registry)
        opens = await line_up(registry, 3)
        dying, living = registry._ready()
        lost = [room for room in rooms if room.controller is dying]
        kept = [room for room in rooms if room.controller is living]
        os.kill(dying.pid, signal.SIGKILL)
        await until(lambda: len(registry._moving) == 2)

        await kept[0].close()
        assert sorted(room.controller is living for room in lost) == [False, True]
        assert (len(registry._moving), len(registry._waiting)) == (1, 3)

        replacement.set()
        newcomer = await opens[0]
        assert {room.controller for room in lost} == {living, newcomer.controller}
        assert (len(registry._moving), len(registry._waiting)) == (0, 2)
        for room in lost:
            seed = rooms.index(room)
            assert await Recorder(room, policies_for(seed)).play() == undisturbed[seed]
        for room in (newcomer, kept[1], *await asyncio.gather(*opens[1:])):
            await room.close()
        assert registry.counters.battles_moved == 2


def hold_replacements(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """No controller is started until the event is set."""
    start = pool._start_controller
    go = asyncio.Event()

    async def start_later() -> Controller:
        await go.wait()
        return await start()

    monkeypatch.setattr(pool, "_start_controller", start_later)
    return go


# Nobody is let in beyond the capacity


async def come_and_go(registry: ControllerRegistry, rng: random.Random) -> None:
    """Opens a room, perhaps, and leaves it one way or another, perhaps before it is open."""
    opening = asyncio.create_task(
        registry.open(FORMAT, seed=rng.randrange(1000), timeout=rng.choice([0.01, PATIENCE]))
    )
    if rng.random() < 0.3:
        for _ in range(rng.randrange(12)):
            await asyncio.sleep(0)
        opening.cancel()
    try:
        room = await opening
    except (PoolExhausted, asyncio.CancelledError):
        return
    if rng.random() < 0.2:
        try:
            copy = await room.fork()
        except PoolExhausted:
            pass
        else:
            await copy.close()
    await rng.choice([room.close, room.p1.forfeit])()


async def test_capacity_is_never_exceeded_however_many_come_and_go(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings.replace(pool=2, rooms_per_controller=3, open_timeout=1.0)
    fullest = 0
    async with ControllerRegistry(config) as registry:
        adopt, pump = registry.adopt, registry._pump

        def checked_adopt(room: BattleRoom, controller: Controller) -> None:
            nonlocal fullest
            adopt(room, controller)
            fullest = max(fullest, len(controller.rooms))
            assert len(controller.rooms) <= 3

        def checked_pump() -> None:
            pump()
            assert all(0 <= controller.load <= 3 for controller in registry._ready())

        monkeypatch.setattr(registry, "adopt", checked_adopt)
        monkeypatch.setattr(registry, "_pump", checked_pump)
        rng = random.Random(4)

        async def keep_coming() -> None:
            for _ in range(8):
                await come_and_go(registry, rng)

        async with asyncio.TaskGroup() as group:
            for _ in range(30):
                group.create_task(keep_coming())
        for controller in registry._ready():
            assert (await controller.ask("ping")).rooms == 0
            assert controller.load == 0
        assert fullest == 3
        assert not registry._waiting
        assert registry.stats()["counters"]["deaths"] == 0
