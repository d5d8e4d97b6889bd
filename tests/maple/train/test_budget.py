"""How long a run is: what ends it, and how far it has come on the way there."""

from __future__ import annotations

from typing import Any

import pytest

from maple.train.budget import Budget, Counters
from maple.train.config import read_train_config


def budget(**settings: Any) -> Budget:
    return Budget(read_train_config(settings))


def test_the_first_to_be_used_up_ends_a_run() -> None:
    whole = budget(episodes=10, decisions=1000, minutes=2)
    assert not whole.is_used_up(Counters(battles=9, decisions=999, seconds=119))
    assert whole.is_used_up(Counters(battles=10))
    assert whole.is_used_up(Counters(decisions=1000))
    assert whole.is_used_up(Counters(seconds=120))


def test_progress_is_that_of_whatever_is_nearest_to_its_end() -> None:
    whole = budget(episodes=10, decisions=1000, minutes=2)
    assert whole.progress(Counters()) == 0
    assert whole.progress(Counters(battles=5, decisions=300, seconds=24)) == 0.5
    assert whole.progress(Counters(battles=2, decisions=300, seconds=24)) == 0.3
    assert whole.progress(Counters(battles=2, decisions=300, seconds=48)) == 0.4


@pytest.mark.parametrize(
    ("settings", "share"),
    [({"episodes": 20}, 0.5), ({"decisions": 1000}, 0.3), ({"minutes": 4}, 1)],
)
def test_what_has_no_end_does_not_count(settings: dict[str, Any], share: float) -> None:
    counters = Counters(updates=10**6, battles=10, decisions=300, seconds=240)
    assert budget(**settings).progress(counters) == share
    assert budget(**settings).is_used_up(counters) == (share == 1)


def test_an_update_may_go_beyond_the_end_but_progress_does_not() -> None:
    assert budget(decisions=1000).progress(Counters(decisions=1300)) == 1


def test_progress_of_a_synchronous_run_is_the_same_on_a_slow_machine() -> None:
    counters = Counters(decisions=100, seconds=10**6)
    assert budget(decisions=1000, synchronous=True).progress(counters) == 0.1
