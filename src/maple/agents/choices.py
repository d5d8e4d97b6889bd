"""Judges actions by logits, differentiably: what chance they had, how open the choice was.

Draws nothing; `bridge.sampling` does, and agrees on what an action's chance is.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["judge"]


def judge(
    logits: Tensor, masks: Tensor, actions: Tensor, second_mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The logarithms of the probabilities of actions, and the entropies of the choices: [rows].

    Logits and masks [rows, actions] with an action a row; or [rows, 2, actions] with two, and then
    `second_mask` [rows, actions] is what the second may be given the first, as
    `Actions.second_mask` has it. A pair's probability is that of its first times that of its second
    given the first, and its entropy that of the first choice plus that of the second, given the
    first. Where a mask allows nothing there is nothing to choose: the action counts as certain.
    """
    if logits.ndim == 2:
        return _judge_one(logits, masks, actions)
    if second_mask is None:
        raise ValueError("pairs of actions are judged with a second_mask")
    chance, entropy = _judge_one(logits[:, 0], masks[:, 0], actions[:, 0])
    chance_then, entropy_then = _judge_one(logits[:, 1], second_mask, actions[:, 1])
    return chance + chance_then, entropy + entropy_then


def _judge_one(logits: Tensor, masks: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    masks = masks.bool()
    # Not minus infinity: a row without a choice would be no number, and so would its gradient.
    chances = logits.masked_fill(~masks, torch.finfo(logits.dtype).min).log_softmax(dim=1)
    # An action of no probability is no part of the entropy: 0 times a logarithm that may overflow.
    known = chances.masked_fill(~masks, 0)
    entropy = -(known.exp() * known).sum(dim=1)
    chance = chances.gather(1, actions[:, None].long())[:, 0]
    return torch.where(masks.any(dim=1), chance, 0), entropy
