"""A trained agent as a player on Pokémon Showdown servers, ours or any other.

`python -m maple.play CHECKPOINT` is its command line. torch and poke-env come when they are needed.
"""

from typing import TYPE_CHECKING

from maple.later import come_later

from .errors import ObservationFailed, ObserverClosed, ObserverDied

if TYPE_CHECKING:
    from .game import Game, Result
    from .observer import ObservedBattle, Observer
    from .player import AgentPlayer
    from .servers import find_server
    from .session import Accept, Challenge, Ladder, Session

__all__ = [
    "Accept",
    "AgentPlayer",
    "Challenge",
    "Game",
    "Ladder",
    "ObservationFailed",
    "ObservedBattle",
    "Observer",
    "ObserverClosed",
    "ObserverDied",
    "Result",
    "Session",
    "find_server",
]

_MODULES = {
    "Accept": "session",
    "AgentPlayer": "player",
    "Challenge": "session",
    "Game": "game",
    "Ladder": "session",
    "ObservedBattle": "observer",
    "Observer": "observer",
    "Result": "game",
    "Session": "session",
    "find_server": "servers",
}

__getattr__ = come_later(__name__, _MODULES)
