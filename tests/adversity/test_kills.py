"""Battles go on as if nothing had happened while the processes that run them are killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from dataclasses import dataclass
from typing import Any

import pytest

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.room import RoomState
from bridge.workload import policies_for
from tests.recording import Recorder, Recording, record_all

Battle = tuple[str, int]

FORMATS = {
    "gen1randombattle": 30,
    "gen91v1factory": 90,
    "gen9bssfactory": 50,
    "gen9challengecup2v2": 10,
    "gen9randombattle": 10,
    "gen9randomdoublesbattle": 10,
}
BATTLES = [(name, seed) for name, count in FORMATS.items() for seed in range(count)]
FAULTS = [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM] * 4
# Every third battle is opened when others are under way, in groups, each of which is struck.
LATE = [BATTLES[::3][number::6] for number in range(6)]
EARLY = [battle for number, battle in enumerate(BATTLES) if number % 3]
# A cold process that loads several generations at once may be busy for seconds.
PATIENCE = 8.0


@dataclass
class Calm:
    """What the battles are like when nobody disturbs them, and what is counted then."""

    recordings: dict[Battle, Recording]
    counters: dict[str, Any]


@pytest.fixture(scope="module")
def calm() -> Calm:
    async def main() -> Calm:
        config = BridgeConfig(pool=2, warmup_battles=0, response_timeout=PATIENCE)
        async with ControllerRegistry(config) as registry:
            recordings = await record_all(registry, BATTLES)
            counters = registry.stats()["counters"]
            return Calm(dict(zip(BATTLES, recordings, strict=True)), counters)

    return asyncio.run(main())


class Saboteur:
    """Strikes at controllers as the battles go on: each time so many decisions have been taken."""

    def __init__(self, registry: ControllerRegistry, decisions: int, seed: int) -> None:
        self.struck: dict[int, signal.Signals] = {}
        self.struck_in_open = 0
        self._registry = registry
        self._rng = random.Random(seed)
        self._taken = 0
        self._calls = [asyncio.Event() for _ in LATE]
        # Two of three while nearly all battles are under way, the others until the last ones end.
        half = decisions // 2
        first, second = range(half // 50, half), range(half, half * 9 // 5)
        self._calling = sorted(self._rng.sample(first, len(LATE)))
        self._striking = sorted(self._rng.sample(first, 2) + self._rng.sample(second, 4))
        self._faults = self._rng.sample(FAULTS, len(FAULTS))

    def on_decision(self) -> None:
        self._taken += 1
        if self._calling and self._taken >= self._calling[0]:
            self._calling.pop(0)
            self._calls[len(LATE) - len(self._calling) - 1].set()
        if self._striking and self._taken >= self._striking[0] and (victims := self._victims()):
            self._striking.pop(0)
            self._strike(victims)

    async def open_late(self, number: int) -> list[BattleRoom]:
        """Opens a group when its time has come, and strikes at a controller that is opening it."""
        await self._calls[number].wait()
        opening = [
            asyncio.ensure_future(self._registry.open(name, seed=seed))
            for name, seed in LATE[number]
        ]
        if number % 2:
            # Not before Node has read the command, and perhaps in the middle of it.
            await asyncio.sleep(0.005)
        while not (victims := self._opening()):
            await asyncio.sleep(0)
            if all(room.done() for room in opening) and (victims := self._victims()):
                break
        else:
            self.struck_in_open += 1
        self._strike(victims)
        return await asyncio.gather(*opening)

    def _strike(self, victims: list[int]) -> None:
        victim = self._rng.choice(victims)
        self.struck[victim] = self._faults.pop()
        os.kill(victim, self.struck[victim])

    def _victims(self) -> list[int]:
        """Controllers that have battles and were not struck yet."""
        return [c.pid for c in self._registry._ready() if c.rooms and c.pid not in self.struck]

    def _opening(self) -> list[int]:
        """Those of them that are opening a battle."""
        rooms = self._registry._rooms.values()
        opening = {
            room.controller.pid
            for room in rooms
            if room.controller is not None and room.state is RoomState.OPENING
        }
        return [pid for pid in self._victims() if pid in opening]


async def record_under_fire(
    registry: ControllerRegistry, saboteur: Saboteur
) -> dict[Battle, Recording]:
    """Plays all battles, the late ones as the saboteur lets them come."""

    async def record_late(number: int) -> list[Recording]:
        rooms = await saboteur.open_late(number)
        recorders = [
            Recorder(room, policies_for(seed), on_decision=saboteur.on_decision)
            for room, (_, seed) in zip(rooms, LATE[number], strict=True)
        ]
        return await asyncio.gather(*(recorder.play() for recorder in recorders))

    groups = await asyncio.gather(
        record_all(registry, EARLY, saboteur.on_decision), *map(record_late, range(len(LATE)))
    )
    recordings: dict[Battle, Recording] = {}
    for battles, group in zip((EARLY, *LATE), groups, strict=True):
        recordings.update(zip(battles, group, strict=True))
    return recordings


@pytest.mark.timeout(300)
def test_two_hundred_battles_are_told_the_same_while_controllers_are_killed(
    runner: asyncio.Runner, settings: BridgeConfig, calm: Calm
) -> None:
    async def main() -> tuple[Saboteur, dict[Battle, Recording], dict[str, Any]]:
        four = settings.replace(pool=4, response_timeout=PATIENCE, heartbeat=1.0)
        async with ControllerRegistry(four) as registry:
            saboteur = Saboteur(registry, calm.counters["decisions"], seed=1)
            recordings = await record_under_fire(registry, saboteur)
            stats = registry.stats()
            assert stats["pool"]["rooms"] == 0
            for controller in registry._ready():
                assert (await controller.ask("ping")).rooms == 0
            return saboteur, recordings, stats["counters"]

    saboteur, disturbed, counters = runner.run(main())
    assert len(disturbed) == 200
    assert not [battle for battle in BATTLES if disturbed[battle] != calm.recordings[battle]]
    assert sorted(saboteur.struck.values()) == sorted(FAULTS)
    assert saboteur.struck_in_open >= len(LATE) / 2
    assert calm.counters["deaths"] == calm.counters["battles_moved"] == 0
    assert counters["deaths"] == len(FAULTS)
    assert counters["battles_moved"] > len(FAULTS)
    assert counters["battles_poisoned"] == 0
    assert counters["battles_opened"] == counters["battles_ended"] == 200
    assert counters["decisions"] == calm.counters["decisions"]
    assert counters["turns"] == calm.counters["turns"]
