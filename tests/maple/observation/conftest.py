"""The battles that tests of observations share: played once, by chance, with all that was said."""

from __future__ import annotations

import asyncio

import pytest

from bridge import BridgeConfig, ControllerRegistry
from tests.maple.observation.matchups import every_kind, every_theme
from tests.maple.observation.recorded import Matchup, RecordedBattle, play_all


def record(matchups: list[Matchup]) -> list[RecordedBattle]:
    """Plays battles on a pool of their own."""

    async def record_all() -> list[RecordedBattle]:
        config = BridgeConfig(pool=1, warmup_battles=0)
        async with ControllerRegistry(config) as registry:
            return await play_all(registry, matchups)

    return asyncio.run(record_all())


@pytest.fixture(scope="session")
def battles() -> list[RecordedBattle]:
    """One battle of every kind and of every theme."""
    return record([*every_kind(1), *every_theme(1)])
