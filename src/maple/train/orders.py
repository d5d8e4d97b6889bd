"""What a collector is asked for, and what it tells of it: plain data that crosses processes."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Ended", "Order", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be collected, and how."""

    decisions: int
    version: int
    """Of the weights that the learner has, when it asks."""
    exploration: float
    mix: dict[str, float]
    """Who is met how often."""
    past: dict[str, str] = field(default_factory=dict)
    """The checkpoint of each name in the mix that stands for one."""
    rewards: dict[str, float] = field(default_factory=dict)
    """The weights of the parts of a reward."""
    begin: int | None = None
    """A seed to begin all battles anew with; None to go on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a battle ended for the first seat, which is always the learner's.

    `score` is 1 for a win, 0 for a loss, 0.5 for a tie, and None for one that was cut short.
    """

    opponent: str
    score: float | None
    turns: int


@dataclass(slots=True, kw_only=True)
class Report:
    """What was collected: counts, and how battles ended."""

    decisions: int = 0
    """Of the learner, those that were carried over from the rollout before not counted twice."""
    others: int = 0
    """Decisions of past selves."""
    version: int = 0
    """Of the weights that decided."""
    ended: list[Ended] = field(default_factory=list)
    returns: float = 0.0
    """The sum of the rewards of all seats of the learner whose battle ended; `seats` of them."""
    seats: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    """The same, part by part."""
    deaths: int = 0
    """Node processes that have died since the report before."""
