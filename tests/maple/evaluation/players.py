"""Players for tests of evaluation: small networks, and opponents that misbehave."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from maple.agents import Network, NetworkConfig, make_network
from maple.env import Observations
from maple.evaluation import Entrant, Learned

__all__ = ["QUICK", "Faulty", "learned", "network", "observations"]

QUICK = "gen1randombattle"


def observations(game: str = "singles", generation: int = 1) -> Observations:
    return Observations(game, generation)


def network(seed: int = 1, *, kind: str = "mlp", of: Observations | None = None) -> Network:
    """A small one, that has learned nothing."""
    memory: dict[str, Any] = {"memory": 8} if kind == "lstm" else {}
    config = NetworkConfig(kind=kind, hidden=(16,), **memory)  # type: ignore[arg-type]
    return make_network(config, of or observations(), seed=seed)


def learned(
    name: str, seed: int = 1, *, kind: str = "mlp", of: Observations | None = None
) -> Entrant:
    of = of or observations()
    return Entrant(name, Learned(network(seed, kind=kind, of=of), of))


class Faulty:
    """Takes the first legal action, until it has done so often enough."""

    def __init__(self, after: int) -> None:
        self._left = after

    def act(
        self, rows: npt.NDArray[np.uint8], masks: npt.NDArray[np.int8], keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        self._left -= len(rows)
        if self._left < 0:
            raise ArithmeticError("it has had enough")
        first: npt.NDArray[np.int64] = masks.argmax(axis=1)
        return first
