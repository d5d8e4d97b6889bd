"""Measuring a network from within a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bridge import BridgeConfig
from bridge.errors import ConfigError
from maple.agents import Checkpoint, save_checkpoint
from maple.evaluation import Arena, Entrant, Played, evaluate

from .players import QUICK, learned, network, observations


def config() -> BridgeConfig:
    return BridgeConfig(pool=1, warmup_battles=0, open_timeout=30.0, start_timeout=30.0)


def test_a_trainer_measures_its_network_on_a_pool_of_its_own_or_on_a_given_one(
    tmp_path: Path,
) -> None:
    own, of = network(5, kind="lstm"), observations()
    before = [part.clone() for part in own.parameters()]
    drawn = torch.random.get_rng_state(), str(np.random.get_state())
    save_checkpoint(tmp_path / "past.pt", Checkpoint.of(network(6), of, format=QUICK))
    heard: list[Played] = []
    with Arena(QUICK, parallel=8, bridge=config()) as arena:
        first = evaluate(own, of, against=["max", tmp_path / "past.pt"], battles=1, arena=arena)
    again = evaluate(
        own,
        of,
        against=["max"],
        battles=1,
        format=QUICK,
        name="learner",
        replays=1,
        folder=tmp_path,
        parallel=2,
        bridge=config(),
        on_battle=heard.append,
    )
    assert [(one.agent, one.opponent) for one in first] == [("agent", "max"), ("agent", "past")]
    assert [one.battles for one in first] == [1, 1]
    assert again == [replace(first[0], agent="learner")]
    assert sorted(file.name for file in tmp_path.glob("learner*")) == [
        "learner-vs-max-0001.html",
        "learner-vs-max-0001.log",
    ]
    assert len(heard) == 1
    assert all((one == two).all() for one, two in zip(before, own.parameters(), strict=True))
    assert (torch.random.get_rng_state() == drawn[0]).all()
    assert str(np.random.get_state()) == drawn[1]


def test_what_makes_no_sense_is_refused_before_any_process_starts() -> None:
    own, of = network(), observations()
    with pytest.raises(ConfigError, match="give one"):
        evaluate(own, of, against=["max"], replays=1)
    with pytest.raises(ConfigError, match="two players have the same name: max, max"):
        evaluate(own, of, against=["max"], name="max")
    with pytest.raises(ConfigError, match="two players have the same name: agent, other, other"):
        evaluate(own, of, against=[learned("other"), learned("other", 2)])
    with pytest.raises(ConfigError, match="nobody is called"):
        evaluate(own, of, against=[Entrant.named("minimum")])
