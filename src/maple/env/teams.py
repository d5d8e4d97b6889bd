"""Which team a seat brings to a battle, where the format wants one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from bridge import ControllerRegistry
from bridge.errors import ConfigError
from bridge.formats import FormatFacts
from bridge.seeds import Seed

from .keys import battle_key, step_key

__all__ = ["Teams", "TeamsArgument"]

TeamsArgument: TypeAlias = str | Sequence[str] | Mapping[str, str | Sequence[str]] | None
"""A team, packed or as export text; several to draw from; or either of these for "p1" and "p2"."""


class Teams:
    """The teams of both seats; of several each battle draws one, which its seed decides."""

    def __init__(
        self, first: Sequence[str | None], second: Sequence[str | None], *, needed: bool
    ) -> None:
        self._teams = (first, second)
        self.are_wanted_of_p2 = needed and None in second
        """Whether whoever has the second seat must bring one."""

    def __repr__(self) -> str:
        return f"<Teams: {len(self._teams[0])} for p1, {len(self._teams[1])} for p2>"

    def __call__(self, seed: Seed, environment: int, battle: int, seat: int) -> str | None:
        teams = self._teams[seat]
        if len(teams) == 1:
            return teams[0]
        # The first step of its key: decisions are numbered from 1 on.
        return teams[step_key(battle_key(seed, environment, battle, seat), 0) % len(teams)]

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
        seats: list[list[str | None]] = []
        for seat in ("p1", "p2"):
            teams = given.get(seat)
            names: list[str | None] = [teams] if isinstance(teams, str | None) else list(teams)
            if not names:
                raise ConfigError(f"there is no team for {seat} to draw from")
            is_own = seat == "p2" and opponent_has_own
            if facts.needs_team and None in names and not is_own:
                raise ConfigError(f"{facts.id} wants teams: give them as teams=…")
            seats.append(
                [
                    None if team is None else await registry.validate_team(facts.id, team)
                    for team in names
                ]
            )
        return cls(*seats, needed=facts.needs_team)
