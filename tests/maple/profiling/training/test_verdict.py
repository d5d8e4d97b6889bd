"""What is an effect, and what is noise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from maple.profiling.training import Judgement, Verdict, compare
from maple.profiling.training import judge as judge_any
from maple.profiling.training.components import WHOLE
from maple.profiling.training.verdict import did_the_same
from tests.maple.profiling.training.examples import FIGURES, OFF, ON, batch, mode


def judge(ratios: Sequence[float]) -> Judgement:
    judgement = judge_any(ratios)
    assert judgement is not None
    return judgement


def test_five_batches_on_one_side_are_an_effect() -> None:
    found = judge([1.2, 1.1, 1.3, 1.15, 1.25])

    assert found.verdict is Verdict.FASTER
    assert (found.speed_up, found.lowest, found.highest) == (1.2, 1.1, 1.3)
    assert judge([0.9, 0.8, 0.85, 0.7, 0.95]).verdict is Verdict.SLOWER


def test_four_batches_are_too_few_to_tell_whatever_they_say() -> None:
    found = judge([2.0, 2.0, 2.0, 2.0])

    assert found.verdict is Verdict.TOO_FEW
    assert found.speed_up == 2.0


def test_what_goes_both_ways_is_noise_however_large() -> None:
    assert judge([1.5, 1.4, 0.9, 1.6, 1.3]).verdict is Verdict.NOISE


def test_of_what_may_be_half_or_twice_as_fast_nothing_was_found_out() -> None:
    both_ways = [0.4, 2.5, 1.0, 3.0, 0.3]

    assert judge(both_ways).verdict is Verdict.TOO_FEW
    assert judge(both_ways * 2).verdict is Verdict.UNSTEADY


def test_what_is_certain_but_small_is_noise_too() -> None:
    assert judge([1.01, 1.02, 1.015, 1.01, 1.02]).verdict is Verdict.NOISE
    assert judge([0.99, 0.98, 0.985, 0.99, 0.98]).verdict is Verdict.NOISE


def test_of_many_batches_a_few_may_be_on_the_other_side() -> None:
    ratios = [1.2] * 9 + [0.5]

    assert judge(ratios).verdict is Verdict.FASTER
    assert judge([1.2] * 6 + [0.5] * 4).verdict is Verdict.NOISE


def test_of_what_took_no_time_nothing_is_said() -> None:
    idle = mode(True, [batch(components=dict.fromkeys(one.components, 0.0)) for one in ON.batches])

    found = compare(OFF, idle)["gae"]

    assert judge_any([]) is None
    assert (found.before, found.after, found.judgement) == (0.5, 0.0, None)


def test_verdicts_on_noise_alone_are_seldom_wrong() -> None:
    """All ways in which five batches can fall: of 32, two are all on one side."""
    verdicts = [judge(ratios).verdict for ratios in itertools.product((0.8, 1.25), repeat=5)]

    assert sum(verdict is not Verdict.NOISE for verdict in verdicts) == 2


def test_parts_are_compared_batch_by_batch() -> None:
    compared = compare(OFF, ON)

    found = {key: one.judgement for key, one in compared.items() if one.judgement is not None}
    assert found[WHOLE].verdict is Verdict.FASTER
    assert found[WHOLE].speed_up == pytest.approx(1.3, abs=0.05)
    assert found["data_collection.env_step.env_wait"].verdict is Verdict.FASTER
    assert found["training_loop"].verdict is Verdict.NOISE
    assert compared["training_loop"].before == pytest.approx(3.0)


def test_a_batch_of_twice_as_many_decisions_may_take_twice_as_long() -> None:
    twice = replace(FIGURES, decisions=2000)
    longer = mode(True, [batch(2.0, figures=twice) for _ in range(5)])
    plain = mode(False, [batch() for _ in range(5)])

    judgement = compare(plain, longer)[WHOLE].judgement

    assert judgement is not None
    assert judgement.speed_up == pytest.approx(1.0)
    assert not did_the_same((plain, longer))
    assert did_the_same((OFF, ON))


def test_a_batch_without_a_neighbour_is_not_compared() -> None:
    shorter = mode(True, ON.batches[:2])

    judgement = compare(OFF, shorter)[WHOLE].judgement

    assert judgement is not None
    assert judgement.verdict is Verdict.TOO_FEW
