"""A network's weights as one vector, in which they can be shared, sent and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["load_weights", "weight_count", "weights_of"]

Floats: TypeAlias = npt.NDArray[np.float32]


def weight_count(network: nn.Module) -> int:
    """How many numbers the weights of a network are."""
    return sum(part.numel() for part in _parts(network))


def weights_of(network: nn.Module, out: Floats | None = None) -> Floats:
    """All parameters and buffers, in an order that is the same for networks of one config.

    In a vector of its own, or written into `out`, which may lie in shared memory.
    """
    vector = np.empty(weight_count(network), np.float32) if out is None else out
    _check(network, vector)
    at = 0
    for part in _parts(network):
        flat = part.detach().reshape(-1).cpu().numpy()
        vector[at : at + len(flat)] = flat
        at += len(flat)
    return vector


def load_weights(network: nn.Module, vector: Floats) -> None:
    """The other way round: the network has these weights from now on."""
    _check(network, vector)
    at = 0
    with torch.no_grad():
        for part in _parts(network):
            values = vector[at : at + part.numel()].copy()
            part.copy_(torch.from_numpy(values).reshape(part.shape))
            at += part.numel()


def _parts(network: nn.Module) -> list[Tensor]:
    return list(network.state_dict().values())


def _check(network: nn.Module, vector: Floats) -> None:
    if vector.shape != (weight_count(network),) or vector.dtype != np.float32:
        raise ValueError(
            f"weights are float32[{weight_count(network)}] for this network, "
            f"not {vector.dtype}{list(vector.shape)}"
        )
