"""The load generator: every seed is played once, and how many at a time does not matter."""

from __future__ import annotations

from typing import Any

import pytest

from bridge import BridgeConfig, ControllerRegistry, Player, Result
from bridge.errors import RegistryClosed
from bridge.random_policy import RandomPolicy
from bridge.workload import Workload, play, play_battles, policies_for

FORMAT = "gen1randombattle"
TRAPPERS = "]".join(
    f"{name}||Leftovers|Arena Trap|earthquake,rockslide,slash,growl||||||50|"
    for name in ("Dugtrio", "Diglett", "Trapinch")
)


class Listener:
    """Hears of every battle that ends, and of how many were under way then."""

    def __init__(self, registry: ControllerRegistry) -> None:
        self._registry = registry
        self.heard: list[tuple[int, Result]] = []
        self.most_rooms = 0

    def __call__(self, number: int, result: Result) -> None:
        self.heard.append((number, result))
        self.most_rooms = max(self.most_rooms, self._registry.stats()["pool"]["rooms"] + 1)


async def one_by_one(registry: ControllerRegistry, seeds: range) -> list[Result]:
    return [
        await play(await registry.open(FORMAT, seed=seed), policies_for(seed)) for seed in seeds
    ]


async def test_results_are_those_of_the_seeds_however_many_rooms(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        expected = await one_by_one(registry, range(40, 43))
        assert len(set(expected)) > 1
        for rooms in (1, 2, 100):
            before = registry.counters.battles_ended
            listener = Listener(registry)
            workload = Workload(battles=3, rooms=rooms, format=FORMAT, first_seed=40)
            assert await play_battles(registry, workload, on_battle=listener) == expected
            assert sorted(listener.heard, key=lambda heard: heard[0]) == list(enumerate(expected))
            assert listener.most_rooms <= rooms
            assert registry.counters.battles_ended - before == 3
        assert registry.stats()["pool"]["rooms"] == 0


async def test_no_battles_are_played_at_once(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        assert await play_battles(registry, Workload(battles=0, rooms=4)) == []
        assert registry.counters.battles_opened == 0


async def test_more_rooms_than_the_pool_holds_wait_for_each_other(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings, rooms_per_controller=1) as registry:
        workload = Workload(battles=3, rooms=3, format=FORMAT)
        results = await play_battles(registry, workload)
        assert results == await one_by_one(registry, range(3))


async def test_a_policy_that_learns_of_a_trap_chooses_again(settings: BridgeConfig) -> None:
    p1, p2 = Player("Player 1", TRAPPERS), Player("Player 2", TRAPPERS)
    async with ControllerRegistry(settings) as registry:
        room = await registry.open("gen9customgame", seed=1, p1=p1, p2=p2)
        result = await play(room, policies_for(1))
        # Choices that were refused and asked for again are moves, but not decisions.
        assert len(room.journal.moves) > room.decisions
    assert result.reason == "win"


class Stubborn(RandomPolicy):
    """Chooses what nobody has."""

    def choose(self, request: dict[str, Any]) -> str:
        return "move 9"


async def test_for_a_policy_that_chooses_what_cannot_be_the_simulator_does(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1)
        result = await play(room, (Stubborn(1), Stubborn(1)))
        assert {move.words for move in room.journal.moves} == {"default"}
    assert result.winner is not None


async def test_a_hook_runs_between_turns(settings: BridgeConfig) -> None:
    looks: list[int] = []

    async def look() -> None:
        looks.append(room.decisions)

    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1)
        result = await play(room, policies_for(1), between_turns=look)
    assert looks == sorted(looks)
    assert len(looks) > result.turns


async def test_a_registry_that_is_not_open_plays_nothing(settings: BridgeConfig) -> None:
    with pytest.raises(ExceptionGroup) as group:
        await play_battles(ControllerRegistry(settings), Workload(battles=3, rooms=3))
    assert group.group_contains(RegistryClosed)
