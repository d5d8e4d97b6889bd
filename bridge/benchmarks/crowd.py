"""Rooms that are played all the time in one process, and held between two turns when asked to."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil

from ..registry import ControllerRegistry
from ..room import BattleRoom
from ..workload import play, policies_for
from .sample import Sample, total

__all__ = ["Crowd", "Gate", "Twins", "gathered"]

_ORIGINALS = 64


class Gate:
    """Holds the players of a crowd between two turns of their battles, until it is opened."""

    def __init__(self, players: int) -> None:
        self.players = players
        self._held = 0
        self._all_held = asyncio.Event()
        self._opening: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        state = "open" if self._opening is None else "shut"
        return f"<Gate: {state}, {self._held} of {self.players} held>"

    async def __call__(self) -> None:
        if self._opening is None:
            return
        self._held += 1
        if self._held == self.players:
            self._all_held.set()
        await self._opening

    def open(self) -> None:
        opening, self._opening = self._opening, None
        self._held = 0
        self._all_held.clear()
        if opening is not None:
            opening.set_result(None)

    async def shut(self) -> None:
        """Lets nobody through any more, and returns when everybody is there."""
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_future()
        await self._all_held.wait()

    async def pass_once(self) -> None:
        """Lets everybody play one turn."""
        self.open()
        await self.shut()


class Crowd:
    """Rooms that are played, each with a random policy on either side, and begun anew at the end.

    The player of a given number plays the same battles in every crowd of the same size.
    """

    def __init__(
        self, registry: ControllerRegistry, size: int, format: str, tasks: asyncio.TaskGroup
    ) -> None:
        self._registry = registry
        self._size = size
        self._format = format
        self._group = tasks
        self._tasks: list[asyncio.Task[None]] = []
        self._rooms: dict[int, BattleRoom] = {}
        self._ended = asyncio.Semaphore(0)
        self.gate = Gate(size)

    def __repr__(self) -> str:
        return f"<Crowd: {len(self._tasks)} of {self._size} players, {self.gate!r}>"

    async def start(self) -> None:
        """Begins a battle in every room, and holds them."""
        holding = asyncio.ensure_future(self.gate.shut())
        for number in range(self._size):
            self._add(number)
        await holding

    async def start_in_the_middle(self, battles: int) -> None:
        """Plays some battles, copies rooms that are at all stages of theirs, and plays on.

        However large a crowd, its battles are then as old as if it had played for long. The copies
        do not stop at the gate.
        """
        originals = min(self._size, _ORIGINALS)
        self.gate.players = originals
        for number in range(originals):
            self._add(number)
        for _ in range(battles):
            await self._ended.acquire()
        await self.gate.shut()
        running = [room for room in self._rooms.values() if not room.is_over]
        while missing := self._size - len(self._tasks):
            for copy in await asyncio.gather(*(room.fork() for room in running[:missing])):
                self._add(len(self._tasks), copy)
        self.gate.open()

    def disperse(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _add(self, number: int, first: BattleRoom | None = None) -> None:
        self._tasks.append(self._group.create_task(self._keep_playing(number, first)))

    async def _keep_playing(self, number: int, room: BattleRoom | None) -> None:
        gate = self.gate if room is None else None
        for seed in itertools.count(number, self._size):
            room = room or await self._registry.open(self._format, seed=seed)
            async with room:
                self._rooms[number] = room
                await play(room, policies_for(seed), between_turns=gate)
            self._ended.release()
            room = None


@asynccontextmanager
async def gathered(registry: ControllerRegistry, size: int, format: str) -> AsyncIterator[Crowd]:
    """A crowd whose players are there for as long as the block."""
    async with asyncio.TaskGroup() as tasks:
        crowd = Crowd(registry, size, format, tasks)
        try:
            yield crowd
        finally:
            crowd.disperse()


class Twins:
    """Two crowds that play the same battles in the same processes, turn by turn.

    Each turn is played by both, by one with timing on and by the other with it off; which of them
    comes first, and which is timed, changes from turn to turn. So both do the same work within a
    tenth of a second, and the moods of the machine hit them alike.
    """

    def __init__(self, registry: ControllerRegistry, crowds: tuple[Crowd, Crowd]) -> None:
        self._registry = registry
        self._crowds = crowds

    async def play(self, battles: int) -> list[Sample]:
        """Plays until so many battles have ended; the sample with timing on, and that without."""
        samples: dict[bool, list[Sample]] = {True: [], False: []}
        turn = 0
        # Only after four turns has either crowd been first and second, timed and not.
        while turn % 4 or sum(sample.battles for sample in samples[True]) < battles:
            first_is_timed = turn % 4 < 2
            first, second = self._crowds if turn % 2 else self._crowds[::-1]
            samples[first_is_timed].append(await self._measure(first, timing=first_is_timed))
            samples[not first_is_timed].append(
                await self._measure(second, timing=not first_is_timed)
            )
            turn += 1
        return [total(samples[True]), total(samples[False])]

    async def _measure(self, crowd: Crowd, *, timing: bool) -> Sample:
        """What one turn of a crowd costs; Node says in its own microseconds what it has used."""
        registry = self._registry
        await registry.set_timing(timing)
        before = registry.stats(round_trips=False)
        wall, python_cpu = time.perf_counter(), time.process_time()
        await crowd.gate.pass_once()
        await registry.set_timing(timing)
        wall, python_cpu = time.perf_counter() - wall, time.process_time() - python_cpu
        after = registry.stats(round_trips=False)
        return Sample(
            wall=wall,
            python_cpu=python_cpu,
            node_cpu=_node("cpu", after) - _node("cpu", before),
            python_memory=psutil.Process().memory_info().rss,
            node_memory=int(_node("rss", after)),
            battles=_counted("battles_ended", before, after),
            decisions=_counted("decisions", before, after),
            turns=_counted("turns", before, after),
        )


def _node(figure: str, stats: dict[str, Any]) -> float:
    return float(sum(controller[figure] for controller in stats["controllers"]))


def _counted(counter: str, before: dict[str, Any], after: dict[str, Any]) -> int:
    return int(after["counters"][counter] - before["counters"][counter])
