"""Wilson's interval: against published values, at its ends, and by how often it holds the truth."""

from __future__ import annotations

import math

import pytest

from maple.evaluation.intervals import wilson


@pytest.mark.parametrize(
    ("wins", "battles", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion (1998), table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_it_is_what_newcombe_publishes(wins: int, battles: int, low: float, high: float) -> None:
    assert wilson(wins, battles) == pytest.approx((low, high), abs=5e-5)


def test_it_is_the_same_seen_from_the_other_side() -> None:
    for wins in (0, 1, 7.5, 20):
        low, high = wilson(wins, 20)
        assert wilson(20 - wins, 20) == pytest.approx((1 - high, 1 - low))


def test_its_ends_are_exact_where_all_or_none_were_won() -> None:
    assert wilson(0, 3)[0] == 0.0
    assert wilson(3, 3)[1] == 1.0
    assert wilson(3, 3)[0] < 0.5


def test_of_no_battles_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_truth_is_in_about_95_of_100() -> None:
    for battles, share in ((200, 0.5), (200, 0.9), (50, 0.3)):
        held = sum(
            math.comb(battles, wins) * share**wins * (1 - share) ** (battles - wins)
            for wins in range(battles + 1)
            if wilson(wins, battles)[0] <= share <= wilson(wins, battles)[1]
        )
        assert held == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("wins", "battles"), [(3, 2), (-1, 2), (0, -1), (math.nan, 2)])
def test_what_cannot_be_is_refused(wins: float, battles: int) -> None:
    with pytest.raises(ValueError, match="not possible"):
        wilson(wins, battles)
