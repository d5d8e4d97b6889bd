"""Agents: networks, how they choose, what they remember, and the checkpoints that keep them.

Settings and errors can be imported without torch, which everything else brings when it is asked
for.
"""

from typing import TYPE_CHECKING

from maple.later import come_later

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

__getattr__ = come_later(__name__, _MODULES)
