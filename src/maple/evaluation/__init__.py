"""How strong agents are: matches against others, ratings, tables, pictures and replays.

What needs neither torch nor poke-env can be imported without them; they come when it is asked for.
"""

from typing import TYPE_CHECKING

from maple.later import come_later

from .intervals import wilson
from .ratings import Rating, rate
from .report import Report
from .results import Played, Result

if TYPE_CHECKING:
    from .arena import Arena
    from .entrants import Entrant, Learned
    from .matches import evaluate
    from .tally import Tally

__all__ = [
    "Arena",
    "Entrant",
    "Learned",
    "Played",
    "Rating",
    "Report",
    "Result",
    "Tally",
    "evaluate",
    "rate",
    "wilson",
]

_MODULES = {
    "Arena": "arena",
    "Entrant": "entrants",
    "Learned": "entrants",
    "Tally": "tally",
    "evaluate": "matches",
}

__getattr__ = come_later(__name__, _MODULES)
