"""A battle that breaks the simulator is cut short: no win, no loss, worth what was seen last."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maple.agents import Network
from maple.env import VectorEnv
from maple.env.battle import Battle
from maple.train.collector import Collector
from maple.train.config import TrainConfig
from maple.train.crew import SerialCrew
from maple.train.layout import lay_out
from maple.train.rollout import Floats, Rollout
from maple.train.stage import Stage
from maple.train.trainer import Trainer

from .conftest import stage_of
from .test_collector import collect, order

Small = Callable[..., TrainConfig]

FAULTS = Path(__file__).parents[2] / "adversity" / "faults"
ENVIRONMENT = 1
SENT = 5
"""What is chosen in a battle before the choice that breaks it."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first battle of an environment breaks the simulator, each time that it is played."""
    send = Battle.send

    def spoil(battle: Battle) -> None:
        is_this = (battle.slot, battle.number) == (ENVIRONMENT, 0)
        if is_this and battle.sent >= SENT and battle.seats[0].choice is not None:
            battle.seats[0].choice = "fault throw"
        send(battle)

    monkeypatch.setattr(Battle, "send", spoil)


def poisonable(config: TrainConfig, folder: Path) -> Stage:
    stage = stage_of(config)
    bridge = stage.bridge.replace(
        node_arguments=("--require", str(FAULTS / "poison.js")), poison_folder=folder
    )
    return dataclasses.replace(stage, bridge=bridge)


class Watch:
    """What an environment says of the battles that are cut short."""

    def __init__(self, env: VectorEnv) -> None:
        self.seen: dict[int, dict[str, Any]] = {}
        """The last that each agent saw of such a battle."""
        self.ends = 0
        """Of first seats, of battles of every kind."""
        self._recv = env.recv
        env.recv = self.recv  # type: ignore[method-assign]

    def recv(self) -> Any:  # noqa: ANN401
        received = self._recv()
        _, _, terminated, truncated, info = received
        self.ends += int(((terminated | truncated) & (info["env_id"] % 2 == 0)).sum())
        for row in np.flatnonzero(truncated):
            assert info["reason"][row].startswith("BattlePoisoned")
            self.seen[int(info["env_id"][row])] = info["final_obs"][row]
        return received


def look(network: Network, seen: dict[str, Any], memory: Floats) -> tuple[float, Floats]:
    """The value of an observation, and what the network remembers after it."""
    with torch.no_grad():
        _, value, after = network.step(
            torch.from_numpy(seen["features"])[None],
            torch.from_numpy(seen["ids"])[None],
            torch.from_numpy(memory)[None],
        )
    found: Floats = after.numpy()[0]
    return float(value), found


def last_rows(rollout: Rollout, agents: set[int]) -> dict[int, int]:
    """The row with which the battle of each of these agents was cut short: it has an end value."""
    used = len(rollout)
    rows = np.flatnonzero(rollout.is_last[:used] & (rollout.end_values[:used] != 0))
    found = {int(rollout.agents[row]): int(row) for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == agents
    return found


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(("mix", "agents"), [("self", {2, 3}), ("random", {2})])
def test_the_value_of_what_was_seen_last_follows_the_last_decision(
    small: Small, tmp_path: Path, mix: str, agents: set[int]
) -> None:
    config = small(network={"kind": "lstm", "hidden": [8], "memory": 4})
    stage = poisonable(config, tmp_path)
    collector: Collector = stage.collector(3, 1, seed=3, parts=1)
    try:
        watch = Watch(collector.env)
        rollout, report = collect(collector, order(150, mix={mix: 1.0}))
        network, observations = collector.network, collector.env.observations
    finally:
        collector.close()
    assert watch.seen.keys() == agents
    for agent, row in last_rows(rollout, agents).items():
        assert rollout.is_known[row]
        assert rollout.rewards[row] == 0
        seen = {
            name: part[0] for name, part in observations.expand(rollout.raw[row : row + 1]).items()
        }
        _, remembered = look(network, seen, rollout.memory[row])
        value, _ = look(network, watch.seen[agent], remembered)
        assert rollout.end_values[row] == pytest.approx(value, rel=1e-4)
        forgetful, _ = look(network, watch.seen[agent], np.zeros_like(remembered))
        assert forgetful != pytest.approx(value, rel=1e-3)
    # Nobody has won, and nobody lost.
    cut = [one for one in report.ended if one.score is None]
    assert [one.opponent for one in cut] == [mix]
    assert len(report.ended) == watch.ends
    ends = rollout.rewards[: len(rollout)][rollout.is_last[: len(rollout)]]
    assert (ends == 0).sum() == len(agents)
    assert report.parts["win"] - report.parts["loss"] == report.seats - len(agents)


@pytest.mark.usefixtures("broken")
def test_it_is_counted_as_cut_short_and_in_no_win_rate(small: Small, tmp_path: Path) -> None:
    config = small(workers=0, parallel=3, batch=200, opponents={"mix": "random"})
    trainer = Trainer(config, poisonable(config, tmp_path), lay_out(config))
    try:
        crew = trainer._crew
        assert isinstance(crew, SerialCrew)
        watch = Watch(crew.env)
        status = trainer.update()
    finally:
        trainer.close()
    assert status.cut_short == 1
    assert watch.seen.keys() == {2}
    assert status.counters.battles == watch.ends > 1
    assert trainer._tally.battles == watch.ends - 1
    assert status.standings["random"].battles == watch.ends - 1
    assert np.isfinite(status.figures.value_loss)
