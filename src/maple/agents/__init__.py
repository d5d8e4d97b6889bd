"""Agents: networks, how they choose, what they remember, and the checkpoints that keep them.

Settings and errors can be imported without torch, which everything else brings when it is asked
for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .config import NetworkConfig, build_network_config, load_network_config
from .errors import CheckpointMismatch, CheckpointNotWritten, CheckpointUnreadable

if TYPE_CHECKING:
    from .actor import Actor, Decided
    from .checkpoint import Checkpoint, find_checkpoint, load_checkpoint, save_checkpoint
    from .choices import judge
    from .network import Network, make_network
    from .weights import load_weights, weight_count, weights_of

__all__ = [
    "Actor",
    "Checkpoint",
    "CheckpointMismatch",
    "CheckpointNotWritten",
    "CheckpointUnreadable",
    "Decided",
    "Network",
    "NetworkConfig",
    "build_network_config",
    "find_checkpoint",
    "judge",
    "load_checkpoint",
    "load_network_config",
    "load_weights",
    "make_network",
    "save_checkpoint",
    "weight_count",
    "weights_of",
]

_MODULES = {
    "Actor": "actor",
    "Checkpoint": "checkpoint",
    "Decided": "actor",
    "Network": "network",
    "find_checkpoint": "checkpoint",
    "judge": "choices",
    "load_checkpoint": "checkpoint",
    "load_weights": "weights",
    "make_network": "network",
    "save_checkpoint": "checkpoint",
    "weight_count": "weights",
    "weights_of": "weights",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
