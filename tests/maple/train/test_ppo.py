"""What a network learns, and what it would not if advantages, masks or memories were wrong."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch

from maple.agents import weights_of
from maple.train.config import LearningConfig, PPOConfig
from maple.train.errors import LossNotFinite
from maple.train.ppo import Learner, UpdateFigures, estimate_advantages
from maple.train.rollout import Floats, Rollout

from .practice import OBSERVATIONS, Collected, Practice, network

LEARNING = LearningConfig(
    rate=3e-3, minibatch=256, entropy_weight=0.003, discount=0.95, sequence=4, gae_decay=0.9
)
PLAIN = PPOConfig(epochs=3, target_kl=None)


def learner_of(
    collected: Collected,
    learning: LearningConfig = LEARNING,
    ppo: PPOConfig | None = PLAIN,
) -> Learner:
    return Learner(collected.actor.network, OBSERVATIONS, learning, ppo, seed=5)


def train(
    kind: str, updates: int, ppo: PPOConfig | None = PLAIN, rate: float = 3e-3, seed: int = 3
) -> float:
    """How often games end well after so many updates."""
    settings = {"memory": 16} if kind == "lstm" else {}
    collected = Collected(network(kind, seed, **settings), Practice(64, 3), rounds=9)
    learner = learner_of(collected, ppo=ppo)
    shares = []
    for _ in range(updates):
        rollout, share = collected.fill()
        shares.append(share)
        learner.update([rollout], stale=False, rate=rate, entropy_weight=0.003)
    return float(np.mean(shares[-5:]))


# It learns


def test_a_network_with_a_memory_learns_what_it_must_remember() -> None:
    assert train("lstm", 60) > 0.9


def test_one_without_cannot_do_better_than_to_guess() -> None:
    """So the task above is one of memory: who gets it right has remembered."""
    assert train("mlp", 60) < 0.65


def test_reinforce_learns_too() -> None:
    assert train("lstm", 110, ppo=None, rate=5e-3) > 0.85


# Advantages


def rollout_of_two() -> tuple[Rollout, Floats]:
    rollout, _ = Collected(network(), Practice(5, 4), rounds=7).fill()
    random = np.random.default_rng(1)
    rollout.rewards[: len(rollout)] = random.normal(size=len(rollout))
    rollout.end_values[3] = 0.7
    return rollout, random.normal(size=len(rollout)).astype(np.float32)


def one_by_one(
    rollout: Rollout, values: Floats, trust: Floats, discount: float, decay: float
) -> tuple[Floats, Floats]:
    """The same by the definition: a decision at a time, along the way of its agent."""
    advantages = np.zeros(len(rollout))
    targets = values.astype(np.float64)
    for agent in range(rollout.shape.agents):
        rows = np.flatnonzero(rollout.agents[: len(rollout)] == agent)
        correction = 0.0
        for at in reversed(range(len(rows))):
            row = rows[at]
            if not rollout.is_known[row]:
                correction = 0.0
                continue
            if rollout.is_last[row]:
                after, correction = float(rollout.end_values[row]), 0.0
            else:
                after = float(values[rows[at + 1]])
            surprise = rollout.rewards[row] + discount * after - values[row]
            advantages[row] = surprise + discount * decay * correction
            correction = trust[row] * advantages[row]
            targets[row] = values[row] + correction
    return advantages.astype(np.float32), targets.astype(np.float32)


@pytest.mark.parametrize(("discount", "decay"), [(1.0, 0.95), (0.9, 1.0), (0.99, 0.0)])
def test_advantages_are_those_of_the_definition(discount: float, decay: float) -> None:
    rollout, values = rollout_of_two()
    found = estimate_advantages(rollout, values, None, discount=discount, decay=decay)
    expected = one_by_one(rollout, values, np.ones(len(rollout), np.float32), discount, decay)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5)


def test_what_is_trusted_less_counts_less_as_in_v_trace() -> None:
    rollout, values = rollout_of_two()
    trust = np.random.default_rng(2).uniform(0.2, 1.0, len(rollout)).astype(np.float32)
    found = estimate_advantages(rollout, values, trust, discount=0.97, decay=0.9)
    expected = one_by_one(rollout, values, trust, 0.97, 0.9)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-5)


def test_an_agent_does_not_learn_from_what_became_of_another_or_of_its_next_battle() -> None:
    rollout, values = rollout_of_two()
    before, _ = estimate_advantages(rollout, values, None, discount=1.0, decay=1.0)
    ends = np.flatnonzero(rollout.is_last[: len(rollout)] & (rollout.agents[: len(rollout)] == 2))
    after_the_end = np.flatnonzero(rollout.agents[: len(rollout)] == 2)
    changed = after_the_end[after_the_end > ends[0]]
    rollout.rewards[changed] += 100
    after, _ = estimate_advantages(rollout, values, None, discount=1.0, decay=1.0)
    same = np.setdiff1d(np.arange(len(rollout)), changed)
    np.testing.assert_array_equal(before[same], after[same])
    assert not np.array_equal(before[changed], after[changed])


# Masks and memories


def still(
    kind: str = "lstm", exploration: float = 0.0, stale: bool = False, sequence: int = 4
) -> UpdateFigures:
    """An update that changes nothing, of what its own network has just done."""
    settings = {"memory": 16} if kind == "lstm" else {}
    collected = Collected(network(kind, **settings), Practice(16, 5), rounds=11)
    learning = dataclasses.replace(LEARNING, sequence=sequence)
    learner = learner_of(collected, learning)
    # What is remembered is not nothing.
    rollout, _ = collected.fill(exploration)
    return learner.update([rollout], stale=stale, rate=0.0, entropy_weight=0.0)


@pytest.mark.parametrize("kind", ["mlp", "lstm", "attention"])
def test_an_update_finds_each_decision_as_likely_as_it_was(kind: str) -> None:
    """It would not, were its masks, its memories or the order of its rows others."""
    figures = still(kind)
    assert abs(figures.divergence) < 1e-6
    assert figures.clipped == 0


@pytest.mark.parametrize("sequence", [1, 2, 3, 100])
def test_sequences_may_be_cut_anywhere_as_memories_are_stored(sequence: int) -> None:
    assert abs(still(sequence=sequence).divergence) < 1e-6


@pytest.mark.parametrize("wrong", ["memory", "masks"])
def test_it_does_not_with_other_memories_or_masks(wrong: str) -> None:
    collected = Collected(network("lstm", memory=16), Practice(16, 5), rounds=11)
    # At first all actions are about as likely, whatever is remembered.
    with torch.no_grad():
        collected.actor.network.get_parameter("heads.policy.weight").mul_(300)
    learner = learner_of(collected)
    rollout, _ = collected.fill()
    if wrong == "memory":
        rollout.memory[:] = 0
        learner = learner_of(collected, dataclasses.replace(LEARNING, sequence=1))
    else:
        block = OBSERVATIONS.spec.layout("singles").block("decision", "mask")
        rollout.raw[:, block.offset : block.offset + block.bytes] = 255
    figures = learner.update([rollout], stale=False, rate=0.0, entropy_weight=0.0)
    assert figures.divergence > 1e-4


def test_what_the_same_network_did_is_trusted_fully() -> None:
    assert still(stale=True).trusted == pytest.approx(1.0, abs=1e-5)


def test_what_was_explored_is_trusted_as_far_as_the_network_would_have_done_it() -> None:
    figures = still(exploration=0.5, stale=True)
    assert 0.5 < figures.trusted < 1.0


# Limits


def test_an_update_ends_early_when_the_policy_has_gone_too_far() -> None:
    def update(target: float | None) -> UpdateFigures:
        collected = Collected(network(), Practice(64, 3), rounds=9)
        learner = learner_of(collected, ppo=PPOConfig(epochs=8, target_kl=target))
        rollout, _ = collected.fill()
        return learner.update([rollout], stale=False, rate=0.05, entropy_weight=0.0)

    assert update(None).epochs == 8
    assert update(0.01).epochs < 8


def test_exploration_is_no_distance_that_an_update_has_gone() -> None:
    figures = still(exploration=0.5, stale=True)
    assert abs(figures.divergence) < 1e-6
    assert figures.epochs == PLAIN.epochs


def test_values_are_held_back_by_their_clip() -> None:
    def moved(clip: float | None) -> float:
        collected = Collected(network(), Practice(64, 3), rounds=9)
        learner = learner_of(collected, ppo=PPOConfig(epochs=6, value_clip=clip, target_kl=None))
        rollout, _ = collected.fill()
        rollout.rewards[rollout.is_last] = 10
        learner.update([rollout], stale=False, rate=0.02, entropy_weight=0.0)
        seen = OBSERVATIONS.expand(rollout.raw[: len(rollout)])
        values = collected.actor.values(
            np.zeros(len(rollout), np.int64),
            seen["features"],
            seen["ids"],
            np.ones(len(rollout), np.bool_),
        )
        return float(np.abs(values - rollout.values[: len(rollout)]).mean())

    assert moved(0.05) < moved(None) / 2


def test_gradients_are_shortened_to_their_limit() -> None:
    collected = Collected(network(), Practice(64, 3), rounds=9)
    learning = dataclasses.replace(LEARNING, gradient_limit=1e-9, value_weight=100.0)
    learner = learner_of(collected, learning, PPOConfig(epochs=1))
    before = weights_of(learner.network)
    rollout, _ = collected.fill()
    figures = learner.update([rollout], stale=False, rate=1e-3, entropy_weight=0.0)
    assert figures.gradient > 1e-3
    # Adam's steps are as long as its rate for any gradient that is not tiny beside its epsilon.
    assert np.abs(weights_of(learner.network) - before).max() < 1e-6


def test_a_loss_that_is_no_number_is_told_with_its_batch_and_changes_nothing() -> None:
    collected = Collected(network(), Practice(16, 3), rounds=6)
    learner = learner_of(collected)
    rollout, _ = collected.fill()
    rollout.rewards[4] = math.nan
    before = weights_of(learner.network)
    with pytest.raises(LossNotFinite, match="lower the learning rate") as told:
        learner.update([rollout], stale=False, rate=1e-3, entropy_weight=0.0)
    assert np.isnan(told.value.batch["advantages"]).any()
    assert len(told.value.batch["minibatch"])
    assert np.array_equal(weights_of(learner.network), before)


def test_values_are_held_back_from_what_the_network_said_before_the_update() -> None:
    """Not from what an older one said that played."""
    collected = Collected(network(), Practice(16, 3), rounds=9)
    learner = learner_of(collected)
    rollout, _ = collected.fill()
    said = rollout.values[: len(rollout)].copy()
    rollout.values[:] += 5
    batch = learner._prepare([rollout], stale=True)
    np.testing.assert_allclose(batch.values, said, atol=1e-5)


def test_several_rollouts_are_one_batch() -> None:
    def update(parts: int) -> UpdateFigures:
        collected = Collected(network("lstm", memory=16), Practice(16, 5), rounds=11)
        learner = learner_of(collected)
        rollout, _ = collected.fill()
        return learner.update([rollout] * parts, stale=False, rate=0.0, entropy_weight=0.0)

    assert update(2).decisions == 2 * update(1).decisions
    assert abs(update(2).divergence) < 1e-6
