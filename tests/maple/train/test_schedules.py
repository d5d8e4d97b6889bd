"""Values and learning rates, at any point of a run."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bridge.errors import ConfigError
from maple.train.schedules import make_rate, make_value


def test_a_number_stays_what_it_is() -> None:
    assert [make_value(0.3).at(progress) for progress in (0, 0.5, 1)] == [0.3, 0.3, 0.3]
    assert [make_rate(0.3).at(progress) for progress in (0, 0.5, 1)] == [0.3, 0.3, 0.3]


def test_a_value_goes_in_a_straight_line_and_then_stays() -> None:
    value = make_value({"start": 1.0, "end": 0.0, "until": 0.5})
    assert [value.at(progress) for progress in (0, 0.25, 0.5, 0.9)] == [1.0, 0.5, 0.0, 0.0]


def test_a_cosine_is_slow_at_first_and_at_last() -> None:
    value = make_value({"start": 1.0, "end": 0.0, "shape": "cosine"})
    assert value.at(0.1) > 0.95
    assert value.at(0.5) == pytest.approx(0.5)
    assert value.at(0.9) < 0.05


def test_a_linear_rate() -> None:
    rate = make_rate({"kind": "linear", "start": 4e-4, "end": 2e-4})
    assert [rate.at(progress) for progress in (0, 0.5, 1, 2)] == pytest.approx(
        [4e-4, 3e-4, 2e-4, 2e-4]
    )


def test_a_cosine_rate() -> None:
    rate = make_rate({"kind": "cosine", "start": 1.0, "end": 0.0})
    expected = [(1 + math.cos(math.pi * progress)) / 2 for progress in (0, 0.25, 0.5, 1)]
    assert [rate.at(progress) for progress in (0, 0.25, 0.5, 1)] == pytest.approx(expected)


def test_a_step_rate() -> None:
    rate = make_rate({"kind": "step", "start": 8.0, "every": 0.1, "factor": 0.5})
    found = [rate.at(progress) for progress in (0, 0.09, 0.1, 0.3, 0.31)]
    assert found == pytest.approx([8.0, 8.0, 4.0, 1.0, 1.0])


def test_a_plateau_rate_goes_down_when_nothing_gets_better() -> None:
    rate = make_rate({"kind": "plateau", "start": 1.0, "patience": 3, "margin": 0.01})
    for score in (0.1, 0.2, 0.205, 0.2):
        rate.hear(score)
    assert rate.at(0.5) == 1.0
    rate.hear(0.19)
    assert rate.at(0.5) == 0.5
    for score in (0.3, 0.3, 0.3):
        rate.hear(score)
    assert rate.at(0.5) == 0.5
    rate.hear(0.3)
    assert rate.at(0.5) == 0.25


def test_a_plateau_rate_does_not_go_below_its_least() -> None:
    rate = make_rate({"kind": "plateau", "start": 1.0, "patience": 1, "least": 0.3})
    for _ in range(10):
        rate.hear(0.5)
    assert rate.at(1.0) == 0.3


def test_a_plateau_rate_goes_on_from_its_state() -> None:
    def make() -> Any:  # noqa: ANN401 - a Rate
        return make_rate({"kind": "plateau", "start": 1.0, "patience": 2})

    whole, first, second = make(), make(), make()
    scores = (0.5, 0.4, 0.4, 0.6, 0.1, 0.1, 0.1)
    for score in scores:
        whole.hear(score)
    for score in scores[:2]:
        first.hear(score)
    second.restore(first.state())
    for score in scores[2:]:
        second.hear(score)
    assert second.at(1.0) == whole.at(1.0) < 1.0
    assert second.state() == whole.state()


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ({"start": 1.0}, "end of a schedule must be given"),
        ({"start": 1.0, "end": 0.0, "until": 2.0}, "until is 2.0"),
        ({"start": 1.0, "end": 0.0, "utnil": 0.5}, "did you mean 'until'"),
        ({"start": math.inf, "end": 0.0}, "finite"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(argument: Any, problem: str) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match=problem):
        make_value(argument)


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ({"start": 1.0}, "kind of a learning rate is missing"),
        ({"kind": "liner", "start": 1.0}, "did you mean 'linear'"),
        ({"kind": "constant", "start": 1.0, "end": 0.1}, "a constant learning rate: unknown"),
        ({"kind": "linear", "start": -1.0}, "start is -1.0"),
        ({"kind": "plateau", "factor": 1.0}, "slows down"),
        ({"kind": "step", "every": 0.0}, "every is 0.0"),
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(argument: Any, problem: str) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match=problem):
        make_rate(argument)
