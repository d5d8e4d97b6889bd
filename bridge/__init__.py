"""The bridge between Python and a pool of Node processes that run Pokémon Showdown battles."""

from . import errors
from .config import BridgeConfig, load_config
from .inference import InferenceQueue
from .journal import Player
from .observation import View
from .registry import ControllerRegistry
from .room import BattleRoom, Result
from .side import Side, Update

__all__ = [
    "BattleRoom",
    "BridgeConfig",
    "ControllerRegistry",
    "InferenceQueue",
    "Player",
    "Result",
    "Side",
    "Update",
    "View",
    "errors",
    "load_config",
]
