"""Weights as a vector, and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maple.agents import load_weights, make_network, weight_count, weights_of
from tests.maple.agents.batches import KINDS, SMALL, observations_of, random_batch


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_with_the_weights_of_another_decides_alike(kind: str) -> None:
    observations = observations_of("singles")
    one, other = (make_network(SMALL[kind], observations, seed=seed) for seed in (1, 2))
    seen = random_batch(observations, 4).seen
    expected = one(*seen)
    assert not torch.equal(other(*seen)[0], expected[0])
    vector = weights_of(one)
    assert vector.shape == (weight_count(one),)
    load_weights(other, vector)
    assert np.array_equal(weights_of(other), vector)
    for part, same in zip(other(*seen), expected, strict=True):
        assert torch.equal(part, same)


def test_weights_are_a_copy_that_nobody_changes() -> None:
    observations = observations_of("singles")
    network = make_network(SMALL["mlp"], observations, seed=1)
    vector = weights_of(network)
    before = vector.copy()
    vector[:] += 1
    assert np.array_equal(weights_of(network), before)
    shared = np.zeros(weight_count(network) + 8, np.float32)
    out = weights_of(network, shared[4:-4])
    assert np.shares_memory(out, shared)
    assert np.array_equal(shared[4:-4], before)
    assert not shared[:4].any()
    load_weights(network, shared[4:-4])
    shared[:] = 0
    assert np.array_equal(weights_of(network), before)


def test_weights_that_can_only_be_read_are_read() -> None:
    network = make_network(SMALL["mlp"], observations_of("singles"), seed=1)
    vector = weights_of(network)
    vector.flags.writeable = False
    load_weights(network, vector)


def test_weights_of_another_network_are_refused() -> None:
    network = make_network(SMALL["mlp"], observations_of("singles"), seed=1)
    vector = weights_of(network)
    with pytest.raises(ValueError, match=r"for this network, not float32"):
        load_weights(network, vector[1:])
    with pytest.raises(ValueError, match=r"not float64"):
        load_weights(network, vector.astype(np.float64))
