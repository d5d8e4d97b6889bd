"""Cancelling any await of the API leaks no place in the pool, no task, and no room in Node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.command import Command
from bridge.controller import Controller
from bridge.errors import PoolExhausted, RegistryClosed
from bridge.wire import Frame
from bridge.workload import policies_for
from tests.recording import Recorder, Recording, record

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

FORMAT = "gen1randombattle"
SEED = 29

Moment = Callable[[Controller, asyncio.Task[Any]], Awaitable[None]]


def after_steps(count: int) -> Moment:
    """So many turns of the event loop after the start."""

    async def moment(controller: Controller, task: asyncio.Task[Any]) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    return moment


async def before_the_answer(controller: Controller, task: asyncio.Task[Any]) -> None:
    """When the first answer has arrived, but nobody was told."""
    await _at_the_answer(controller, task, late=False)


async def after_the_answer(controller: Controller, task: asyncio.Task[Any]) -> None:
    """When the first answer was delivered, but the one who waits has not run since."""
    await _at_the_answer(controller, task, late=True)


async def _at_the_answer(controller: Controller, task: asyncio.Task[Any], *, late: bool) -> None:
    dispatch = controller._dispatch
    answered = asyncio.Event()

    def watched(frame: Frame) -> Command | None:
        controller._dispatch = dispatch  # type: ignore[method-assign]
        if not late:
            task.cancel()
        command = dispatch(frame)
        if late:
            task.cancel()
        answered.set()
        return command

    controller._dispatch = watched  # type: ignore[method-assign]
    await asyncio.wait(
        (task, waiting := asyncio.ensure_future(answered.wait())),
        return_when=asyncio.FIRST_COMPLETED,
    )
    controller._dispatch = dispatch  # type: ignore[method-assign]
    waiting.cancel()


MOMENTS: dict[str, Moment] = {
    **{f"after {count} steps": after_steps(count) for count in range(6)},
    "before the answer": before_the_answer,
    "after the answer": after_the_answer,
}
at_every_moment = pytest.mark.parametrize("moment", MOMENTS.values(), ids=list(MOMENTS))


async def cancel(work: Coroutine[Any, Any, Any], moment: Moment, controller: Controller) -> None:
    """Starts some work and cancels it at a moment; on a fast machine it may be done by then."""
    task = asyncio.ensure_future(work)
    await moment(controller, task)
    in_time = task.cancel()
    async with asyncio.timeout(20):
        outcome: object = (await asyncio.gather(task, return_exceptions=True))[0]
    assert isinstance(outcome, asyncio.CancelledError) or not in_time
    if isinstance(outcome, BattleRoom):
        await outcome.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def two_places(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControllerRegistry]:
    config = BridgeConfig(
        pool=1,
        rooms_per_controller=2,
        warmup_battles=0,
        open_timeout=20,
        poison_folder=tmp_path_factory.mktemp("poisoned"),
    )
    async with ControllerRegistry(config) as registry:
        yield registry


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def undisturbed(registry: ControllerRegistry) -> Recording:
    return await record(registry, FORMAT, SEED)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def nothing_leaks(
    registry: ControllerRegistry, undisturbed: Recording
) -> AsyncIterator[Controller]:
    """The one controller, as it was before, when a test is through."""
    (controller,) = registry._ready()
    before = others()
    yield controller
    answer = await controller.ask("ping")
    assert answer.rooms == 0
    assert controller.load == 0
    assert repr(registry) == (
        "<ControllerRegistry: open, 1 of 1 ready, 0 rooms, 0 moving, 0 waiting>"
    )
    assert others() == before
    both = [await registry.open(FORMAT, timeout=5) for _ in range(2)]
    with pytest.raises(PoolExhausted):
        await registry.open(FORMAT, timeout=0.01)
    for room in both:
        await room.close()


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def fill(registry: ControllerRegistry) -> list[BattleRoom]:
    return [await registry.open(FORMAT, seed=SEED) for _ in range(2)]


@at_every_moment
async def test_open(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    await cancel(registry.open(FORMAT), moment, nothing_leaks)


@pytest.mark.parametrize("count", range(4))
async def test_open_while_it_waits_for_a_place(
    registry: ControllerRegistry, nothing_leaks: Controller, count: int
) -> None:
    rooms = await fill(registry)
    await cancel(registry.open(FORMAT), after_steps(count), nothing_leaks)
    for room in rooms:
        await room.close()


async def test_open_when_a_place_has_just_been_promised(registry: ControllerRegistry) -> None:
    rooms = await fill(registry)
    waiting = asyncio.ensure_future(registry.open(FORMAT))
    while not registry._waiting:  # noqa: ASYNC110
        await asyncio.sleep(0)
    rooms[0].fail(RegistryClosed("the room goes, and its place is promised, in this very step"))
    assert not registry._waiting
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (controller,) = registry._ready()
    assert controller.reserved == 0
    # Node was not told, as the room has not been closed but failed.
    await controller.ask("close", room=rooms[0].tag)
    await rooms[1].close()


async def test_a_place_that_comes_free_passes_over_those_who_have_given_up(
    registry: ControllerRegistry,
) -> None:
    rooms = await fill(registry)
    first = asyncio.ensure_future(registry.open(FORMAT))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(registry.open(FORMAT))
    while len(registry._waiting) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    closing = asyncio.ensure_future(rooms[0].close())
    answered = asyncio.Event()
    leave = registry.leave

    def leave_as_the_first_gives_up(room: BattleRoom) -> None:
        first.cancel()
        leave(room)
        answered.set()

    registry.leave = leave_as_the_first_gives_up  # type: ignore[method-assign]
    await answered.wait()
    registry.leave = leave  # type: ignore[method-assign]
    async with asyncio.timeout(10):
        room = await second
    await closing
    await room.close()
    await rooms[1].close()
    with pytest.raises(asyncio.CancelledError):
        await first


@at_every_moment
async def test_next_and_no_update_is_lost(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    for side in (room.p1, room.p2):
        assert await side.next() is not None
    await room.p1.choose("default")
    reading = asyncio.ensure_future(room.p1.next())
    await asyncio.sleep(0)
    choice = room.p2.choose("default")
    await moment(nothing_leaks, reading)
    reading.cancel()
    (outcome,) = await asyncio.gather(reading, return_exceptions=True)
    await choice
    if isinstance(outcome, BaseException):
        outcome = await room.p1.next()
    assert outcome is not None
    assert "|turn|2" in outcome.lines
    await room.close()


@at_every_moment
async def test_choose(
    registry: ControllerRegistry, nothing_leaks: Controller, undisturbed: Recording, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    policies = policies_for(SEED)
    update = await room.p1.next()
    assert update is not None
    assert update.request is not None
    choice, rqid = policies[0].choose(update.request), update.rqid

    async def choose() -> None:
        await room.p1.choose(choice, rqid=rqid)

    await cancel(choose(), moment, nothing_leaks)
    chosen = ["p1"] if room.journal.moves or room._unanswered else []
    recorder = Recorder(room, policies if chosen else policies_for(SEED), chosen=chosen)
    if not chosen:
        room.p1._unread.insert(0, update)
    played = await recorder.play()
    assert played.p2 == undisturbed.p2
    assert played.result == undisturbed.result


@at_every_moment
async def test_forfeit(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    await cancel(room.p1.forfeit(), moment, nothing_leaks)
    await room.close()


@at_every_moment
async def test_result(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)

    async def wait_for_the_end() -> None:
        forfeit = asyncio.ensure_future(room.p2.forfeit())
        await room.result()
        await forfeit

    await cancel(wait_for_the_end(), moment, nothing_leaks)
    if not room.is_over:
        await asyncio.wait([asyncio.ensure_future(room.p2.forfeit())])
    assert (await room.result()).winner == "p1"


@at_every_moment
async def test_close_of_a_room(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    await cancel(room.close(), moment, nothing_leaks)
    await room.close()


@at_every_moment
async def test_fork(
    registry: ControllerRegistry, nothing_leaks: Controller, undisturbed: Recording, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds=2)
    await cancel(room.fork(), moment, nothing_leaks)
    assert await recorder.play() == undisturbed


@pytest.mark.parametrize("count", range(6))
async def test_fork_while_it_waits_for_a_place(
    registry: ControllerRegistry, nothing_leaks: Controller, count: int
) -> None:
    rooms = await fill(registry)
    await cancel(rooms[0].fork(), after_steps(count), nothing_leaks)
    for room in rooms:
        await room.close()


@at_every_moment
async def test_resume(
    registry: ControllerRegistry, nothing_leaks: Controller, moment: Moment
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    await Recorder(room, policies_for(SEED)).play(rounds=5)
    await room.close()
    await cancel(registry.resume(room.journal), moment, nothing_leaks)
