"""How strong agents are: matches against others, ratings, tables, pictures and replays.

What needs neither torch nor poke-env can be imported without them; they come when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has the name
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
