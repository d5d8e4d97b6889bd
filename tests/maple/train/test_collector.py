"""What is written down of real battles is what happened in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maple.agents import Checkpoint, save_checkpoint
from maple.train.collector import Collector, CollectorStopped
from maple.train.config import TrainConfig
from maple.train.orders import Order, Report
from maple.train.rollout import Rollout
from maple.train.stage import Stage

from .conftest import stage_of

Small = Callable[..., TrainConfig]


@contextmanager
def collecting(config: TrainConfig, battles: int = 4, parts: int = 1) -> Iterator[Collector]:
    collector = stage_of(config).collector(battles, 1, seed=3, parts=parts)
    try:
        yield collector
    finally:
        collector.close()


def order(decisions: int = 400, **settings: Any) -> Order:
    given: dict[str, Any] = {
        "version": 1,
        "exploration": 0.0,
        "mix": {"self": 1.0},
        "rewards": {"win": 1, "loss": -1},
    }
    return Order(decisions=decisions, **(given | settings))


def collect(collector: Collector, asked: Order) -> tuple[Rollout, Report]:
    rollout = Rollout(collector.shape(asked.decisions))
    return rollout, collector.collect(rollout, asked)


def test_both_seats_of_self_play_give_data_and_a_win_counts_once(small: Small) -> None:
    with collecting(small(reward={})) as collector:
        rollout, report = collect(collector, order(800))
    assert report.decisions >= 800
    ends = np.flatnonzero(rollout.is_last[: len(rollout)])
    assert len(report.ended) >= 2
    # What one seat wins the other loses, each of them once.
    seats = rollout.agents[ends] % 2
    rewards = rollout.rewards[ends]
    assert (seats == 0).sum() == (seats == 1).sum() == len(report.ended)
    assert rewards[seats == 0].sum() == -rewards[seats == 1].sum()
    assert set(rewards.tolist()) <= {1.0, -1.0, 0.0}
    assert np.count_nonzero(rollout.rewards[: len(rollout)]) == np.count_nonzero(rewards)
    wins = sum(one.score == 1 for one in report.ended)
    assert wins == (rewards[seats == 0] == 1).sum()
    assert {one.opponent for one in report.ended} == {"self"}
    assert report.seats == 2 * len(report.ended)
    assert report.returns == 0


def test_against_others_only_our_seat_does(small: Small) -> None:
    with collecting(small(reward={})) as collector:
        rollout, report = collect(collector, order(400, mix={"random": 1.0}))
    assert (rollout.agents[: len(rollout)] % 2 == 0).all()
    ends = rollout.is_last[: len(rollout)]
    scores = [one.score for one in report.ended]
    assert rollout.rewards[: len(rollout)][ends].sum() == sum(2 * (s or 0) - 1 for s in scores)
    assert report.parts["win"] - report.parts["loss"] == len(scores) or report.parts
    assert {one.opponent for one in report.ended} == {"random"}


def test_past_selves_are_computed_here_and_are_not_learned_from(
    small: Small, tmp_path: Path
) -> None:
    config = small(reward={}, network={"kind": "lstm", "hidden": [16], "memory": 8})
    with collecting(config) as collector:
        observations = collector.env.observations
        past = Checkpoint.of(collector.network, observations, format="gen1randombattle")
        save_checkpoint(tmp_path / "past.pt", past)
        asked = order(
            250, mix={"past-1": 0.8, "self": 0.2}, past={"past-1": str(tmp_path / "past.pt")}
        )
        rollout, report = collect(collector, asked)
    assert report.others > 40
    assert {one.opponent for one in report.ended} <= {"past-1", "self"}
    seconds = (rollout.agents[: len(rollout)] % 2 == 1).mean()
    # A few of the battles have a second seat that is ours.
    assert seconds < 0.45


def test_past_selves_that_leave_the_mix_play_their_battles_to_the_end(
    small: Small, tmp_path: Path
) -> None:
    with collecting(small(reward={})) as collector:
        past = Checkpoint.of(
            collector.network, collector.env.observations, format="gen1randombattle"
        )
        for name in ("past-1", "past-2"):
            save_checkpoint(tmp_path / f"{name}.pt", past)
        files = {name: str(tmp_path / f"{name}.pt") for name in ("past-1", "past-2")}
        met = []
        for name in ("past-1", "past-2", "past-2", "past-2", "past-2"):
            asked = order(150, mix={name: 1.0}, past={name: files[name]})
            _, report = collect(collector, asked)
            met.append({one.opponent for one in report.ended})
        assert "past-1" in met[0] | met[1]
        assert met[-1] == {"past-2"}
        # What nobody meets any more is not kept.
        assert list(collector._past) == ["past-2"]


def test_what_is_open_at_the_end_of_a_rollout_is_in_the_next(small: Small) -> None:
    with collecting(small()) as collector:
        first, _ = collect(collector, order(100))
        second, report = collect(collector, order(100))
    known = len(first.known) + len(second.known)
    # All that was decided is known in one of them, but for what is open at the end.
    assert known >= 200 - 8
    assert report.decisions >= 100
    for rollout in (first, second):
        used = len(rollout)
        last = rollout.agents[:used][~rollout.is_known[:used]]
        assert len(set(last.tolist())) == len(last), "an agent has several open decisions"


def test_the_last_rows_are_what_the_last_decisions_led_to(small: Small) -> None:
    with collecting(small()) as collector:
        rollout, _ = collect(collector, order(100))
    for agent in range(8):
        rows = np.flatnonzero(rollout.agents[: len(rollout)] == agent)
        if len(rows) and not rollout.is_last[rows[-1]]:
            assert not rollout.is_known[rows[-1]]
            assert rollout.values[rows[-1]] != 0


def test_the_same_seed_gives_the_same_rollout(small: Small) -> None:
    def play() -> dict[str, Any]:
        with collecting(small()) as collector:
            rollout, _ = collect(collector, order(200, begin=11, mix={"self": 0.5, "random": 0.5}))
            return {name: array.copy() for name, array in rollout.arrays().items()}

    one, other = play(), play()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_parts_of_a_reward_are_told_by_themselves(small: Small) -> None:
    with collecting(small(reward={"knock_out": 0.1, "turn": -0.01})) as collector:
        rollout, report = collect(
            collector,
            order(700, rewards={"win": 1, "loss": -1, "knock_out": 0.1, "turn": -0.01}),
        )
        del rollout
        changed, again = collect(
            collector, order(300, rewards={"win": 1, "loss": -1, "knock_out": 0, "turn": 0})
        )
    assert set(report.parts) == {"win", "loss", "knock_out", "turn"}
    assert sum(report.parts.values()) == pytest.approx(report.returns, abs=1e-3)
    # Decisions that were sent under these weights: only the ends are worth something.
    sent = changed.rewards[: len(changed)][changed.is_known[: len(changed)]]
    assert np.count_nonzero(sent) <= 2 * len(again.ended) + 16


def test_exploration_makes_unlikely_actions_as_likely_as_is_written_down(small: Small) -> None:
    with collecting(small()) as collector:
        rollout, _ = collect(collector, order(300, exploration=1.0))
        masks = collector.env.observations.actions.masks(rollout.raw[: len(rollout)])
    known = rollout.known
    legal = masks[known].sum(axis=1)
    np.testing.assert_allclose(rollout.chances[known], -np.log(legal), atol=1e-5)


def test_collecting_ends_when_it_is_to(small: Small) -> None:
    with collecting(small()) as collector:
        rollout = Rollout(collector.shape(10_000))
        rounds = iter(range(1000))
        with pytest.raises(CollectorStopped):
            collector.collect(rollout, order(10_000), lambda: next(rounds) > 3)
        assert 0 < len(rollout) < 100


def test_doubles_have_two_actions_and_a_team_preview_that_is_decided(small: Small) -> None:
    stage: Stage = stage_of(small(format="gen9randomdoublesbattle"))
    collector = stage.collector(4, 1, seed=3, parts=1)
    try:
        rollout, _ = collect(collector, order(200))
        actions = collector.env.observations.actions
        rows = rollout.known
        assert rollout.actions.shape[1] == 2
        for row in rows[:50]:
            assert actions.is_legal(rollout.raw[row], rollout.actions[row])
    finally:
        collector.close()
