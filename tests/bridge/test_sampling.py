"""Sampling: a row gets the same action in any batch, never a masked one, with its probability."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from bridge.errors import InferenceFailed
from bridge.inference import InferenceQueue
from bridge.sampling import (
    Sampler,
    derive_keys,
    greedy,
    greedy_pair,
    log_probability,
    sample,
    sample_pair,
)

ACTIONS = 26
KNOWN_KEYS = [11099932604530697097, 6507370822297531853]
KNOWN_ACTIONS = [21, 13, 15, 0, 20, 2, 14, 13, 3, 4, 2, 14]
Array = npt.NDArray[Any]


def rows(count: int, *, seed: int = 0) -> tuple[Array, Array, Array]:
    """Logits of all sizes, masks of all densities, and keys."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(count, ACTIONS)) * random.choice([0.1, 1, 30], size=(count, 1))
    mask = random.random((count, ACTIONS)) < random.random((count, 1))
    mask[np.arange(count), random.integers(ACTIONS, size=count)] = True
    return logits.astype(np.float32), mask.astype(np.int8), derive_keys(seed, np.arange(count))


def partitions(count: int) -> list[list[Array]]:
    """Ways to divide so many rows into batches, in order and out of it."""
    random = np.random.default_rng(5)
    shuffled = random.permutation(count)
    return [
        [np.arange(count)],
        [np.array([row]) for row in range(count)],
        [np.arange(count)[::-1]],
        np.array_split(shuffled, 7),
        np.array_split(shuffled, count // 3),
    ]


# What a row gets


def test_a_row_gets_the_same_action_in_any_batch_and_any_order() -> None:
    logits, mask, keys = rows(300)
    expected = sample(logits, mask, keys)
    likeliest = greedy(logits, mask)
    chances = log_probability(logits, mask, expected)
    assert (expected != likeliest).any()
    for batches in partitions(300):
        for batch in batches:
            own = logits[batch], mask[batch]
            assert sample(*own, keys[batch]).tolist() == expected[batch].tolist()
            assert greedy(*own).tolist() == likeliest[batch].tolist()
            assert log_probability(*own, expected[batch]).tolist() == chances[batch].tolist()


def test_how_an_array_lies_in_memory_changes_nothing() -> None:
    logits, mask, keys = rows(100)
    expected = sample(logits, mask, keys).tolist()
    wide = np.zeros((100, 2 * ACTIONS), np.float32)
    wide[:, ::2] = logits
    for same in (np.asfortranarray(logits), wide[:, ::2], logits.astype(np.float64)):
        assert sample(same, mask, keys).tolist() == expected
    for legal in (mask.astype(bool), np.asfortranarray(mask), mask.tolist()):
        assert sample(logits, legal, keys).tolist() == expected


def test_actions_come_as_often_as_their_probabilities_say() -> None:
    draws = 100_000
    logits = np.array([0.0, 1.0, -np.inf, 2.0, -1.0, 0.5, 5.0, -3.0], np.float32)
    mask = np.array([1, 1, 1, 1, 1, 1, 0, 1], np.int8)
    shape = draws, len(logits)
    drawn = sample(
        np.broadcast_to(logits, shape), np.broadcast_to(mask, shape), derive_keys(1, range(draws))
    )
    counts = np.bincount(drawn, minlength=len(logits))
    assert counts[[2, 6]].tolist() == [0, 0]
    possible = [0, 1, 3, 4, 5, 7]
    expected = np.exp(logits[possible].astype(np.float64))
    expected *= draws / expected.sum()
    chi_square = ((counts[possible] - expected) ** 2 / expected).sum()
    assert chi_square < 20.5  # Of five degrees of freedom: one in a thousand is larger.


@pytest.mark.parametrize(
    "keys",
    [np.arange(50_000), derive_keys(3, 7, range(50_000)), derive_keys(3, range(50_000), 7)],
    ids=["counted", "last counter", "first counter"],
)
def test_neighbouring_keys_have_nothing_to_do_with_each_other(keys: Array) -> None:
    choices = 4
    drawn = sample(np.zeros((len(keys), choices)), None, keys)
    pairs = np.bincount(drawn[:-1] * choices + drawn[1:], minlength=choices**2)
    expected = (len(keys) - 1) / choices**2
    assert ((pairs - expected) ** 2 / expected).sum() < 37.7  # Fifteen degrees of freedom.


def test_a_log_probability_is_that_of_the_softmax_over_what_is_legal() -> None:
    logits, mask, _ = rows(64)
    masked = torch.from_numpy(logits).double().masked_fill(torch.from_numpy(mask) == 0, -torch.inf)
    expected = torch.log_softmax(masked, dim=1)
    for action in range(ACTIONS):
        own = log_probability(logits, mask, np.full(64, action))
        np.testing.assert_allclose(own, expected[:, action].numpy(), rtol=1e-12, atol=1e-12)


def test_the_first_of_equals_is_the_likeliest() -> None:
    logits = np.array([[1, 3, 3, 2], [0, 0, 0, 0], [9, 1, 1, 1]], np.float32)
    mask = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    assert greedy(logits, mask).tolist() == [1, 2, 1]
    assert greedy(logits).tolist() == [1, 0, 0]


def test_logits_of_any_size_never_lead_to_a_masked_action() -> None:
    largest = float(np.finfo(np.float32).max)
    logits = np.array([-largest, largest, 1e30, 0, -1e30, -np.inf], np.float32)
    masks = np.array([[bits >> bit & 1 for bit in range(6)] for bits in range(1, 64)])
    masks = np.repeat(masks[masks[:, :5].any(axis=1)], 50, axis=0)
    shape = len(masks), 6
    drawn = sample(np.broadcast_to(logits, shape), masks, derive_keys(0, range(len(masks))))
    assert masks[np.arange(len(masks)), drawn].all()
    assert (drawn != 5).all()
    highest = np.where(masks, logits, -np.inf).argmax(axis=1)
    assert drawn.tolist() == highest.tolist()


def test_the_only_legal_action_is_certain() -> None:
    logits, _, keys = rows(ACTIONS)
    only = np.eye(ACTIONS, dtype=np.int8)
    assert sample(logits, only, keys).tolist() == list(range(ACTIONS))
    assert log_probability(logits, only, np.arange(ACTIONS)).tolist() == [0.0] * ACTIONS


def test_tensors_are_as_good_as_arrays() -> None:
    logits, mask, keys = rows(40)
    expected = sample(logits, mask, keys).tolist()
    tensor = torch.from_numpy(logits).requires_grad_()
    assert sample(tensor, torch.from_numpy(mask), torch.from_numpy(keys)).tolist() == expected
    coarse = torch.from_numpy(logits).bfloat16()
    assert greedy(coarse, torch.from_numpy(mask) != 0).tolist() == (
        greedy(coarse.float().numpy(), mask).tolist()
    )


# Keys


def test_keys_can_be_derived_step_by_step() -> None:
    environments, steps = np.arange(5), np.array([3, 1, 4, 1, 5])
    at_once = derive_keys("seed", environments, 9, steps, 1)
    battles = derive_keys("seed", environments, 9)
    assert derive_keys(battles, steps, 1).tolist() == at_once.tolist()
    assert battles.tolist() == derive_keys("seed", environments, 9).tolist()
    for row, (environment, step) in enumerate(zip(environments, steps, strict=True)):
        assert derive_keys("seed", int(environment), 9, int(step), 1).tolist() == [at_once[row]]


def test_every_counter_and_its_place_makes_another_key() -> None:
    keys = {
        int(key)
        for seed in (0, 1, -1, "0/", 2**70)
        for counters in ((), (0,), (1,), (0, 0), (0, 1), (1, 0), (-1,), (2**64 - 2,))
        for key in derive_keys(seed, *counters)
    }
    assert len(keys) == 5 * 8


def test_keys_are_the_same_in_every_version() -> None:
    # Whoever has written down a seed wants to see the same battles again.
    assert derive_keys(7, [0, 1], 2).tolist() == KNOWN_KEYS
    logits, mask, keys = rows(12)
    assert sample(logits, mask, keys).tolist() == KNOWN_ACTIONS


# What is refused


def test_a_row_without_a_legal_action_is_named() -> None:
    logits, mask, keys = rows(30)
    mask[[4, 17]] = 0
    with pytest.raises(ValueError, match=r"no action to pick in rows 4, 17$"):
        sample(logits, mask, keys)
    with pytest.raises(ValueError, match=r"in rows 0, 1, 2, 3, 4, 5, 6, 7 and 22 more$"):
        greedy(logits, np.zeros_like(mask))
    logits[3] = -np.inf
    with pytest.raises(ValueError, match=r"no action to pick in row 3$"):
        sample(logits, None, keys)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_with_what_is_no_number_is_named_even_if_it_is_masked(value: float) -> None:
    logits, mask, keys = rows(30)
    logits[11, 5], mask[11, 5] = value, 0
    with pytest.raises(ValueError, match=r"NaN or infinite in row 11$"):
        sample(logits, mask, keys)


def test_shapes_that_do_not_fit_are_refused() -> None:
    logits, mask, keys = rows(8)
    with pytest.raises(ValueError, match=r"a mask of \(7, 26\) for logits of \(8, 26\)"):
        sample(logits, mask[1:], keys)
    with pytest.raises(ValueError, match="7 keys for 8 rows"):
        sample(logits, mask, keys[1:])
    with pytest.raises(ValueError, match="not rows of actions"):
        sample(logits[np.newaxis], None, keys)
    with pytest.raises(ValueError, match="not two slots"):
        sample_pair(logits, mask, lambda masks, _first: masks[:, 1], keys)
    with pytest.raises(TypeError, match="keys and counters are integers, not float64"):
        sample(logits, mask, keys.astype(np.float64))


# Two slots


def another(masks: Array, first: Array) -> Array:
    """The second slot may do anything but what the first does."""
    left = masks[:, 1].copy()
    left[np.arange(len(left)), first] = False
    return left


def pairs(count: int) -> tuple[Array, Array, Array]:
    logits, mask, keys = rows(2 * count)
    mask[:, :2] = 1
    return logits.reshape(count, 2, ACTIONS), mask.reshape(count, 2, ACTIONS), keys[:count]


def test_the_second_slot_does_what_the_first_leaves_it() -> None:
    logits, mask, keys = pairs(500)
    drawn = sample_pair(logits, mask, another, keys)
    assert drawn.shape == (500, 2)
    assert np.take_along_axis(mask, drawn[..., np.newaxis], axis=2).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert drawn[:, 0].tolist() == sample(logits[:, 0], mask[:, 0], keys).tolist()
    for batches in partitions(500):
        for batch in batches:
            own = sample_pair(logits[batch], mask[batch], another, keys[batch])
            assert own.tolist() == drawn[batch].tolist()


def test_the_slots_draw_by_themselves() -> None:
    draws, choices = 40_000, 3
    shape = draws, 2, choices
    drawn = sample_pair(
        np.zeros(shape), np.ones(shape), lambda masks, _: masks[:, 1], derive_keys(2, range(draws))
    )
    counts = np.bincount(drawn[:, 0] * choices + drawn[:, 1], minlength=9)
    assert ((counts - draws / 9) ** 2 / (draws / 9)).sum() < 26.1  # Eight degrees of freedom.


def test_the_likeliest_pair_is_taken_slot_by_slot() -> None:
    logits = np.array([[[1, 5, 3], [1, 5, 3]]])
    assert greedy_pair(logits, np.ones_like(logits), another).tolist() == [[1, 2]]


# Policies that sample


class Network(torch.nn.Module):
    """Logits and values, and whether it ran as it should."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = torch.nn.Linear(64, ACTIONS)
        self.batches: list[int] = []

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        assert torch.is_inference_mode_enabled()
        self.batches.append(len(features))
        logits = self.body(features)
        return logits, logits.sum(dim=1)


def features(count: int) -> Array:
    return np.random.default_rng(1).normal(size=(count, 64)).astype(np.float32)


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "thread"])
async def test_a_sampler_gives_a_row_the_same_in_any_batch(inline: bool) -> None:
    observations, (_, mask, keys) = features(60), rows(60)
    network = Network()
    expected = Sampler(network)(observations, mask, keys)
    assert (
        expected[0].tolist() == sample(network_logits(network, observations), mask, keys).tolist()
    )
    for max_batch in (60, 7, 1):
        async with InferenceQueue(Sampler(network), max_batch=max_batch, inline=inline) as queue:
            given = zip(observations, mask, keys, strict=True)
            results = await asyncio.gather(*map(queue.submit, given))
            actions, chances, values = zip(*results, strict=True)
            assert list(actions) == expected[0].tolist()
            np.testing.assert_allclose(chances, expected[1], rtol=1e-5)
            np.testing.assert_allclose(values, expected[2], rtol=1e-5, atol=1e-5)
            together = await queue.submit_many((observations, mask, keys))
            assert together[0].tolist() == expected[0].tolist()
    assert min(network.batches) == 16


def network_logits(network: Network, observations: Array) -> torch.Tensor:
    with torch.inference_mode():
        logits, _values = network(torch.from_numpy(observations))
    assert isinstance(logits, torch.Tensor)
    return logits


async def test_learner_and_opponent_sample_in_one_queue() -> None:
    _, mask, keys = rows(20)
    observations = features(20)
    learner, opponent = Sampler(Network()), Sampler(Network(), greedy=True)
    async with InferenceQueue(learner) as queue:
        queue.update_policy(opponent, name="opponent", version=3)
        batch = observations, mask, keys
        own, others = await asyncio.gather(
            queue.submit_many(batch), queue.submit_many(batch, policy="opponent")
        )
        assert queue.stats()["policies"]["opponent"]["version"] == 3
    logits = network_logits(Network(), observations)
    assert own[0].tolist() == sample(logits, mask, keys).tolist()
    assert others[0].tolist() == greedy(logits, mask).tolist()


async def test_a_policy_of_two_slots_may_be_given_several_inputs() -> None:
    logits, mask, keys = pairs(30)

    def policy(first: Array, second: Array) -> Array:
        return np.stack((first, second), axis=1)

    sampler = Sampler(policy, second_mask=another)
    async with InferenceQueue(sampler, max_batch=8) as queue:
        inputs = zip(logits[:, 0], logits[:, 1], strict=True)
        given = zip(inputs, mask, keys, strict=True)
        results = await asyncio.gather(*map(queue.submit, given))
    expected = sample_pair(logits, mask, another, keys)
    assert [action.tolist() for action, _ in results] == expected.tolist()
    first = log_probability(logits[:, 0], mask[:, 0], expected[:, 0])
    second = log_probability(logits[:, 1], another(mask, expected[:, 0]), expected[:, 1])
    assert [chance for _, chance in results] == (first + second).tolist()
    likeliest, _ = Sampler(policy, second_mask=another, greedy=True)(
        (logits[:, 0], logits[:, 1]), mask, keys
    )
    assert likeliest.tolist() == greedy_pair(logits, mask, another).tolist()


async def test_rows_that_cannot_be_sampled_are_told_why_and_the_queue_lives() -> None:
    logits, mask, keys = rows(4)
    async with InferenceQueue(Sampler(lambda batch: batch)) as queue:
        mask[2] = 0
        given = zip(logits, mask, keys, strict=True)
        outcomes = await asyncio.gather(*map(queue.submit, given), return_exceptions=True)
        assert all(isinstance(outcome, InferenceFailed) for outcome in outcomes)
        assert "no action to pick in row 2" in str(outcomes[0])
        action, _ = await queue.submit((logits[0], mask[0], keys[0]))
        assert action == sample(logits[:1], mask[:1], keys[:1])[0]


@pytest.mark.parametrize("count", [3, 17])
@pytest.mark.parametrize("part", [0, 1], ids=["logits", "values"])
def test_too_few_or_too_many_rows_of_a_policy_are_an_error(count: int, part: int) -> None:
    logits, mask, keys = rows(4)

    def policy(batch: Array) -> tuple[Array, Array]:
        sizes = [len(batch), len(batch)]
        sizes[part] = count
        return np.resize(batch, (sizes[0], ACTIONS)), np.zeros(sizes[1])

    with pytest.raises(ValueError, match=f"the policy returned {count} rows for 16"):
        Sampler(policy)(logits, mask, keys)


@pytest.mark.parametrize("threads", [1, torch.get_num_threads()])
def test_what_torch_computes_for_a_row_is_the_same_to_the_bit_in_batches_of_any_size(
    threads: int,
) -> None:
    count, before = 40, torch.get_num_threads()
    observations, (_, mask, keys) = features(count), rows(count)
    torch.manual_seed(0)
    body, head, value = (torch.nn.Linear(*sizes) for sizes in ((64, 256), (256, 26), (256, 1)))

    class Deep(torch.nn.Module):
        def forward(self, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = body(given).relu()
            return head(hidden), value(hidden)

    torch.set_num_threads(threads)
    try:
        sampler = Sampler(Deep())
        expected = sampler(observations, mask, keys)
        for size in range(1, count + 1):
            for part, whole in zip(
                sampler(observations[:size], mask[:size], keys[:size]), expected, strict=True
            ):
                assert part.tolist() == whole[:size].tolist()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, list])
def test_rows_are_filled_up_as_what_they_are(kind: Callable[[Array], Any]) -> None:
    logits, mask, keys = rows(11)
    given = kind(logits)

    def policy(batch: Any) -> Array:  # noqa: ANN401 - an array, a tensor or a list
        assert type(batch) is type(given)
        assert len(batch) == 16
        return np.asarray(batch)

    assert Sampler(policy)(given, mask, keys)[0].tolist() == sample(logits, mask, keys).tolist()


def test_importing_it_does_not_import_torch() -> None:
    program = "import sys, bridge.sampling; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
