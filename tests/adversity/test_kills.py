"""Battles go on as if nothing had happened while the processes that run them are killed."""

from __future__ import annotations

import os
import random
import signal

import pytest

from bridge import BridgeConfig, ControllerRegistry
from tests.recording import record_all

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


class Saboteur:
    """Strikes at controllers as the battles go on: each time so many decisions have been taken."""

    def __init__(self, registry: ControllerRegistry, decisions: int, seed: int) -> None:
        rng = random.Random(seed)
        # Two of three while nearly all battles are under way, the others until the last ones end.
        half = decisions // 2
        moments = rng.sample(range(half // 50, half), len(FAULTS) * 2 // 3)
        moments += rng.sample(range(half, half * 9 // 5), len(FAULTS) - len(moments))
        faults = rng.sample(FAULTS, len(FAULTS))
        self.struck: dict[int, signal.Signals] = {}
        self._registry = registry
        self._rng = rng
        self._plan = list(zip(sorted(moments), faults, strict=True))
        self._taken = 0

    def on_decision(self) -> None:
        self._taken += 1
        if self._plan and self._taken >= self._plan[0][0] and (victims := self._victims()):
            _, fault = self._plan.pop(0)
            victim = self._rng.choice(victims)
            os.kill(victim, fault)
            self.struck[victim] = fault

    def _victims(self) -> list[int]:
        """Controllers that have battles and were not struck yet."""
        return [
            controller["pid"]
            for controller in self._registry.stats(round_trips=False)["controllers"]
            if controller["rooms"] and controller["pid"] not in self.struck
        ]


@pytest.mark.timeout(300)
async def test_two_hundred_battles_are_told_the_same_while_controllers_are_killed(
    settings: BridgeConfig,
) -> None:
    assert len(BATTLES) == 200
    # A cold process that loads several generations at once may be busy for seconds.
    four = settings.replace(pool=4, response_timeout=8.0, heartbeat=1.0)
    async with ControllerRegistry(four, pool=2) as registry:
        undisturbed = await record_all(registry, BATTLES)
        calm = registry.stats()["counters"]
        assert calm["deaths"] == calm["battles_moved"] == 0

    async with ControllerRegistry(four) as registry:
        saboteur = Saboteur(registry, calm["decisions"], seed=1)
        disturbed = await record_all(registry, BATTLES, saboteur.on_decision)
        counters = registry.stats()["counters"]
        assert registry.stats()["pool"]["rooms"] == 0
        for controller in registry._ready():
            assert (await controller.ask("ping"))["rooms"] == 0

    differing = [
        battle
        for battle, before, after in zip(BATTLES, undisturbed, disturbed, strict=True)
        if before != after
    ]
    assert not differing
    assert sorted(saboteur.struck.values()) == sorted(FAULTS)
    assert counters["deaths"] == len(FAULTS)
    assert counters["battles_moved"] > len(FAULTS)
    assert counters["battles_poisoned"] == 0
    assert counters["battles_opened"] == counters["battles_ended"] == 200
    assert counters["decisions"] == calm["decisions"]
    assert counters["turns"] == calm["turns"]
