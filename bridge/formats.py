"""What a format is, as the simulator describes it to whoever runs battles."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FormatFacts"]


@dataclass(frozen=True, slots=True)
class FormatFacts:
    """What one has to know of a format to run battles of it."""

    id: str
    """As the simulator writes it, custom rules included."""
    name: str
    game_type: str
    needs_team: bool
    best_of: int | None
    """The number of games in a series, where the rules want one."""
    is_ladder: bool
    """Whether opponents are sought for it."""
    rated: bool
    offers_team_sheets: bool
    """Whether players are asked if they want to show their teams."""
    has_team_preview: bool
    timer: dict[str, float | bool]
    """What the rules set of the timer, by the names of the simulator's server; in seconds."""
