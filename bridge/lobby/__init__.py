"""Users, challenges, ladder and battle rooms in Showdown's client protocol, over a registry.

It knows no socket: a transport hands it what clients say, and delivers what they are told.
"""

from .limits import Limits
from .lobby import Lobby
from .users import Connection, Transport

__all__ = ["Connection", "Limits", "Lobby", "Transport"]
