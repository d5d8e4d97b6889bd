"""Who has the second seat of each battle: opponents, made once each and kept, or an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bridge import InferenceQueue
from bridge.errors import ConfigError
from bridge.seeds import Seed
from bridge.settings import suggest

from .battle import Opponent, Rival
from .keys import battle_key, step_key
from .mixture import SELF, Mixture
from .opponents import OpponentKind, PolicyOpponent, QueuedPolicy

__all__ = ["Seating"]

# What has a name of its own in `info` is called by it, and anything else so.
_UNNAMED = "opponent"


class Seating:
    """Draws who has the second seat of a battle, and holds the opponents.

    One that is not a mixture has every battle.
    """

    def __init__(
        self, kind: OpponentKind | Mixture, make: Callable[[OpponentKind], Opponent]
    ) -> None:
        self._make = make
        self._made: dict[str, tuple[OpponentKind, Opponent]] = {}
        self._mixture: Mixture | None = None
        self._rivals: dict[str, Rival] = {}
        if isinstance(kind, Mixture):
            self._mixture = kind
            self._rivals = self._seat(kind)
        else:
            name = kind if isinstance(kind, str) else _UNNAMED
            self._rivals = {name: Rival(name, None if name == SELF else self._keep(name, kind))}

    def __repr__(self) -> str:
        return f"<Seating: {', '.join(self._rivals)}>"

    @property
    def seats(self) -> int:
        """Agents in an environment: with a mixture there is always one for the second seat."""
        return 2 if self._mixture is not None or SELF in self._rivals else 1

    @property
    def all_have_own_team(self) -> bool:
        """Whether whoever may have the second seat brings a team where none is given."""
        return all(_has_own_team(rival) for rival in self._rivals.values())

    def draw(self, seed: Seed, slot: int, number: int) -> Rival:
        """Who has the second seat of a battle, which its seed decides."""
        if self._mixture is None:
            (rival,) = self._rivals.values()
            return rival
        # Both seats have keys of their own; this one is of neither.
        return self._rivals[self._mixture.draw(step_key(battle_key(seed, slot, number, 2), 0))]

    def update(self, mixture: Mixture, *, is_own_team_wanted: bool) -> None:
        """Draws by another mixture from now on, unless that raises ConfigError."""
        if self._mixture is None:
            raise ConfigError("the opponent is no mixture: make the environment with a Mixture")
        rivals = self._seat(mixture)
        if is_own_team_wanted:
            for name, rival in rivals.items():
                if not _has_own_team(rival):
                    raise ConfigError(f"{name!r} brings no team: give teams for p2 as teams=…")
        self._mixture, self._rivals = mixture, rivals

    def update_policy(self, policy: object, name: str | None) -> None:
        """Replaces the policy of an opponent; of a mixture it is named."""
        if not self._made:
            raise ConfigError("the second seat has an agent: there is no opponent")
        if name is None and self._mixture is not None:
            raise ConfigError(
                f"which of the mixture gets another policy? Name it: {', '.join(self._made)}"
            )
        if name is not None and name not in self._made:
            raise ConfigError(f"no opponent is called {name!r}; {suggest(name, self._made)}")
        _, opponent = self._made[name or next(iter(self._made))]
        opponent.update(policy)

    @property
    def queue(self) -> InferenceQueue | None:
        """The queue of the opponents' policies, if there is one and no other.

        A queue that was handed in comes before those of policies that have one to themselves.
        """
        shared: set[InferenceQueue] = set()
        own: set[InferenceQueue] = set()
        for kind, opponent in self._made.values():
            if isinstance(opponent, PolicyOpponent):
                (shared if isinstance(kind, QueuedPolicy) else own).add(opponent.queue)
        queues = shared or own
        return queues.pop() if len(queues) == 1 else None

    async def close(self) -> None:
        """Gives back what the opponents hold."""
        await asyncio.gather(*(opponent.close() for _, opponent in self._made.values()))

    # Inside

    def _seat(self, mixture: Mixture) -> dict[str, Rival]:
        rivals = {}
        for name in mixture.weights:
            is_agent = mixture.is_agent(name)
            kind = mixture.opponents.get(name, name)
            rivals[name] = Rival(name, None if is_agent else self._keep(name, kind))
        return rivals

    def _keep(self, name: str, kind: OpponentKind) -> Opponent:
        """The opponent of a name, made when it is first heard of."""
        if name not in self._made:
            self._made[name] = kind, self._make(kind)
        known, opponent = self._made[name]
        is_same = known is kind or (isinstance(kind, str | QueuedPolicy) and known == kind)
        if not is_same:
            raise ConfigError(
                f"{name!r} stands for {known!r} already: take another name, or replace its policy "
                "by update_opponent"
            )
        return opponent


def _has_own_team(rival: Rival) -> bool:
    return rival.opponent is not None and rival.opponent.has_own_team
