"""Environment i with seed s plays the same battles, whatever else there is and who asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bridge import BridgeConfig
from bridge.sampling import sample
from maple.env import Mixture, SerialVectorEnv, VectorEnv

from .hands import TEAM, play, step

OTHER_TEAM = "]".join(TEAM.split("]")[3:])
FORMAT = "gen9randombattle"
SEED = 11
ROWS = 130
AGENTS = range(4)


@pytest.fixture(scope="module")
def reference() -> dict[int, str]:
    config = BridgeConfig(pool=1, warmup_battles=0)
    with VectorEnv(FORMAT, 4, seed=SEED, bridge=config) as env:
        return step(env, ROWS, AGENTS)


@pytest.mark.parametrize(
    ("num_envs", "pool", "batch_size"),
    [(7, 1, None), (4, 2, None), (4, 1, 1), (5, 2, 3)],
)
def test_neither_environments_nor_processes_nor_batches_matter(
    settings: BridgeConfig,
    reference: dict[int, str],
    num_envs: int,
    pool: int,
    batch_size: int | None,
) -> None:
    with VectorEnv(
        FORMAT, num_envs, batch_size, seed=SEED, bridge=settings.replace(pool=pool)
    ) as env:
        assert play(env, ROWS, AGENTS) == reference


def test_the_serial_environment_plays_the_same(
    settings: BridgeConfig, reference: dict[int, str]
) -> None:
    with SerialVectorEnv(FORMAT, 5, seed=SEED, bridge=settings) as env:
        assert step(env, ROWS, AGENTS) == reference


def test_environments_and_seeds_play_different_battles(reference: dict[int, str]) -> None:
    assert len(set(reference.values())) == len(AGENTS)


def test_a_reset_with_a_seed_begins_anew_and_one_without_goes_on(settings: BridgeConfig) -> None:
    with VectorEnv("gen1randombattle", 2, bridge=settings) as env:
        first = step(env, 40, range(2), seed=5)
        went_on = step(env, 40, range(2))
        again = step(env, 40, range(2), seed=5)
        again_on = step(env, 40, range(2))
        other = step(env, 40, range(2), seed=6)
    assert first == again
    assert went_on == again_on
    assert not {*first.values()} & {*went_on.values()}
    assert not {*first.values()} & {*other.values()}


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_the_keys_of_agents_are_of_one_decision_each_and_the_same_in_any_batch(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    """Two agents who draw by their keys decide alike, however many others there are."""
    drawn: dict[int, list[list[int]]] = {}
    for num_envs in (2, 4):
        with kind("gen1randombattle", num_envs, 2, seed=3, bridge=settings) as env:
            env.async_reset()
            seen: list[list[int]] = [[] for _ in range(num_envs)]
            while min(len(seen[0]), len(seen[1])) < 60:
                observation, *_, info = env.recv()
                keys = env.keys(info["env_id"])
                for agent, key in zip(info["env_id"].tolist(), keys.tolist(), strict=True):
                    seen[agent].append(key)
                mask = observation["action_mask"]
                env.send(sample(np.zeros(mask.shape), mask, keys), info["env_id"])
            drawn[num_envs] = [keys[:60] for keys in seen[:2]]
    assert drawn[2] == drawn[4]
    assert len({key for keys in drawn[2] for key in keys}) == 120


def by_features(features: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """A policy with a preference for every action that its features decide."""
    columns = np.arange(features.shape[1])
    phases = features.astype(np.float64) @ np.cos(columns)[:, np.newaxis]
    return np.sin(phases + np.arange(26))


class FirstLegal:
    """Decides by masks and keys."""

    def act(self, rows: np.ndarray, masks: np.ndarray, keys: np.ndarray) -> list[int]:
        legal = [np.flatnonzero(mask) for mask in masks]
        return [int(one[int(key) % len(one)]) for one, key in zip(legal, keys, strict=True)]


OPPONENTS: dict[str, Callable[[], Any]] = {
    "self": lambda: "self",
    "max": lambda: "max",
    "heuristics": lambda: "heuristics",
    "policy": lambda: by_features,
    "rows": FirstLegal,
    "mixture": lambda: Mixture({"self": 2, "past": 2, "max": 1, "heuristics": 1}, agents=["past"]),
}


@pytest.mark.parametrize("opponent", OPPONENTS)
def test_it_holds_for_every_opponent(settings: BridgeConfig, opponent: str) -> None:
    make = OPPONENTS[opponent]
    agents = range(4 if opponent in ("self", "mixture") else 2)
    rows = 60
    with SerialVectorEnv(FORMAT, 2, seed=SEED, opponent=make(), bridge=settings) as env:
        serial = step(env, rows, agents)
    with VectorEnv(FORMAT, 3, 2, seed=SEED, opponent=make(), bridge=settings, pool=2) as env:
        assert play(env, rows, agents) == serial
        assert step(env, rows, agents, seed=SEED) == serial


@pytest.mark.parametrize(
    ("format", "teams"),
    [("gen9randomdoublesbattle", None), ("gen9nationaldex", [TEAM, OTHER_TEAM])],
)
def test_it_holds_in_doubles_and_with_teams(
    settings: BridgeConfig, format: str, teams: list[str] | None
) -> None:
    with SerialVectorEnv(format, 2, seed=SEED, teams=teams, bridge=settings) as env:
        serial = step(env, 40, range(2))
    with VectorEnv(format, 3, 1, seed=SEED, teams=teams, bridge=settings) as env:
        assert play(env, 40, range(2)) == serial
