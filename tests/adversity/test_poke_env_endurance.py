"""Battles of poke-env's players by the thousand, in one program, leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psutil
import pytest
from poke_env.concurrency import POKE_LOOP
from poke_env.player import Player, RandomPlayer

from bridge.errors import PlayerFailed
from bridge.poke_env import LocalServerConfiguration, local_server
from bridge.poke_env.client import LocalClient
from tests.bridge.poke_env.cast import Quitter, forget, leave
from tests.bridge.poke_env.environments import Singles, dismantle, play
from tests.conftest import until

pytestmark = pytest.mark.serial


@pytest.fixture
def server() -> Iterator[LocalServerConfiguration]:
    with local_server(pool=1, warmup_battles=0) as server:
        yield server


@dataclass(frozen=True)
class Reading:
    """What the program holds, and has used so far, after so many battles."""

    battles: int
    blocks: int
    memory: int
    descriptors: int
    threads: int
    cpu: float

    @classmethod
    def now(cls, battles: int) -> Reading:
        gc.collect()
        process = psutil.Process()
        return cls(
            battles=battles,
            blocks=sys.getallocatedblocks(),
            memory=process.memory_info().rss,
            descriptors=process.num_fds(),
            threads=process.num_threads(),
            cpu=time.process_time(),
        )


async def nothing_is_left(server: LocalServerConfiguration, *players: Player, tasks: int) -> None:
    """Waits until the last battle is over for everybody, and looks into all that keeps battles."""
    forget(*players)

    def held() -> dict[str, int]:
        clients = [player.ps_client for player in players]
        stats = server.stats()
        return {
            "rooms": stats["pool"]["rooms"],
            "games": stats["lobby"]["games"],
            "locks": sum(len(client._battle_locks) for client in clients),
            "messages": sum(len(client._active_tasks) for client in clients),
            "conversations": sum(
                len(client._conversations) for client in clients if isinstance(client, LocalClient)
            ),
            "battles": sum(len(player.battles) for player in players),
            "counted": sum(player._battle_count_queue.qsize() for player in players),
            "challenges": sum(player._challenge_queue.qsize() for player in players),
            "tasks": len(asyncio.all_tasks(POKE_LOOP)) - tasks,
        }

    try:
        async with asyncio.timeout(10):
            await until(lambda: not any(held().values()))
    except TimeoutError:
        pytest.fail(f"something is left: {held()}")


async def idle_tasks(*players: Player) -> int:
    """How many tasks there are while players have nothing to do."""
    async with asyncio.timeout(30):
        await until(lambda: all(player.ps_client.logged_in.is_set() for player in players))
        # Those in which they were let in end a moment later.
        await until(lambda: not any(player.ps_client._active_tasks for player in players))
        await until(lambda: all(player.ps_client._listening_coroutine.done() for player in players))
    return len(asyncio.all_tasks(POKE_LOOP))


def pair(server: LocalServerConfiguration, kind: type[Player], **options: Any) -> list[Player]:
    return [kind(server_configuration=server, **options) for _ in range(2)]


def assert_flat(readings: list[Reading], *, blocks: float) -> None:
    """Nothing has grown since the first reading but what caches of poke-env have learnt."""
    first, *_, last = readings
    lived = last.battles - first.battles
    assert last.blocks - first.blocks < blocks * lived
    assert last.memory < 1.1 * first.memory
    assert last.descriptors <= first.descriptors
    assert last.threads <= first.threads
    costs = [
        (after.cpu - before.cpu) / (after.battles - before.battles)
        for before, after in pairwise(readings)
    ]
    assert costs[-1] < 2 * costs[0], f"seconds of CPU per battle: {costs}"


@pytest.mark.timeout(120)
async def test_a_few_hundred_battles_leave_no_task_no_lock_no_room_and_no_memory(
    server: LocalServerConfiguration,
) -> None:
    players = pair(server, Quitter, battle_format="gen1randombattle", max_concurrent_battles=10)
    one, other = players
    tasks = await idle_tasks(*players)
    readings = []
    for start, stop in pairwise((0, 60, 110, 160, 210)):
        await one.battle_against(other, n_battles=stop - start)
        assert one.n_finished_battles == other.n_finished_battles == stop - start
        await nothing_is_left(server, *players, tasks=tasks)
        readings.append(Reading.now(stop))
    assert_flat(readings, blocks=20)
    for player in players:
        await leave(player)


@pytest.mark.timeout(120)
async def test_failures_and_players_who_come_and_go_leave_nothing(
    server: LocalServerConfiguration,
) -> None:
    class Clumsy(Quitter):
        def choose_move(self, battle: Any) -> Any:  # noqa: ANN401 - it returns nothing
            raise LookupError("no idea")

    host = Quitter(server_configuration=server, battle_format="gen1randombattle")
    tasks = await idle_tasks(host)
    for _ in range(20):
        guest = Clumsy(server_configuration=server, battle_format="gen1randombattle")
        with pytest.raises(PlayerFailed):
            await guest.battle_against(host)
        await leave(guest)
        await nothing_is_left(server, host, guest, tasks=tasks)
    assert server.stats()["lobby"]["users"] == 1
    await leave(host)


@pytest.mark.timeout(120)
def test_an_environment_that_is_reset_again_and_again_leaves_nothing(
    server: LocalServerConfiguration,
) -> None:
    env = Singles(
        battle_format="gen1randombattle", server_configuration=server, strict=False, log_level=40
    )
    env.reset()
    play(env, 1)
    env.reset()
    tasks = len(asyncio.all_tasks(env._loop))
    for _ in range(40):
        env.reset()
        play(env, 2)
    assert len(asyncio.all_tasks(env._loop)) <= tasks + 2
    assert server.stats()["lobby"]["games"] == 1
    env.close()
    asyncio.run(until(lambda: server.stats()["lobby"]["games"] == 0))
    assert not env.agent1.ps_client._battle_locks
    server.close()
    dismantle(env)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("format", ["gen9randombattle", "gen9randomdoublesbattle"])
async def test_three_thousand_battles_cost_and_hold_at_the_end_what_they_did_at_first(
    server: LocalServerConfiguration, format: str
) -> None:
    players = pair(server, RandomPlayer, battle_format=format, max_concurrent_battles=10)
    one, other = players
    tasks = await idle_tasks(*players)
    readings = []
    for start, stop in pairwise(range(0, 3001, 500)):
        await one.battle_against(other, n_battles=stop - start)
        assert one.n_finished_battles == other.n_finished_battles == stop - start
        await nothing_is_left(server, *players, tasks=tasks)
        readings.append(Reading.now(stop))
    assert_flat(readings, blocks=1)
    for player in players:
        await leave(player)
