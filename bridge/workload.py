"""Plays random battles on a registry: the load of benchmarks and reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from . import seeds
from .errors import ChoiceRejected
from .random_policy import RandomPolicy
from .registry import ControllerRegistry
from .room import BattleRoom, Result
from .side import Side

__all__ = ["Workload", "play", "play_battles", "policies_for"]

Policies = tuple[RandomPolicy, RandomPolicy]


@dataclass(frozen=True, slots=True)
class Workload:
    """Which battles to play: `battles` of them, seeded from `first_seed` on, `rooms` at a time."""

    battles: int
    rooms: int
    format: str = "gen9randombattle"
    first_seed: int = 0


def policies_for(seed: seeds.Seed) -> Policies:
    """The random policies of both sides of the battle with this seed."""
    return RandomPolicy(seeds.policy_seed(seed, "p1")), RandomPolicy(seeds.policy_seed(seed, "p2"))


async def play(
    room: BattleRoom,
    policies: Policies,
    *,
    between_turns: Callable[[], Awaitable[object]] | None = None,
) -> Result:
    """Plays a room to its end, both sides in one task, both choices of a turn before it waits."""
    seats = tuple(zip((room.p1, room.p2), policies, strict=True))
    while True:
        if between_turns is not None:
            await between_turns()
        chosen: list[tuple[Side, RandomPolicy, int | None, asyncio.Future[None]]] = []
        for side, policy in seats:
            update = await side.next()
            if update is None:
                return await room.result()
            if update.request is not None and update.must_choose:
                choice = side.choose(policy.choose(update.request), rqid=update.rqid)
                chosen.append((side, policy, update.rqid, choice))
            # Hundreds of objects that would only wait with us for Node: in thousands of rooms,
            # Python's garbage collector would look through all of them again and again.
            del update
        for side, policy, rqid, choice in chosen:
            try:
                await choice
            except ChoiceRejected:
                await choose_again(side, policy, rqid)


async def choose_again(side: Side, policy: RandomPolicy, refused: int | None) -> None:
    """Finds a choice that is taken, after one that the request showed as legal was not."""
    while side.rqid != refused:
        # Asked again, with what the refusal revealed.
        update = await side.next()
        if update is None or update.request is None:
            return
        refused = update.rqid
        try:
            await side.choose(policy.choose(update.request), rqid=update.rqid)
        except ChoiceRejected:
            continue
        return
    await side.choose("default", rqid=refused)


async def play_battles(
    registry: ControllerRegistry,
    workload: Workload,
    *,
    on_battle: Callable[[int, Result], None] | None = None,
) -> list[Result]:
    """Plays all battles of a workload and returns their results in the order of their seeds."""
    results: dict[int, Result] = {}
    numbers = iter(range(workload.battles))

    async def keep_playing() -> None:
        for number in numbers:
            seed = workload.first_seed + number
            async with await registry.open(workload.format, seed=seed) as room:
                results[number] = await play(room, policies_for(seed))
            if on_battle is not None:
                on_battle(number, results[number])

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workload.rooms, workload.battles)):
            group.create_task(keep_playing())
    return [results[number] for number in range(workload.battles)]
