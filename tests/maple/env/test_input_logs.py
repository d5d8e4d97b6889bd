"""The input logs of battles that have ended lead, when they are played again, to the same end."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.journal import Journal
from bridge.replay import replay
from maple.env import Mixture, SerialVectorEnv, VectorEnv
from tests.bridge.poke_env.cast import Quitter

from .hands import VGC_TEAM, choose

QUICK = "gen1randombattle"


async def play_again(settings: BridgeConfig, logs: list[str]) -> list[str]:
    async with ControllerRegistry(settings) as registry:
        return [await replay(Journal.from_input_log(log), registry) for log in logs]


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
@pytest.mark.parametrize(("format", "teams"), [(QUICK, None), ("gen9vgc2025regi", VGC_TEAM)])
def test_a_log_that_is_played_again_has_the_same_winner_and_turns(
    settings: BridgeConfig, kind: type[VectorEnv], format: str, teams: str | None
) -> None:
    quitter = Quitter(battle_format=format, start_listening=False)
    weights = {"random": 2, "self": 1, "quitter": 1}
    mixture = Mixture(weights, opponents={"quitter": quitter})
    named: dict[str, Any] = {"opponent": mixture, "teams": teams, "bridge": settings}
    logs: list[str] = []
    ends: list[str] = []
    met: set[str] = set()
    with kind(format, 3, seed=3, input_logs=True, **named) as env:
        observation, info = env.reset()
        assert "input_log" not in info
        while met != weights.keys():
            observation, _, terminated, truncated, info = env.step(choose(observation))
            assert not truncated.any()
            for row in np.flatnonzero(terminated):
                met.add(info["final_opponent"][row])
                assert info["final_info"]["input_log"][row] is info["input_log"][row]
                if row % 2:
                    assert info["input_log"][row] is info["input_log"][row - 1]
                    continue
                winner = info["winner"][row] or "nobody"
                ends.append(
                    f"{winner} won after {info['turns'][row]} turns ({info['reason'][row]})"
                )
                logs.append(info["input_log"][row])
            if terminated.any():
                assert (info["_input_log"] == terminated).all()
                assert not info["input_log"][~terminated].any()
    assert len(set(logs)) == len(logs)
    again = asyncio.run(play_again(settings, logs))
    assert [words.partition("; ")[2] for words in again] == ends


def test_nobody_gets_a_log_who_did_not_ask(settings: BridgeConfig) -> None:
    with VectorEnv(QUICK, 2, seed=2, bridge=settings) as env:
        observation, _ = env.reset()
        while True:
            observation, _, terminated, _, info = env.step(choose(observation))
            if terminated.any():
                break
        assert "input_log" not in info
        assert "input_log" not in info["final_info"]
