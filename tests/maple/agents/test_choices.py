"""What chance an action had and how open the choice was, held against bridge.sampling and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from bridge.sampling import log_probability, sample, sample_pair
from maple.agents import judge
from maple.env import Actions
from tests.maple.agents.batches import observations_of, random_batch

ROWS = 40
LOWEST, HIGHEST = torch.finfo(torch.float32).min, torch.finfo(torch.float32).max
ACTIONS = Actions("doubles", 9)


def singles(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, masks, and actions that are drawn by them."""
    batch = random_batch(observations_of("singles"), ROWS)
    logits = 3 * torch.randn(batch.masks.shape, generator=torch.Generator().manual_seed(1))
    actions = sample(logits, batch.masks, batch.keys)
    return logits.to(dtype), torch.from_numpy(batch.masks).bool(), torch.from_numpy(actions)


def doubles() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same of pairs, with what the second may be given the first."""
    batch = random_batch(observations_of("doubles"), ROWS)
    logits = 3 * torch.randn(batch.masks.shape, generator=torch.Generator().manual_seed(1))
    actions = sample_pair(logits, batch.masks, second_of, batch.keys)
    second_mask = torch.from_numpy(ACTIONS.second_mask(batch.masks, actions[:, 0]))
    masks = torch.from_numpy(batch.masks).bool()
    return logits.double(), masks, torch.from_numpy(actions), second_mask.bool()


def second_of(masks: Any, first: Any) -> Any:  # noqa: ANN401 - as SecondMask has it
    return ACTIONS.second_mask(masks, first)


def probabilities(logits: Tensor, masks: Tensor) -> npt.NDArray[np.float64]:
    """One after another, as they are defined."""
    weights = np.exp(logits.numpy()) * masks.numpy()
    chances: npt.NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return chances


def entropies(logits: Tensor, masks: Tensor) -> npt.NDArray[np.float64]:
    each = [row[row > 0] for row in probabilities(logits, masks)]
    return np.array([-(row * np.log(row)).sum() for row in each])


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
def test_an_action_has_the_chance_that_sampling_gives_it(dtype: torch.dtype, close: float) -> None:
    logits, masks, actions = singles(dtype)
    chances, entropy = judge(logits, masks, actions)
    expected = log_probability(logits, masks, actions)
    np.testing.assert_allclose(chances.numpy(), expected, rtol=close, atol=close)
    expected = entropies(logits.double(), masks)
    np.testing.assert_allclose(entropy.numpy(), expected, rtol=close, atol=close)


def test_a_pair_has_the_chance_of_its_first_times_that_of_its_second_given_the_first() -> None:
    logits, masks, actions, second_mask = doubles()
    chances, entropy = judge(logits, masks, actions, second_mask)
    expected = log_probability(logits[:, 0], masks[:, 0], actions[:, 0])
    expected += log_probability(logits[:, 1], second_mask, actions[:, 1])
    np.testing.assert_allclose(chances.numpy(), expected, rtol=1e-13, atol=1e-13)
    expected = entropies(logits[:, 0], masks[:, 0]) + entropies(logits[:, 1], second_mask)
    np.testing.assert_allclose(entropy.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_the_chances_of_all_legal_pairs_add_up_to_one() -> None:
    logits, masks, _, _ = doubles()
    one = masks[:1].numpy().astype(np.int8)
    pairs = np.argwhere(ACTIONS.joint_mask(one)[0])
    many = np.repeat(one, len(pairs), axis=0)
    second_mask = torch.from_numpy(ACTIONS.second_mask(many, pairs[:, 0]))
    chances, _ = judge(
        logits[:1].expand(len(pairs), -1, -1),
        torch.from_numpy(many),
        torch.from_numpy(pairs),
        second_mask,
    )
    assert chances.exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_gradients_are_those_of_the_definition_and_none_are_of_masked_logits() -> None:
    logits, masks, actions = (part[:6] for part in singles())
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda given: judge(given, masks, actions), (logits,))
    chances, entropy = judge(logits, masks, actions)
    (chances + entropy).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert not logits.grad[~masks].any()
    assert logits.grad[masks].any()
    pairs, pair_masks, pair_actions, second_mask = (part[:3] for part in doubles())
    pairs.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given: judge(given, pair_masks, pair_actions, second_mask), (pairs,)
    )


@pytest.mark.parametrize("masked", [LOWEST, HIGHEST, -1e30, 1e30, 0.0])
def test_what_a_masked_logit_is_makes_no_difference(masked: float) -> None:
    logits, masks, actions = singles(torch.float32)
    given = logits.masked_fill(~masks, masked).requires_grad_()
    chances, entropy = judge(given, masks, actions)
    for part, expected in zip((chances, entropy), judge(logits, masks, actions), strict=True):
        assert torch.equal(part, expected)
    (chances.sum() + entropy.sum()).backward()  # type: ignore[no-untyped-call]
    assert given.grad is not None
    assert given.grad.isfinite().all()


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_logits_far_apart_are_no_reason_for_what_is_no_number(size: float) -> None:
    logits, masks, actions = singles(torch.float32)
    given = (logits.sign() * size).requires_grad_()
    chances, entropy = judge(given, masks, actions)
    assert chances.isfinite().all()
    assert (entropy >= 0).all()
    (chances.sum() + entropy.sum()).backward()  # type: ignore[no-untyped-call]
    assert given.grad is not None
    assert given.grad.isfinite().all()


def test_where_nothing_is_allowed_there_is_nothing_to_choose_and_nothing_to_learn() -> None:
    logits, masks, actions, second_mask = doubles()
    logits = logits.float()
    masks[3], second_mask[3] = False, False
    masks[5, 0] = False
    logits[3] = 1e30
    logits.requires_grad_()
    chances, entropy = judge(logits, masks, actions, second_mask)
    assert chances[3].item() == entropy[3].item() == 0
    alone = judge(logits[5:6, 1], second_mask[5:6], actions[5:6, 1])
    assert (chances[5], entropy[5]) == alone
    (chances.sum() + entropy.sum()).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert not logits.grad[3].any()
    assert not logits.grad[5, 0].any()
    assert logits.grad[4].any()


def test_pairs_without_what_the_first_leaves_are_refused() -> None:
    logits, masks, actions, _ = doubles()
    with pytest.raises(ValueError, match="second_mask"):
        judge(logits, masks, actions)
