"""Reports for tests of what is shown, of battles that nobody has played."""

from __future__ import annotations

import itertools

from bridge.journal import SideId
from maple.evaluation.report import Ending, Report
from maple.evaluation.results import Outcome, Played

__all__ = ["make_report"]

NAMES = ("first", "second/update-000120", "random", "max")


def make_report(
    names: tuple[str, ...] = NAMES,
    *,
    battles: int = 20,
    wins: int = 15,
    ties: int = 0,
    failed: int = 0,
    contestants: int | None = None,
    ending: Ending = "finished",
    wanted: int | None = None,
) -> Report:
    """Everybody has won so many battles against all who are named after them.

    With `contestants` only so many of them are agents, and the others do not play each other.
    """
    pairs = tuple(
        (one, two)
        for one, two in itertools.combinations(names, 2)
        if contestants is None or names.index(one) < contestants
    )
    played = []
    for agent, opponent in pairs:
        for number in range(battles):
            outcome: Outcome = "win" if number < wins else "loss"
            if number >= battles - ties:
                outcome = "tie"
            if number < failed:
                outcome = "failed"
            is_over = outcome != "failed"
            reason = "win" if is_over else "BattlePoisoned: the battle failed 2 times"
            seat: SideId = "p2" if number % 2 else "p1"
            turns = 30 if is_over else 0
            played.append(Played(agent, opponent, number, seat, outcome, turns, reason, "1,2,3,4"))
    return Report(
        format="gen9randombattle",
        seed=7,
        wanted=battles if wanted is None else wanted,
        choosing="sample",
        pairs=pairs,
        players=names,
        played=tuple(played),
        seconds=63.2,
        ending=ending,
    )
