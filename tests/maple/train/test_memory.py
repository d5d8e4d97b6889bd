"""What is written down of an lstm's memory is what it had: nothing at first, then what it kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch

from maple.agents import Network
from maple.env import Observations
from maple.train.collector import Collector
from maple.train.config import TrainConfig
from maple.train.rollout import Floats, Rollout

from .conftest import stage_of
from .test_collector import order

Small = Callable[..., TrainConfig]

LSTM: dict[str, Any] = {"network": {"kind": "lstm", "hidden": [8], "memory": 4}}
PARTS = 2
"""So that some agents have an open decision at the end of every rollout."""
MIXED = {"self": 0.6, "random": 0.4}


class Row(NamedTuple):
    """A decision, or what an agent sees at the end of a rollout, with what it remembered."""

    rollout: int
    raw: npt.NDArray[np.uint8]
    memory: Floats
    is_known: bool
    is_last: bool
    is_carried: bool


def collected(collector: Collector, asked: list[Any]) -> list[dict[str, Any]]:
    """Copies of what is in one rollout after the other."""
    found = []
    for one in asked:
        rollout = Rollout(collector.shape(one.decisions))
        carried = int((collector._open >= 0).sum()) if one.begin is None else 0
        collector.collect(rollout, one)
        arrays = {name: array.copy() for name, array in rollout.arrays().items()}
        found.append(arrays | {"carried": carried})
    return found


def ways(rollouts: list[dict[str, Any]]) -> dict[int, list[Row]]:
    """The rows of each agent in the order of time; an open decision stands where it is known."""
    found: dict[int, list[Row]] = {}
    for number, one in enumerate(rollouts):
        last_round = int(one["bounds"][-2])
        for row, agent in enumerate(one["agents"].tolist()):
            is_open = not one["is_known"][row] and row < last_round
            if is_open:
                # It is carried over, or lost in what has been begun anew.
                continue
            found.setdefault(agent, []).append(
                Row(
                    number,
                    one["raw"][row],
                    one["memory"][row],
                    bool(one["is_known"][row]),
                    bool(one["is_last"][row]),
                    row < one["carried"],
                )
            )
    return found


def kept(network: Network, observations: Observations, rows: list[Row]) -> Floats:
    """What the network remembers after each of these decisions."""
    seen = observations.expand(np.stack([row.raw for row in rows]))
    memory = torch.from_numpy(np.stack([row.memory for row in rows]))
    with torch.no_grad():
        *_, after = network.step(
            torch.from_numpy(seen["features"]), torch.from_numpy(seen["ids"]), memory
        )
    found: Floats = after.numpy()
    return found


def turns(observations: Observations, rows: list[Row]) -> list[int]:
    asked = observations.spec.layout(observations.game).block("decision", "asked")
    at = asked.at(0, "turn")
    return [int(row.raw[at]) for row in rows]


@pytest.mark.parametrize(
    ("format", "mix", "decisions"),
    [("gen1randombattle", MIXED, 400), ("gen9randomdoublesbattle", {"self": 1.0}, 220)],
)
def test_memory_is_nothing_at_first_and_then_what_the_network_had_after_the_row_before(
    small: Small, format: str, mix: dict[str, float], decisions: int
) -> None:
    config = small(format=format, **LSTM)
    collector = stage_of(config).collector(6, 1, seed=3, parts=PARTS)
    try:
        rollouts = collected(collector, [order(decisions, mix=mix) for _ in range(3)])
        observations, network = collector.env.observations, collector.network
    finally:
        collector.close()
    battles, pairs = 0, []
    for rows in ways(rollouts).values():
        before = None
        for row, turn in zip(rows, turns(observations, rows), strict=True):
            if before is None or before.is_last:
                assert not row.memory.any()
                assert turn == 1
                battles += 1
            elif before.is_known:
                pairs.append((before, row))
            else:
                # What was seen at the end of a rollout is decided in the next one.
                np.testing.assert_array_equal(row.raw, before.raw)
                np.testing.assert_array_equal(row.memory, before.memory)
            before = row
    expected = kept(network, observations, [before for before, _ in pairs])
    assert expected.any(axis=1).all()
    memory = np.stack([row.memory for _, row in pairs])
    np.testing.assert_allclose(memory, expected, rtol=1e-5, atol=1e-6)
    assert battles > 2 * 6
    assert len(pairs) > 2 * decisions
    assert any(before.is_carried for before, _ in pairs)
    assert any(row.is_carried for _, row in pairs)
    assert any(before.rollout < row.rollout for before, row in pairs)


def test_battles_that_begin_anew_remember_nothing_of_those_before(small: Small) -> None:
    collector = stage_of(small(**LSTM)).collector(4, 1, seed=3, parts=PARTS)
    try:
        [before, anew] = collected(collector, [order(100), order(100, begin=9)])
    finally:
        collector.close()
    assert before["memory"].any()
    agents = anew["agents"]
    for agent in np.unique(agents):
        first = np.flatnonzero(agents == agent)[0]
        assert not anew["memory"][first].any()
    assert anew["memory"].any()
