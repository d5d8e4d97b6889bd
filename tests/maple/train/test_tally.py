"""How battles ended, opponent by opponent: all of them, and the latest by themselves."""

from __future__ import annotations

import json

import pytest

from maple.evaluation.intervals import wilson
from maple.train.orders import Ended
from maple.train.tally import Score, Tally


def score_of(*scores: float, window: int = 4) -> Score:
    score = Score(window)
    for one in scores:
        score.add(one)
    return score


def test_a_rate_is_that_of_the_latest_battles() -> None:
    score = score_of(1, 1, 1, 0, 0, 0)
    assert score.rate == 0.25


def test_a_tie_is_half_a_win() -> None:
    assert score_of(0.5, 1, 0.5).rate == pytest.approx(2 / 3)


def test_a_rate_means_something_after_as_many_battles_as_the_window_has() -> None:
    assert not score_of(1, 1, 1).is_full
    assert score_of(1, 1, 1, 0).is_full
    assert score_of(1, 1, 1, 0, 0).is_full


def test_an_interval_is_that_of_the_latest_battles() -> None:
    assert score_of(0, 0, 1, 0.5, 1, 1).interval == wilson(3.5, 4)


def test_each_opponent_has_a_score_of_its_own() -> None:
    tally = Tally(10)
    tally.add([Ended("random", 1, 20), Ended("max", 0, 30)])
    tally.add([Ended("random", 1, 40)])
    assert {name: score.rate for name, score in tally.scores.items()} == {"random": 1, "max": 0}
    assert tally.battles == 3


def test_battles_that_were_cut_short_are_counted_and_say_nothing_else() -> None:
    tally = Tally(10)
    tally.add([Ended("random", None, 1000), Ended("max", 1, 30), Ended("max", None, 1000)])
    assert tally.cut_short == 2
    assert tally.battles == 1
    assert tally.scores.keys() == {"max"}


def test_only_who_was_met_is_rated() -> None:
    tally = Tally(10)
    tally.add([Ended("random", 1, 20), Ended("self", 0, 30)])
    assert tally.rated(["max", "random"]) == {"random": tally.scores["random"]}


def test_who_is_met_no_more_is_forgotten_but_the_battles_count() -> None:
    tally = Tally(10)
    tally.add([Ended("past-1", 1, 20), Ended("max", 0, 30), Ended("past-2", None, 40)])
    tally.forget_all_but({"max", "random"})
    assert tally.scores.keys() == {"max"}
    assert (tally.battles, tally.cut_short) == (2, 1)


def test_a_tally_goes_on_from_its_state() -> None:
    ended = [Ended(name, score, 25) for score in (1, 0.5, None, 0, 1) for name in ("max", "random")]
    whole, first, second = Tally(4), Tally(4), Tally(4)
    whole.add(ended)
    first.add(ended[:6])
    second.restore(json.loads(json.dumps(first.state())))
    second.add(ended[6:])
    assert second.state() == whole.state()
    assert second.scores == whole.scores
    assert list(second.scores["max"].latest) == [1, 0.5, 0, 1]


def test_a_run_that_goes_on_with_a_shorter_window_soon_has_a_rate_of_that() -> None:
    before, after = Tally(4), Tally(2)
    before.add([Ended("max", 0, 25)] * 4)
    after.restore(before.state())
    after.add([Ended("max", 1, 25)] * 2)
    assert after.scores["max"].rate == 1
