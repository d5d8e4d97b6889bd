"""Which of several opponents has the second seat of a battle: the weights, and the draw by them.

Knows names alone; who they are is in `seating`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bridge.errors import ConfigError
from bridge.settings import suggest

from .weights import Weights

if TYPE_CHECKING:
    from .opponents import OpponentKind

__all__ = ["NAMED", "SELF", "Mixture"]

SELF: Final = "self"
"""The opponent that is an agent, as the one in the first seat is."""
NAMED: Final = ("random", "max", "heuristics")
"""The opponents that have a name by themselves."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Opponents of which each battle draws one, when it is opened.

    >>> Mixture({"random": 0.3, "self": 0.5, "past-12": 0.2}, agents=["past-12"])

    Args:
        weights: How likely each is, by name: more than 0, and of any sum. "random", "max" and
            "heuristics" are the opponents of that name.
        agents: Names of agents: whoever has the environment decides for them, as for "self".
        opponents: What other names stand for. Those without a weight are never drawn, nor made.
    """

    weights: Mapping[str, float]
    agents: Collection[str] = field(default=(), kw_only=True)
    opponents: Mapping[str, OpponentKind] = field(default_factory=dict, kw_only=True)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _drawn: Weights = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.agents, str):
            raise ConfigError(f"agents are several names, not {self.agents!r}")
        object.__setattr__(self, "weights", dict(self.weights))
        object.__setattr__(self, "agents", tuple(self.agents))
        object.__setattr__(self, "opponents", dict(self.opponents))
        self._check_names()
        if not self.weights:
            raise ConfigError("a mixture of no opponents: give at least one a weight")
        # By name, so that the order in which they are written down does not matter.
        names = tuple(sorted(self.weights))
        object.__setattr__(self, "_names", names)
        drawn = Weights([repr(name) for name in names], [self.weights[name] for name in names])
        object.__setattr__(self, "_drawn", drawn)

    def is_agent(self, name: str) -> bool:
        """Whether whoever has the environment decides for it."""
        return name == SELF or name in self.agents

    def draw(self, key: int) -> str:
        """The opponent that a key of 64 bits decides on."""
        return self._names[self._drawn.draw(key)]

    def _check_names(self) -> None:
        taken = {SELF, *NAMED}
        for name in (*self.agents, *self.opponents):
            if name in taken:
                raise ConfigError(f"{name!r} is somebody already: take another name")
            taken.add(name)
        for name in self.weights:
            if name not in taken:
                raise ConfigError(
                    f"nobody is called {name!r}; {suggest(name, taken)} Other names are given as "
                    "agents=… or opponents=…"
                )
