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
    from .choices import judge
    from .network import Network, make_network
    from .weights import load_weights, weight_count, weights_of

__all__ = [
    "Actor",
    "CheckpointMismatch",
    "CheckpointNotWritten",
    "CheckpointUnreadable",
    "Decided",
    "Network",
    "NetworkConfig",
    "build_network_config",
    "judge",
    "load_network_config",
    "load_weights",
    "make_network",
    "weight_count",
    "weights_of",
]

_MODULES = {
    "Actor": "actor",
    "Decided": "actor",
    "Network": "network",
    "judge": "choices",
    "load_weights": "weights",
    "make_network": "network",
    "weight_count": "weights",
    "weights_of": "weights",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
