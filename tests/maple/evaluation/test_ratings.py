"""Ratings: by hand where that is possible, against simulated strengths where it is not."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from maple.evaluation.ratings import Rating, rate
from maple.evaluation.results import Outcome, Played, Result, count


def by_name(results: list[Result], battles: list[Played] | None = None) -> dict[str, Rating]:
    return {rating.name: rating for rating in rate(results, battles or ())}


def battle(agent: str, opponent: str, number: int, outcome: Outcome) -> Played:
    """Two after one another have the same seed."""
    seed = f"1,2,3,{number // 2}"
    return Played(agent, opponent, number, "p1", outcome, 20, outcome, seed)


def rated(battles: list[Played]) -> dict[str, Rating]:
    """The ratings, with errors as these battles have them."""
    pairs = dict.fromkeys((one.agent, one.opponent) for one in battles)
    results = [
        count(*pair, (one for one in battles if (one.agent, one.opponent) == pair))
        for pair in pairs
    ]
    return by_name(results, battles)


def elo(rating: Rating) -> float:
    assert rating.elo is not None
    return rating.elo


def error(rating: Rating) -> float:
    assert rating.error is not None
    return rating.error


def test_the_ratings_of_two_follow_from_their_odds() -> None:
    found = by_name([Result("agent", "random", wins=150, losses=49)])
    # With one more tie it is 150.5 to 49.5.
    assert elo(found["agent"]) == pytest.approx(1000 + 400 * math.log10(150.5 / 49.5))
    share = 150.5 / 200
    expected = 400 / math.log(10) / math.sqrt(200 * share * (1 - share))
    assert error(found["agent"]) == pytest.approx(expected)
    assert (elo(found["random"]), error(found["random"])) == (1000, 0)
    assert found["agent"].reach == pytest.approx(1.96 * expected, rel=1e-4)
    assert found["agent"].battles == 199


def test_a_tie_is_half_a_win_of_each() -> None:
    tied = by_name([Result("agent", "random", wins=10, losses=30, ties=40)])
    won = by_name([Result("agent", "random", wins=30, losses=50)])
    assert elo(tied["agent"]) == pytest.approx(elo(won["agent"]))


def test_who_tells_of_a_result_makes_no_difference() -> None:
    results = [
        Result("a", "random", wins=30, losses=10),
        Result("a", "b", wins=12, losses=28),
        Result("b", "random", wins=35, losses=5),
    ]
    told = by_name(results)
    retold = by_name([one.reversed() for one in reversed(results)])
    for name, rating in told.items():
        assert elo(rating) == pytest.approx(elo(retold[name]), abs=1e-6)
        assert error(rating) == pytest.approx(error(retold[name]), abs=1e-6)


def test_without_random_the_mean_is_fixed() -> None:
    found = rate([Result("a", "b", wins=30, losses=10), Result("b", "c", wins=30, losses=10)])
    assert [rating.name for rating in found] == ["a", "b", "c"]
    assert sum(map(elo, found)) == pytest.approx(3000)
    assert min(map(error, found)) > 0


def test_who_won_all_battles_is_strong_and_not_infinitely_so() -> None:
    for battles in (1, 200, 100_000):
        found = by_name([Result("agent", "random", wins=battles)])
        assert elo(found["agent"]) == pytest.approx(1000 + 400 * math.log10(2 * battles + 1))
        assert error(found["agent"]) > 100


def test_whom_no_battles_connect_has_no_rating() -> None:
    found = by_name(
        [
            Result("agent", "random", wins=3, losses=1),
            Result("x", "y", wins=3, losses=1),
            Result("nobody", "random"),
        ]
    )
    assert found["x"] == Rating("x", None, None, 4)
    assert found["x"].reach is None
    assert elo(found["agent"]) > 1000
    assert "nobody" not in found
    assert rate([]) == []


def test_errors_are_as_large_as_ratings_are_wrong() -> None:
    true = {"random": 1000, "max": 1300, "a": 1500, "b": 1550, "c": 1800}
    generator = np.random.default_rng(1)
    misses = []
    for _ in range(100):
        results = []
        for one, two in itertools.combinations(true, 2):
            chance = 1 / (1 + 10 ** ((true[two] - true[one]) / 400))
            wins = int(generator.binomial(200, chance))
            results.append(Result(one, two, wins=wins, losses=200 - wins))
        found = by_name(results)
        misses += [
            (elo(found[name]) - strength) / error(found[name])
            for name, strength in true.items()
            if name != "random"
        ]
    assert np.std(misses) == pytest.approx(1, abs=0.15)
    assert np.mean(np.abs(misses) < 1.96) == pytest.approx(0.95, abs=0.03)


def test_battles_that_go_the_same_way_count_as_one() -> None:
    outcomes: list[Outcome] = ["win", "win", "win", "loss"] * 50
    alike = rated([battle("agent", "random", n, outcomes[n // 2]) for n in range(400)])
    alone = by_name([Result("agent", "random", wins=300, losses=100)])
    assert elo(alike["agent"]) == elo(alone["agent"])
    assert error(alike["agent"]) == pytest.approx(math.sqrt(2) * error(alone["agent"]), rel=0.01)


@pytest.mark.parametrize("battles", [1, 2, 3, 200])
def test_errors_are_never_smaller_than_of_independent_battles(battles: int) -> None:
    """Of few there is little to see, and those of who won all of them are all the same."""
    played = [battle("agent", "random", number, "win") for number in range(battles)]
    alone = by_name([Result("agent", "random", wins=battles)])
    assert error(rated(played)["agent"]) >= error(alone["agent"])


def test_errors_are_as_large_as_ratings_are_wrong_where_battles_are_alike() -> None:
    """What decides a battle is mostly its seed: teams, say, that suit whoever plays with them."""
    true = {"random": 1000, "a": 1250, "b": 1300, "c": 1350}
    generator = np.random.default_rng(1)
    misses = []
    for _ in range(100):
        luck = generator.normal(size=50)
        played = []
        for one, two in itertools.combinations(reversed(true), 2):
            chance = 1 / (1 + 10 ** ((true[two] - true[one]) / 400))
            own = generator.normal(size=100)
            drawn = math.sqrt(0.7) * np.repeat(luck, 2) + math.sqrt(0.3) * own
            won = drawn < NormalDist().inv_cdf(chance)
            played += [battle(one, two, n, "win" if won[n] else "loss") for n in range(100)]
        found = rated(played)
        misses += [
            (elo(found[name]) - strength) / error(found[name])
            for name, strength in true.items()
            if name != "random"
        ]
    assert np.mean(np.abs(misses) < 1.96) == pytest.approx(0.95, abs=0.03)


def test_a_ladder_over_thousands_of_points_is_climbed() -> None:
    steps = [f"step {number}" for number in range(20)]
    found = by_name(
        [Result(high, low, wins=190, losses=10) for low, high in itertools.pairwise(steps)]
    )
    gaps = [elo(found[high]) - elo(found[low]) for low, high in itertools.pairwise(steps)]
    assert gaps == pytest.approx([400 * math.log10(190.5 / 10.5)] * 19)
