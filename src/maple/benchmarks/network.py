"""The policy of the benchmarks: a network of two hidden layers, the same in every row."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["HIDDEN", "policy_network", "use_one_thread"]

HIDDEN = 256


def use_one_thread() -> None:
    """Keeps torch to one thread: more would take the cores that the simulator needs."""
    torch.set_num_threads(1)


def policy_network(inputs: int, actions: int) -> nn.Module:
    """Logits of actions from features: inputs, 256, 256, actions, with the weights of one seed."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, actions),
    ).eval()
