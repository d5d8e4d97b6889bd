"""The small PPO loop: what it keeps of battles, what it makes of that, and that it learns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pytest
import torch

from bridge import BridgeConfig
from bridge.errors import ConfigError
from maple.profiling import get_profiler
from maple.profiling.training.ppo_loop import (
    BatchFigures,
    Network,
    PPOConfig,
    PPOLoop,
    Rollout,
    estimate_advantages,
)

COLD = BridgeConfig(pool=1, warmup_battles=0)
TINY = PPOConfig(num_envs=3, steps=12, epochs=2, minibatch_size=32, hidden=16)
DISCOUNT, DECAY = 0.9, 0.8


@pytest.fixture(scope="module")
def loop() -> Iterator[PPOLoop]:
    """One that has played and learned a little, in both seats."""
    with PPOLoop(TINY, COLD) as loop:
        loop.run_batch()
        yield loop


def decide(rollout: Rollout, agents: list[int], values: list[float]) -> None:
    """A round in which nothing but the values matters."""
    count = len(agents)
    rollout.add(
        np.array(agents),
        np.zeros((count, 1), np.float32),
        np.ones((count, 1), np.bool_),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.array(values, np.float32),
    )


def hear(
    rollout: Rollout, agents: list[int], rewards: list[float], is_last: list[bool]
) -> npt.NDArray[np.int64]:
    return rollout.hear(np.array(agents), np.array(rewards, np.float32), np.array(is_last))


# Advantages


def slow_advantages(rollout: Rollout, next_values: npt.NDArray[np.float32]) -> list[float]:
    """Decision by decision, as it is defined: the decayed sum of all surprises up to the end."""
    found = [0.0] * len(rollout)
    for agent in range(len(next_values)):
        rows = [row for row in range(len(rollout)) if rollout.agents[row] == agent]
        for place, row in enumerate(rows):
            weight = 1.0
            for at, later in enumerate(rows[place:], place):
                if not rollout.is_known[later]:
                    break
                if rollout.is_last[later]:
                    after = float(rollout.end_values[later])
                elif at + 1 < len(rows):
                    after = float(rollout.values[rows[at + 1]])
                else:
                    after = float(next_values[agent])
                surprise = rollout.rewards[later] + DISCOUNT * after - rollout.values[later]
                found[row] += weight * float(surprise)
                weight *= DISCOUNT * DECAY
                if rollout.is_last[later]:
                    break
    return found


@pytest.mark.parametrize("seed", range(5))
def test_advantages_are_those_of_the_definition_whoever_decides_when(seed: int) -> None:
    random = np.random.default_rng(seed)
    agents = 4
    rollout = Rollout(200, agents, 1, 1)
    asked = list(range(agents))
    for _ in range(40):
        deciding = [agent for agent in asked if random.random() < 0.7] or asked[:1]
        decide(rollout, deciding, random.normal(size=len(deciding)).tolist())
        waiting = [agent for agent in asked if agent not in deciding]
        # Some are asked again at once, the others in a later round.
        underway = [agent for agent in range(agents) if agent not in waiting]
        heard = [agent for agent in underway if random.random() < 0.8] or underway[:1]
        is_last = (random.random(len(heard)) < 0.2).tolist()
        rows = hear(rollout, heard, random.normal(size=len(heard)).tolist(), is_last)
        for row, ended in zip(rows, is_last, strict=True):
            if ended and random.random() < 0.5:
                rollout.end_values[row] = random.normal()
        asked = waiting + heard
    # What came of this is not known.
    decide(rollout, asked[:1], [3.0])
    next_values = random.normal(size=agents).astype(np.float32)

    advantages = estimate_advantages(rollout, next_values, DISCOUNT, DECAY)

    known = rollout.known
    assert 0 < len(known) < len(rollout)
    assert rollout.is_last.any()
    slow = np.array(slow_advantages(rollout, next_values))
    np.testing.assert_allclose(advantages[known], slow[known], rtol=1e-4, atol=1e-5)


def test_nothing_that_follows_an_end_counts_for_what_was_before_it() -> None:
    rollout = Rollout(4, 1, 1, 1)
    decide(rollout, [0], [0.25])
    hear(rollout, [0], [1.0], [True])
    decide(rollout, [0], [100.0])
    hear(rollout, [0], [50.0], [False])

    advantages = estimate_advantages(rollout, np.array([7.0], np.float32), DISCOUNT, DECAY)

    assert advantages[0] == pytest.approx(1.0 - 0.25)


def test_a_battle_that_was_cut_short_counts_for_what_it_was_worth_then() -> None:
    rollout = Rollout(4, 1, 1, 1)
    decide(rollout, [0], [0.25])
    (row,) = hear(rollout, [0], [0.0], [True])
    rollout.end_values[row] = 0.5

    advantages = estimate_advantages(rollout, np.array([7.0], np.float32), DISCOUNT, DECAY)

    assert advantages[0] == pytest.approx(DISCOUNT * 0.5 - 0.25)


# What is kept


def test_a_decision_without_an_outcome_is_learned_from_in_the_next_batch() -> None:
    rollout = Rollout(6, 2, 1, 1)
    decide(rollout, [0, 1], [0.1, 0.2])
    hear(rollout, [0], [1.0], [False])
    decide(rollout, [0], [0.3])
    hear(rollout, [0], [2.0], [False])
    assert rollout.known.tolist() == [0, 2]

    rollout.begin()

    assert len(rollout) == 1
    assert rollout.agents[0] == 1
    assert rollout.values[0] == pytest.approx(0.2)
    assert rollout.known.tolist() == []
    hear(rollout, [0, 1], [9.0, 3.0], [False, True])
    assert rollout.known.tolist() == [0]
    assert rollout.rewards[0] == 3.0
    assert rollout.is_last[0]


def test_what_an_agent_gets_before_it_has_decided_is_not_counted() -> None:
    rollout = Rollout(6, 2, 1, 1)

    rows = hear(rollout, [0, 1], [5.0, 5.0], [True, True])

    assert rows.tolist() == [-1, -1]
    assert not rollout.is_known.any()
    assert not rollout.rewards.any()


# Playing and learning


def test_a_batch_has_the_decisions_that_were_asked_for_and_tells_what_came_of_them(
    loop: PPOLoop,
) -> None:
    figures = loop.run_batch()

    agents = 2 * TINY.num_envs
    assert TINY.steps * agents - agents <= figures.decisions < (TINY.steps + 1) * agents
    assert figures.rounds >= TINY.steps
    assert figures.wins is None
    assert all(math.isfinite(value) for value in asdict(figures).values() if value is not None)
    assert figures.entropy > 0


def test_only_legal_actions_are_taken_and_only_those_who_are_asked_take_any(loop: PPOLoop) -> None:
    loop.run_batch()

    rollout = loop.rollout
    rows = np.arange(len(rollout))
    assert rollout.masks[rows, rollout.actions[rows]].all()
    for part in rollout.rounds:
        assert len(set(rollout.agents[part].tolist())) == part.stop - part.start
    # Some wait while the other must replace a Pokémon.
    sizes = {part.stop - part.start for part in rollout.rounds}
    assert max(sizes) == 2 * TINY.num_envs
    assert min(sizes) < 2 * TINY.num_envs


def test_an_update_begins_with_the_probabilities_that_actions_were_drawn_by(loop: PPOLoop) -> None:
    from maple.profiling.training.ppo_loop import _Data

    loop._collect()
    rollout = loop.rollout
    fresh = np.setdiff1d(rollout.known, np.arange(rollout.bounds[1]))
    advantages = np.random.default_rng(0).normal(size=len(rollout)).astype(np.float32)

    loss, figures = loop._loss(_Data.of(rollout, advantages).rows(torch.from_numpy(fresh)))

    policy_loss, _value_loss, _entropy, clipped, divergence = figures.tolist()
    assert math.isfinite(loss.item())
    assert clipped == 0
    assert divergence == pytest.approx(0, abs=1e-6)
    # Advantages are made to have a mean of zero.
    assert policy_loss == pytest.approx(0, abs=1e-4)


def test_the_end_of_a_battle_that_was_cut_short_is_valued_by_what_was_seen_last(
    loop: PPOLoop,
) -> None:
    loop._collect()
    features = np.full(loop.rollout.features.shape[1], 0.5, np.float32)
    loop._cut_short.append((3, features))

    loop._value_what_follows()

    with torch.inference_mode():
        _, value = loop.network(torch.from_numpy(features[np.newaxis]))
    assert loop.rollout.end_values[3] == pytest.approx(value.item(), rel=1e-4)


def figures_of(config: PPOConfig, bridge: BridgeConfig, batches: int) -> list[BatchFigures]:
    with PPOLoop(config, bridge) as loop:
        return [loop.run_batch() for _ in range(batches)]


def test_a_seed_decides_everything_with_turbo_or_without() -> None:
    first = figures_of(TINY, COLD, 2)

    assert figures_of(TINY, COLD.replace(turbo=False), 2) == first


def test_some_agents_can_be_decided_for_at_a_time() -> None:
    config = PPOConfig(num_envs=4, batch_size=3, steps=8, epochs=1, hidden=16)
    with PPOLoop(config, COLD) as loop:
        for _ in range(2):
            figures = loop.run_batch()
            assert figures.rounds > config.steps
            sizes = [part.stop - part.start for part in loop.rollout.rounds]
            assert max(sizes[1:]) == 3


def test_battles_and_wins_against_an_opponent_are_counted() -> None:
    config = PPOConfig(num_envs=2, steps=120, opponent="random", epochs=1, hidden=16)
    with PPOLoop(config, COLD) as loop:
        figures = loop.run_batch()

    assert figures.decisions == 240
    assert figures.battles >= 1
    assert figures.wins is not None
    assert 0 <= figures.wins <= figures.battles
    assert figures.turns_per_battle is not None
    assert figures.turns_per_battle > 1
    assert figures.mean_return is not None


def test_doubles_are_refused() -> None:
    with pytest.raises(ConfigError, match="doubles"):
        PPOLoop(PPOConfig(format="gen9randomdoublesbattle", num_envs=1), COLD)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"discount": 1.5}, "discount is 1.5"),
        ({"learning_rate": 0.0}, "learning_rate is 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PPOConfig(**changes)  # type: ignore[arg-type]


def test_weights_are_those_of_the_seed_and_nobody_elses_random_numbers_change() -> None:
    from maple.profiling.training.ppo_loop import _make_network

    before = torch.random.get_rng_state()
    networks = [_make_network(5, 3, PPOConfig(seed=seed, hidden=4)) for seed in (1, 1, 2)]

    assert torch.equal(torch.random.get_rng_state(), before)
    first, again, other = (network.policy.weight for network in networks)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert isinstance(networks[0], Network)


def test_the_profiler_sees_every_part_of_a_batch(loop: PPOLoop) -> None:
    profiler = get_profiler()
    profiler.reset()
    profiler.enable(system=False)
    try:
        figures = loop.run_batch()
        (part,) = profiler.session().processes
    finally:
        profiler.disable()
        profiler.reset()

    # Not env_wait, which is there only if Node was slower than Python at least once.
    paths = {"/".join(operation.path) for operation in part.operations if operation.calls}
    batch = "training_batch"
    collection, gradient = f"{batch}/env_parallel_execution", f"{batch}/gradient_calculation"
    assert paths >= {
        batch,
        collection,
        f"{collection}/env_step",
        f"{collection}/env_step/env_observation",
        f"{collection}/env_send",
        f"{collection}/agent_action_selection",
        f"{collection}/agent_action_selection/inference_forward",
        f"{collection}/agent_action_selection/inference_sample",
        f"{collection}/replay_buffer",
        f"{batch}/agent_value_calculation",
        gradient,
        f"{gradient}/gae",
        f"{gradient}/replay_buffer",
        f"{gradient}/loss_calculation",
        f"{gradient}/backward",
        f"{gradient}/optimizer_step",
        f"{batch}/log_metrics",
    }
    assert part.counts["steps"] == figures.decisions
    assert len(part.laps) == 1
    assert part.metrics["reward"].last == pytest.approx(figures.reward)


@pytest.mark.soak
def test_it_learns_to_beat_a_random_player() -> None:
    figures = figures_of(PPOConfig(opponent="random"), BridgeConfig(warmup_battles=0), 20)

    def won(batches: list[BatchFigures]) -> float:
        return sum(one.wins or 0 for one in batches) / sum(one.battles for one in batches)

    assert won(figures[-5:]) > 0.8
    assert won(figures[:2]) < 0.7
