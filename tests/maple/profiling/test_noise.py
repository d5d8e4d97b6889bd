"""What is told of two series of laps, and how often that is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from maple.profiling.noise import Verdict, Wanted, judge, judge_quotients

UNDECIDED = {Verdict.NOISE, Verdict.TOO_FEW, Verdict.UNSTEADY}


def series(
    laps: int,
    random: np.random.Generator,
    *,
    alike: float = 0.0,
    noise: float = 0.3,
    warm: bool = True,
) -> list[float]:
    """Laps that take a second more or less, each of which resembles the one before so much.

    What is not warm takes half a second more at first, and less of that from lap to lap.
    """
    steps = random.standard_normal(laps + 50) * math.sqrt(1 - alike**2)
    value, found = 0.0, []
    for step in steps.tolist():
        value = alike * value + step
        found.append(math.exp(noise * value))
    if warm:
        return found[50:]
    return [lap * (1 + math.exp(-number / 20) / 2) for number, lap in enumerate(found[50:])]


def verdicts_of_the_same_thing(
    laps: int, alike: float, *, warm: bool = True, paired: bool = False, times: int = 300
) -> Counter[Verdict]:
    random = np.random.default_rng(laps)
    found: Counter[Verdict] = Counter()
    for _ in range(times):
        one, other = (series(laps, random, alike=alike, warm=warm) for _ in range(2))
        pairs = list(zip(one, other, strict=True)) if paired else []
        found[judge(one, other, pairs=pairs)[2]] += 1
    return found


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("laps", [10, 20, 60, 128])
@pytest.mark.parametrize(("warm", "paired"), [(True, False), (True, True), (False, True)])
def test_the_same_thing_twice_is_called_different_once_in_twenty_times_at_most(
    laps: int, alike: float, warm: bool, paired: bool
) -> None:
    found = verdicts_of_the_same_thing(laps, alike, warm=warm, paired=paired)
    # Of three hundred, fifteen are 5 %, and chance may add as many again as it does here.
    assert sum(count for verdict, count in found.items() if verdict not in UNDECIDED) <= 21


def test_laps_that_are_independent_are_enough_and_those_that_are_alike_are_unsteady() -> None:
    assert verdicts_of_the_same_thing(20, 0.0)[Verdict.UNSTEADY] <= 9
    assert verdicts_of_the_same_thing(20, 0.8)[Verdict.UNSTEADY] >= 200
    assert verdicts_of_the_same_thing(128, 0.8)[Verdict.UNSTEADY] <= 30
    assert verdicts_of_the_same_thing(20, 0.8)[Verdict.TOO_FEW] == 0
    assert verdicts_of_the_same_thing(9, 0.8)[Verdict.TOO_FEW] >= 200


@pytest.mark.parametrize(("laps", "alike", "least"), [(20, 0.0, 65), (60, 0.5, 90), (128, 0.5, 90)])
def test_what_is_slower_is_told_while_both_warm_up(laps: int, alike: float, least: int) -> None:
    random = np.random.default_rng(5)
    apart, together = Counter[Verdict](), Counter[Verdict]()
    for _ in range(100):
        first, second = (series(laps, random, alike=alike, noise=0.1, warm=False) for _ in range(2))
        second = [1.59 * lap for lap in second]
        apart[judge(first, second)[2]] += 1
        ratio, _, verdict = judge(first, second, pairs=list(zip(first, second, strict=True)))
        together[verdict] += 1
        assert ratio is None or 1.3 < ratio < 1.9
    assert apart[Verdict.UNSTEADY] >= 70
    assert together[Verdict.WORSE] >= least
    assert set(together) <= {Verdict.WORSE, *UNDECIDED}


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
    assert judge(rising, rising[::-1])[2] is Verdict.UNSTEADY
    falling = list(zip(rising, rising[::-1], strict=True))
    assert judge(rising, rising[::-1], pairs=falling)[2] is Verdict.UNSTEADY


def test_a_large_difference_inside_of_larger_noise_is_not_believed() -> None:
    first = [1.0, 1.0, 9.0, 9.0, 1.0, 9.0]
    second = [1.3, 1.3, 9.3, 9.3, 1.3, 9.3]
    assert judge(first, second)[2] in UNDECIDED


def test_a_difference_that_is_certain_but_smaller_than_drift_is_noise() -> None:
    assert judge([1.0] * 10, [1.04] * 10)[2] is Verdict.NOISE
    assert judge([1.0] * 10, [1.06] * 10)[2] is Verdict.WORSE
    assert judge([1.0] * 10, [0.94] * 10)[2] is Verdict.BETTER


def test_a_difference_that_may_be_smaller_than_drift_is_noise() -> None:
    random = np.random.default_rng(6)
    first, second = (series(80, random, noise=0.1) for _ in range(2))
    ratio, interval, verdict = judge(first, [1.08 * lap for lap in second])
    assert ratio is not None
    assert interval is not None
    assert 1 < interval[0] < 1.05 < ratio
    assert verdict is Verdict.NOISE
    assert judge(first, [1.2 * lap for lap in second])[2] is Verdict.WORSE


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
@pytest.mark.parametrize("warm", [True, False])
def test_battles_of_the_same_thing_are_as_seldom_called_faster(
    laps: int, alike: float, warm: bool
) -> None:
    random = np.random.default_rng(laps)

    def battles() -> list[tuple[float, float]]:
        """Two or so in each lap, of which some are longer."""
        times = series(laps, random, alike=alike, warm=warm)
        return [(int(random.poisson(2 / time)), time) for time in times]

    found = Counter(judge_quotients(battles(), battles(), paired=not warm)[2] for _ in range(300))
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


def test_many_more_battles_are_told_while_both_warm_up() -> None:
    random = np.random.default_rng(7)
    slow, fast = (
        [(1000 / time / each, 1.0) for time in series(60, random, noise=0.05, warm=False)]
        for each in (1.5, 1.0)
    )
    assert judge_quotients(slow, fast, wanted=Wanted.MORE)[2] is Verdict.UNSTEADY
    ratio, _, verdict = judge_quotients(slow, fast, paired=True, wanted=Wanted.MORE)
    assert verdict is Verdict.BETTER
    assert ratio == pytest.approx(1.5, rel=0.05)


def test_values_below_zero_have_a_verdict_and_no_ratio() -> None:
    random = np.random.default_rng(4)
    first, second = random.normal(-1, 0.1, 30), random.normal(1, 0.1, 30)
    assert judge(first.tolist(), second.tolist(), wanted=Wanted.NEITHER) == (
        None,
        None,
        Verdict.HIGHER,
    )
    assert judge([0.0] * 9, [0.0] * 9, wanted=Wanted.NEITHER)[2] is Verdict.NOISE


def test_what_may_be_half_or_twice_as_much_is_not_called_the_same() -> None:
    random = np.random.default_rng(4)
    first, second = (np.exp(2.0 * random.standard_normal(12)).tolist() for _ in range(2))
    assert judge(first, second)[2] is Verdict.UNSTEADY
    assert judge(first[:9], second[:9])[2] is Verdict.TOO_FEW
