"""How strong players are on one scale: Elo ratings by maximum likelihood, and how sure they are.

Bradley and Terry's model: who is 400 points above another wins ten times as often as it loses. A
tie is half a win and half a loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from .intervals import NORMAL_95
from .results import Played, Result

__all__ = ["ANCHOR", "ANCHOR_RATING", "Rating", "rate"]

ANCHOR: Final = "random"
"""Whose rating is given, where it plays."""
ANCHOR_RATING: Final = 1000.0
"""Its rating, or else the mean of all."""

_POINTS: Final = 400 / math.log(10)
"""Of Elo, in a unit of the logarithm of the odds."""
_PRIOR: Final = 1.0
"""Ties that each two who met are taken to have had beside their battles."""
_FEWEST_SEEDS: Final = 2
_STEPS: Final = 100
_SMALL: Final = 1e-9
# No step goes further: far away from the maximum the curvature promises too much.
_LONGEST: Final = 2.0

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rating:
    """Of one player.

    Args:
        name: Whose it is.
        elo: None if no battles connect it with whom the scale is fixed by.
        error: The standard error; 0 for whom the scale is fixed by.
        battles: How many it rests on.
    """

    name: str
    elo: float | None
    error: float | None
    battles: int

    @property
    def reach(self) -> float | None:
        """How far the true rating is away at the most, at 95 %."""
        return None if self.error is None else NORMAL_95 * self.error


def rate(results: Iterable[Result], battles: Iterable[Played] = ()) -> list[Rating]:
    """The ratings of all who played, the strongest first.

    The likelihood has one more tie between each two who met, so that who won all battles is not
    infinitely strong. "random" has 1000 points; where it does not play, those who are connected by
    battles with the first player have 1000 on average. Standard errors are of the difference to
    that.

    Args:
        results: How each pair did.
        battles: The same, one by one. Those of the same seed may go the same way, whoever plays,
            and errors are then larger. Without them they are as if all battles were independent.
    """
    met = [result for result in results if result.battles]
    names = list(dict.fromkeys(name for one in met for name in (one.agent, one.opponent)))
    if not names:
        return []
    points, meetings = _sums(names, met)
    together = _connected(meetings, names.index(ANCHOR) if ANCHOR in names else 0)
    square = np.ix_(together, together)
    strengths, information = _fit(points[square], meetings[square])
    rated = [names[index] for index in together]
    slopes = _slopes(rated, strengths, battles)
    anchor = rated.index(ANCHOR) if ANCHOR in rated else None
    elo, error = _scale(strengths, _covariances(information, slopes), anchor)
    played = [
        sum(one.battles for one in met if name in (one.agent, one.opponent)) for name in names
    ]
    ratings = [
        Rating(names[index], float(elo[place]), float(error[place]), played[index])
        for place, index in enumerate(together)
    ]
    ratings.sort(key=lambda rating: -(rating.elo or 0.0))
    apart = [index for index in range(len(names)) if index not in together]
    return ratings + [Rating(names[index], None, None, played[index]) for index in apart]


def _sums(names: Sequence[str], results: Sequence[Result]) -> tuple[Floats, Floats]:
    """Points of each against each, and battles of each two; the prior is in both."""
    points = np.zeros((len(names), len(names)))
    for result in results:
        one, two = names.index(result.agent), names.index(result.opponent)
        points[one, two] += result.points
        points[two, one] += result.battles - result.points
    have_met = points + points.T > 0
    points[have_met] += _PRIOR / 2
    return points, points + points.T


def _connected(battles: Floats, start: int) -> list[int]:
    """Whom battles connect with one of them, that one included."""
    found, new = {start}, [start]
    while new:
        neighbours = set(np.flatnonzero(battles[new.pop()]).tolist())
        new += neighbours - found
        found |= neighbours
    return sorted(found)


def _fit(points: Floats, battles: Floats) -> tuple[Floats, Floats]:
    """The strengths that are likeliest, in logarithms of odds, and the information about them.

    Both are up to a constant that is the same for all: their mean is 0.
    """
    strengths = np.zeros(len(points))
    information = np.zeros_like(points)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        slope = (points - battles * chances).sum(axis=1)
        information = -battles * chances * chances.T
        np.fill_diagonal(information, -information.sum(axis=1) + np.diag(information))
        step = np.linalg.pinv(information, hermitian=True) @ slope
        step *= min(1.0, _LONGEST / max(_SMALL, float(np.abs(step).max())))
        strengths = strengths + step
        if np.abs(step).max() < _SMALL:
            break
    return strengths - strengths.mean(), information


def _slopes(names: Sequence[str], strengths: Floats, battles: Iterable[Played]) -> Floats:
    """Those of the likelihood at its maximum: a row for all battles of the same seed together."""
    index = {name: place for place, name in enumerate(names)}
    counted = [one for one in battles if one.points is not None and one.agent in index]
    rows = {seed: row for row, seed in enumerate(dict.fromkeys(one.seed for one in counted))}
    slopes = np.zeros((len(rows), len(names)))
    if not counted:
        return slopes
    row = np.array([rows[one.seed] for one in counted])
    agent = np.array([index[one.agent] for one in counted])
    opponent = np.array([index[one.opponent] for one in counted])
    points = np.array([one.points for one in counted], np.float64)
    surplus = points - 1 / (1 + np.exp(strengths[opponent] - strengths[agent]))
    np.add.at(slopes, (row, agent), surplus)
    np.add.at(slopes, (row, opponent), -surplus)
    return slopes


def _covariances(information: Floats, slopes: Floats) -> list[Floats]:
    """Of the strengths: as if all battles were independent, and as their seeds make them alike.

    The second one, the sandwich that is robust to clusters, is nothing with less than two seeds,
    and too small with few.
    """
    inverse = np.asarray(np.linalg.pinv(information, hermitian=True), np.float64)
    seeds = len(slopes)
    if seeds < _FEWEST_SEEDS:
        return [inverse]
    return [inverse, seeds / (seeds - 1) * inverse @ (slopes.T @ slopes) @ inverse]


def _scale(
    strengths: Floats, covariances: Sequence[Floats], anchor: int | None
) -> tuple[Floats, Floats]:
    """Elo and standard errors, both relative to the anchor, or else to the mean of all.

    The larger errors count: where all of somebody's battles were won, how alike they are cannot be
    seen in them.
    """
    shifted = strengths if anchor is None else strengths - strengths[anchor]
    variances = np.max([_variances(one, anchor) for one in covariances], axis=0)
    errors: Floats = np.sqrt(np.maximum(variances, 0))
    return ANCHOR_RATING + _POINTS * shifted, _POINTS * errors


def _variances(covariance: Floats, anchor: int | None) -> Floats:
    own: Floats = np.diag(covariance)
    return own if anchor is None else own + own[anchor] - 2 * covariance[anchor]
