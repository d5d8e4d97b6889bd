"""What is told of two series of laps, and how often that is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from maple.profiling.noise import Verdict, Wanted, judge, judge_quotients

UNDECIDED = {Verdict.NOISE, Verdict.TOO_FEW}


def series(
    laps: int, random: np.random.Generator, *, alike: float = 0.0, noise: float = 0.3
) -> list[float]:
    """Laps that take a second more or less, each of which resembles the one before so much."""
    steps = random.standard_normal(laps + 50) * math.sqrt(1 - alike**2)
    value, found = 0.0, []
    for step in steps.tolist():
        value = alike * value + step
        found.append(math.exp(noise * value))
    return found[50:]


def verdicts_of_the_same_thing(laps: int, alike: float, pairs: int = 300) -> Counter[Verdict]:
    random = np.random.default_rng(laps)
    return Counter(
        judge(series(laps, random, alike=alike), series(laps, random, alike=alike))[2]
        for _ in range(pairs)
    )


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("laps", [10, 20, 60, 128])
def test_the_same_thing_twice_is_called_different_once_in_twenty_times_at_most(
    laps: int, alike: float
) -> None:
    found = verdicts_of_the_same_thing(laps, alike)
    # Of three hundred, fifteen are 5 %, and chance may add as many again as it does here.
    assert sum(found.values()) - found[Verdict.NOISE] - found[Verdict.TOO_FEW] <= 21


def test_laps_that_are_independent_are_enough_and_those_that_are_alike_are_few() -> None:
    assert verdicts_of_the_same_thing(20, 0.0)[Verdict.TOO_FEW] <= 9
    assert verdicts_of_the_same_thing(20, 0.8)[Verdict.TOO_FEW] >= 200
    assert verdicts_of_the_same_thing(128, 0.8)[Verdict.TOO_FEW] <= 30


@pytest.mark.parametrize(("laps", "least"), [(10, 75), (20, 98), (60, 100)])
def test_a_fifth_more_is_told_through_little_noise(laps: int, least: int) -> None:
    random = np.random.default_rng(1)
    found = [
        judge(
            series(laps, random, noise=0.03),
            [1.2 * lap for lap in series(laps, random, noise=0.03)],
        )[2]
        for _ in range(100)
    ]
    assert found.count(Verdict.WORSE) >= least
    assert set(found) <= {Verdict.WORSE, *UNDECIDED}


def test_a_series_that_goes_its_way_is_worth_few_laps_however_many_there_are() -> None:
    rising = [1 + lap / 100 for lap in range(100)]
    assert judge(rising, rising[::-1])[2] is Verdict.TOO_FEW


def test_a_large_difference_inside_of_larger_noise_is_not_believed() -> None:
    first = [1.0, 1.0, 9.0, 9.0, 1.0, 9.0]
    second = [1.3, 1.3, 9.3, 9.3, 1.3, 9.3]
    assert judge(first, second)[2] in UNDECIDED


def test_a_difference_that_is_certain_but_smaller_than_drift_is_noise() -> None:
    assert judge([1.0] * 10, [1.04] * 10)[2] is Verdict.NOISE
    assert judge([1.0] * 10, [1.06] * 10)[2] is Verdict.WORSE
    assert judge([1.0] * 10, [0.94] * 10)[2] is Verdict.BETTER


def test_what_is_better_depends_on_what_is_wanted() -> None:
    def all_of_them(wanted: Wanted) -> Iterator[Verdict]:
        for second in (0.5, 1.0, 2.0):
            yield judge([1.0] * 10, [second] * 10, wanted=wanted)[2]

    less, more, neither = (
        list(all_of_them(wanted)) for wanted in (Wanted.LESS, Wanted.MORE, Wanted.NEITHER)
    )
    assert less == [Verdict.BETTER, Verdict.NOISE, Verdict.WORSE]
    assert more == [Verdict.WORSE, Verdict.NOISE, Verdict.BETTER]
    assert neither == [Verdict.LOWER, Verdict.NOISE, Verdict.HIGHER]


def test_the_interval_holds_the_ratio_of_the_medians() -> None:
    random = np.random.default_rng(3)
    for alike in (0.0, 0.5):
        first, second = (series(60, random, alike=alike, noise=0.1) for _ in range(2))
        ratio, interval, _ = judge(first, second)
        assert ratio == pytest.approx(np.median(second) / np.median(first))
        assert interval is not None
        assert ratio is not None
        assert 0.8 < interval[0] < ratio < interval[1] < 1.25


@pytest.mark.parametrize("alike", [0.0, 0.8])
@pytest.mark.parametrize("laps", [20, 60])
def test_battles_of_the_same_thing_are_as_seldom_called_faster(laps: int, alike: float) -> None:
    random = np.random.default_rng(laps)

    def battles() -> list[tuple[float, float]]:
        """Two or so in each lap, of which some are longer."""
        times = series(laps, random, alike=alike)
        return [(int(random.poisson(2 / time)), time) for time in times]

    found = Counter(judge_quotients(battles(), battles())[2] for _ in range(300))
    assert found[Verdict.BETTER] + found[Verdict.WORSE] <= 21


def test_many_more_battles_are_told_and_a_handful_is_too_few() -> None:
    random = np.random.default_rng(2)
    slow, fast = ([(float(random.poisson(battles)), 1.0) for _ in range(40)] for battles in (2, 4))
    ratio, interval, verdict = judge_quotients(slow, fast, wanted=Wanted.MORE)
    assert verdict is Verdict.BETTER
    assert ratio == pytest.approx(sum(n for n, _ in fast) / sum(n for n, _ in slow))
    assert interval is not None
    assert ratio is not None
    assert 1 < interval[0] < ratio < interval[1] < 3
    rare = [(float(lap % 10 == 0), 1.0) for lap in range(40)]
    assert judge_quotients(rare, fast) == (None, None, Verdict.TOO_FEW)
    assert judge_quotients([], fast) == (None, None, Verdict.TOO_FEW)


def test_values_below_zero_have_a_verdict_and_no_ratio() -> None:
    random = np.random.default_rng(4)
    first, second = random.normal(-1, 0.1, 30), random.normal(1, 0.1, 30)
    assert judge(first.tolist(), second.tolist(), wanted=Wanted.NEITHER) == (
        None,
        None,
        Verdict.HIGHER,
    )
    assert judge([0.0] * 9, [0.0] * 9, wanted=Wanted.NEITHER)[2] is Verdict.NOISE
