"""What is taken where nobody says otherwise. Imports nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["BATTLES", "FORMAT", "PARALLEL"]

BATTLES: Final = 200
"""How many each pair plays: enough to know a win rate to some seven percent."""
FORMAT: Final = "gen9randombattle"
PARALLEL: Final = 64
"""How many battles are under way at a time."""
