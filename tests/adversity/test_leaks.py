"""Rooms by the thousand leave nothing behind, nor does a registry when it is closed or killed."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.controller import Controller
from bridge.errors import BattleRejected, RoomClosed
from bridge.workload import Workload, play_battles, policies_for
from tests.conftest import LOOPS, controllers, until
from tests.recording import Recorder

FAULTS = Path(__file__).parent / "faults"
FORMAT = "gen1randombattle"
COLLECT = ("--expose-gc", "--require", str(FAULTS / "collect.js"))


@pytest.fixture(name="settings")
def patient(settings: BridgeConfig) -> BridgeConfig:
    return settings.replace(response_timeout=30.0)


# Thousands of rooms


@dataclass(frozen=True)
class Reading:
    """What Python and one Node process hold, and have used so far, after so many rooms."""

    rooms: int
    python_blocks: int
    python_memory: int
    python_descriptors: int
    python_cpu: float
    node_heap: int
    node_memory: int
    node_descriptors: int
    node_cpu: float


async def read(registry: ControllerRegistry, controller: Controller, rooms: int) -> Reading:
    stats = registry.stats()  # which also folds the round trips that wait for it
    assert stats["pool"]["rooms"] == 0
    assert stats["counters"]["deaths"] == 0
    assert controller.load == 0
    assert (await controller.ask("ping")).rooms == 0
    await controller.ping()
    gc.collect()
    python = psutil.Process()
    node = psutil.Process(controller.pid)
    return Reading(
        rooms=rooms,
        python_blocks=sys.getallocatedblocks(),
        python_memory=python.memory_info().rss,
        python_descriptors=python.num_fds(),
        python_cpu=time.process_time(),
        node_heap=controller.vitals.heap,
        node_memory=controller.vitals.rss,
        node_descriptors=node.num_fds(),
        node_cpu=controller.vitals.cpu,
    )


async def forfeit(registry: ControllerRegistry, number: int) -> None:
    room = await registry.open(FORMAT, seed=number)
    await room.p1.forfeit()
    assert (await room.result()).winner == "p2"


async def play_a_little(registry: ControllerRegistry, number: int) -> None:
    room = await registry.open(FORMAT, seed=number)
    await Recorder(room, policies_for(number)).play(rounds=3)
    await room.p2.forfeit()


async def close(registry: ControllerRegistry, number: int) -> None:
    async with await registry.open(FORMAT, seed=number) as room:
        await room.p1.choose("default")


async def fork(registry: ControllerRegistry, number: int) -> None:
    room = await registry.open(FORMAT, seed=number)
    copy = await room.fork()
    await asyncio.gather(room.close(), copy.p1.forfeit())


async def fail_to_open(registry: ControllerRegistry, number: int) -> None:
    with pytest.raises(BattleRejected):
        await registry.open(f"gen1unheardof{number}")


async def give_up(registry: ControllerRegistry, number: int) -> None:
    opening = asyncio.ensure_future(registry.open(FORMAT, seed=number))
    for _ in range(number % 5):
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


LIVES: list[Callable[[ControllerRegistry, int], Awaitable[None]]] = [
    forfeit,
    play_a_little,
    forfeit,
    close,
    forfeit,
    fork,
    fail_to_open,
    give_up,
]


async def live(registry: ControllerRegistry, numbers: range, at_once: int = 20) -> None:
    """Opens and ends a room for each number, in all the ways that there are."""
    for first in range(numbers.start, numbers.stop, at_once):
        some = range(first, min(first + at_once, numbers.stop))
        await asyncio.gather(*(LIVES[number % len(LIVES)](registry, number) for number in some))
    # Closing a room that nobody waits for is not over when its future is.
    for controller in registry._ready():
        await controller.ask("ping")


def assert_flat(readings: list[Reading]) -> None:
    """Nothing has grown since the second reading, and the last rooms cost what the first ones did.

    What came before the first reading was to fill caches and to compile hot paths.
    """
    _, early, *_, last = readings
    lived = last.rooms - early.rooms
    # An object for every third room, or half a kilobyte in Node for every room, would be a leak.
    assert last.python_blocks - early.python_blocks < lived / 3
    assert last.node_heap - early.node_heap < 500 * lived
    assert last.python_memory < 1.05 * early.python_memory
    assert last.node_memory < 1.15 * early.node_memory
    assert last.python_descriptors == early.python_descriptors
    assert last.node_descriptors == early.node_descriptors
    # The same work can cost twice as much a minute later, on a machine with other things to do;
    # work that grows with every room that ever was is here more than five times as much.
    for cost in ("python_cpu", "node_cpu"):
        costs = [
            (getattr(after, cost) - getattr(before, cost)) / (after.rooms - before.rooms)
            for before, after in pairwise(readings)
        ]
        assert costs[-1] < 3 * costs[0], f"{cost} per room: {costs}"


@pytest.mark.serial
@pytest.mark.timeout(300)
async def test_rooms_that_come_and_go_leave_memory_descriptors_and_cost_as_they_were(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings, node_arguments=COLLECT) as registry:
        (controller,) = registry._ready()
        readings = []
        for start, stop in pairwise((0, 400, 1200, 2900, 3400)):
            await live(registry, range(start, stop))
            readings.append(await read(registry, controller, stop))
    assert registry.counters.battles_ended > 2000
    assert_flat(readings)


@pytest.mark.soak
@pytest.mark.serial
@pytest.mark.timeout(3600)
async def test_whole_battles_by_the_thousand_leave_memory_descriptors_and_cost_as_they_were(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings, node_arguments=COLLECT) as registry:
        (controller,) = registry._ready()
        readings = []
        for start, stop in pairwise((0, 300, 1200, 4000, 5000)):
            await play_battles(registry, Workload(stop - start, rooms=50, first_seed=start))
            readings.append(await read(registry, controller, stop))
    assert registry.counters.battles_ended == 5000
    assert_flat(readings)


# Closing


@dataclass(frozen=True)
class Belongings:
    """What this process has at a moment."""

    threads: frozenset[threading.Thread]
    controllers: frozenset[psutil.Process]
    descriptors: int
    tasks: frozenset[asyncio.Task[object]]


def take_stock() -> Belongings:
    return Belongings(
        threads=frozenset(threading.enumerate()),
        controllers=frozenset(controllers()),
        descriptors=psutil.Process().num_fds(),
        tasks=frozenset(asyncio.all_tasks()),
    )


async def use_and_close(config: BridgeConfig) -> None:
    """Does what leaves most behind: closes amid battles, while a controller is being replaced."""
    registry = ControllerRegistry(config)
    await registry.start()
    rooms = [await registry.open(FORMAT, seed=seed) for seed in range(4)]
    await rooms[0].p1.forfeit()
    copy = await rooms[1].fork()
    waiting = asyncio.ensure_future(copy.p1.next())
    await waiting
    waiting = asyncio.ensure_future(copy.p1.next())
    psutil.Process(registry._ready()[0].pid).kill()
    await until(lambda: registry.stats(round_trips=False)["counters"]["starts"] > config.pool)
    await registry.close(drain=False)
    with pytest.raises(RoomClosed):
        await waiting


async def close_twice(config: BridgeConfig) -> None:
    at_first = take_stock()
    await use_and_close(config)
    before = take_stock()
    await use_and_close(config)
    for thread in set(threading.enumerate()) - at_first.threads:
        thread.join(5)  # one that has done its work may not have ended quite yet
    after = take_stock()
    assert after.threads == at_first.threads
    assert after.controllers == at_first.controllers
    assert after.tasks == at_first.tasks
    # A loop opens a few descriptors for itself when it starts its first process.
    assert after.descriptors == before.descriptors


@pytest.mark.serial
@pytest.mark.timeout(60)
@pytest.mark.parametrize("where", ["in the main thread", "in another thread"])
@pytest.mark.parametrize("loop", LOOPS)
def test_closing_leaves_no_child_no_task_no_thread_and_no_descriptor(
    settings: BridgeConfig, loop: str, where: str
) -> None:
    outcome: list[BaseException | None] = []

    def main() -> None:
        try:
            with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
                runner.run(close_twice(settings.replace(pool=2)))
            outcome.append(None)
        except BaseException as error:  # noqa: BLE001  # raised again where pytest sees it
            outcome.append(error)

    if where == "in the main thread":
        main()
    else:
        thread = threading.Thread(target=main)
        thread.start()
        thread.join()
    if outcome[0] is not None:
        raise outcome[0]


# The death of Python


# Holds one controller that loads the simulator, one that warms up, one that plays, and one that
# loops for ever; names their processes when all of them are there.
ORPHANER = """
import asyncio, json, sys
from tests.conftest import LOOPS
from bridge import BridgeConfig, ControllerRegistry
from bridge.controller import Controller
from bridge.runtime import find_runtime
from bridge.timing import RoundTrips

loop, poison = sys.argv[1:]
patient = BridgeConfig(pool=1, response_timeout=600, start_timeout=600, warmup_battles=0)

def ignore(*_):
    pass

def lone(config):
    return Controller(
        1, config, find_runtime(), trips=RoundTrips(),
        on_beat=ignore, on_warnings=ignore, on_death=ignore,
    )

async def until_busy(controller):
    while not controller._process or not controller._process.last_command():
        await asyncio.sleep(0.01)

async def main():
    playing = ControllerRegistry(patient)
    looping = ControllerRegistry(patient, turbo=False, node_arguments=("--require", poison))
    await asyncio.gather(playing.start(), looping.start())
    await playing.open("gen1randombattle")
    room = await looping.open("gen1randombattle")
    endless = room.p1.choose("fault loop")
    warming = lone(patient.replace(warmup_battles=1_000_000))
    await asyncio.gather(warming.start(), until_busy(room.controller))
    loading = lone(patient)
    start = asyncio.ensure_future(loading.start())
    while not loading.pid:
        await asyncio.sleep(0)
    everyone = playing._ready()[0], room.controller, warming, loading
    print(json.dumps([controller.pid for controller in everyone]), flush=True)
    await asyncio.gather(endless, start)

asyncio.Runner(loop_factory=LOOPS[loop]).run(main())
"""


@pytest.mark.serial
@pytest.mark.timeout(60)
@pytest.mark.parametrize("loop", LOOPS)
def test_node_ends_when_python_is_killed_whatever_it_is_doing(loop: str) -> None:
    python = subprocess.Popen(
        [sys.executable, "-c", ORPHANER, loop, str(FAULTS / "poison.js")],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    with python:
        assert python.stdout is not None
        try:
            orphans = [psutil.Process(pid) for pid in json.loads(python.stdout.readline())]
        finally:
            python.send_signal(signal.SIGKILL)
    # Leaving the block has waited for the end of Python, which is when its pipes close.
    gone = time.monotonic()
    assert len(orphans) == 4
    *running, loading = orphans
    try:
        # Node has to start before it can notice anything, which a busy machine can make longer.
        for some, seconds in ((running, 1), ([loading], 5)):
            while any(map(is_running, some)) and time.monotonic() < gone + seconds:
                time.sleep(0.01)
            assert list(filter(is_running, some)) == []
    finally:
        for orphan in filter(is_running, orphans):
            orphan.kill()


def is_running(process: psutil.Process) -> bool:
    """Whether a process does anything, be it only that nobody has asked how it ended."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
