"""Which team a seat brings to a battle, where the format wants one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bridge import ControllerRegistry
from bridge.errors import BattleRejected, ConfigError
from bridge.formats import FormatFacts
from bridge.seeds import Seed

from .keys import battle_key, step_key
from .weights import Weights

__all__ = ["TeamPool", "Teams", "TeamsArgument"]


@dataclass(frozen=True, slots=True)
class TeamPool:
    """Teams of which each battle draws one.

    >>> TeamPool([rain, sun, trick_room], weights=[2, 2, 1], names=["rain", "sun", "trick room"])

    Args:
        teams: Packed, or as export text.
        weights: How likely each is: more than 0, and of any sum. Without them all are alike.
        names: What they are called where one is refused; by default by their numbers.
    """

    teams: Sequence[str]
    weights: Sequence[float] | None = None
    names: Sequence[str] | None = None
    _drawn: Weights | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.teams, str):
            raise ConfigError("a pool has several teams: give a list, even of one")
        if not self.teams:
            raise ConfigError("a pool of no teams: there is nothing to draw from")
        count = len(self.teams)
        for what, given in (("weights", self.weights), ("names", self.names)):
            if given is not None and len(given) != count:
                raise ConfigError(f"{len(given)} {what} for {count} teams: give one for each")
        names = [self.name(index) for index in range(count)]
        drawn = None if self.weights is None else Weights(names, self.weights)
        object.__setattr__(self, "_drawn", drawn)

    def name(self, index: int) -> str:
        return f"team {index + 1}" if self.names is None else self.names[index]

    def draw(self, key: int) -> int:
        """The team that a key of 64 bits decides on."""
        return key % len(self.teams) if self._drawn is None else self._drawn.draw(key)


TeamsOfSeat: TypeAlias = str | Sequence[str] | TeamPool
TeamsArgument: TypeAlias = TeamsOfSeat | Mapping[str, TeamsOfSeat] | None
"""A team, packed or as export text; several to draw from; or either of these for "p1" and "p2"."""


class Teams:
    """The teams of both seats; of several each battle draws one, which its seed decides."""

    def __init__(self, first: TeamPool | None, second: TeamPool | None, *, needed: bool) -> None:
        self._pools = (first, second)
        self.are_wanted_of_p2 = needed and second is None
        """Whether whoever has the second seat must bring one."""

    def __repr__(self) -> str:
        first, second = (0 if pool is None else len(pool.teams) for pool in self._pools)
        return f"<Teams: {first} for p1, {second} for p2>"

    def __call__(self, seed: Seed, environment: int, battle: int, seat: int) -> str | None:
        pool = self._pools[seat]
        if pool is None:
            return None
        if len(pool.teams) == 1:
            return pool.teams[0]
        # The first step of its key: decisions are numbered from 1 on.
        return pool.teams[pool.draw(step_key(battle_key(seed, environment, battle, seat), 0))]

    @classmethod
    async def read(
        cls,
        argument: TeamsArgument,
        registry: ControllerRegistry,
        facts: FormatFacts,
        *,
        opponent_has_own: bool,
    ) -> Teams:
        """Packs and validates every team once; raises BattleRejected for one that is not legal."""
        given = argument if isinstance(argument, Mapping) else {"p1": argument, "p2": argument}
        if unknown := given.keys() - {"p1", "p2"}:
            raise ConfigError(f"teams are for p1 and p2, not for {', '.join(sorted(unknown))}")
        if not facts.needs_team and any(given.values()):
            raise ConfigError(
                f"{facts.id} draws teams of its own, and would ignore those of teams=…"
            )
        pools: list[TeamPool | None] = []
        for seat in ("p1", "p2"):
            pool = _pool(given.get(seat), seat)
            is_own = seat == "p2" and opponent_has_own
            if facts.needs_team and pool is None and not is_own:
                raise ConfigError(f"{facts.id} wants teams: give them as teams=…")
            pools.append(None if pool is None else await _pack(pool, registry, facts.id))
        return cls(*pools, needed=facts.needs_team)


def _pool(given: TeamsOfSeat | None, seat: str) -> TeamPool | None:
    if isinstance(given, TeamPool):
        return given
    if given is None or given == "":
        return None
    teams = [given] if isinstance(given, str) else list(given)
    if not teams:
        raise ConfigError(f"there is no team for {seat} to draw from")
    return TeamPool(teams)


async def _pack(pool: TeamPool, registry: ControllerRegistry, format: str) -> TeamPool:
    """The pool with its teams as packed; raises BattleRejected, which names the team."""
    packed = []
    for index, team in enumerate(pool.teams):
        try:
            legal = await registry.validate_team(format, team)
        except BattleRejected as error:
            if len(pool.teams) == 1 and pool.names is None:
                raise
            raise BattleRejected(
                f"{pool.name(index)}: {error.message}", problems=error.problems
            ) from error
        assert legal is not None, "only formats that draw teams have none to validate"
        packed.append(legal)
    return TeamPool(packed, pool.weights, pool.names)
