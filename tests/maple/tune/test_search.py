"""Which settings are tried, in which order, and which are found to be best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from maple.train import threads
from maple.train.config import TrainConfig, read_train_config
from maple.tune.search import SETTINGS, Choice, Search

CORES = 8


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "physical_cores", lambda: CORES)


def config(**settings: Any) -> TrainConfig:
    return read_train_config({"decisions": 1, **settings})


def search(settings: Sequence[str] = SETTINGS, **given: Any) -> Search:
    return Search(config(**given), CORES, settings)


def climb(found: Search, speed: Callable[[Choice], float], most: int = 1000) -> list[Choice]:
    """All that is tried on the way to the top."""
    tried: list[Choice] = []
    while (choice := found.next()) is not None:
        assert len(tried) < most
        tried.append(choice)
        found.hear(choice, speed(choice))
    return tried


def test_the_settings_that_were_given_are_tried_first() -> None:
    found = search(parallel=96, workers=3, pool=5, batch=4096)
    assert found.next() == Choice(parallel=96, workers=3, pool=5, threads=None, batch=4096)


def test_what_is_not_given_is_what_a_run_would_do() -> None:
    first = search().next()
    assert first is not None
    assert (first.workers, first.pool) == (4, 8)


def test_one_setting_is_changed_at_a_time() -> None:
    tried = climb(search(), lambda _: 100.0)
    for choice in tried[1:]:
        changed = [name for name in SETTINGS if getattr(choice, name) != getattr(tried[0], name)]
        # Fewer threads go with more workers, by the rule.
        assert len(changed) == 1


def test_nothing_is_tried_twice_and_the_search_ends() -> None:
    tried = climb(search(), lambda choice: choice.parallel * choice.batch / (1 + choice.pool))
    assert len(tried) == len(set(tried))


def test_the_top_of_a_hill_is_found() -> None:
    def speed(choice: Choice) -> float:
        return 1000 / (1 + abs(choice.parallel - 512) / 100 + abs(choice.workers - 2))

    found = search()
    climb(found, speed)
    assert (found.best.parallel, found.best.workers) == (512, 2)
    assert found.gain == pytest.approx(speed(found.best) / speed(found.start))


def test_a_step_that_paid_is_made_again_before_others() -> None:
    found = search(["workers", "parallel"], parallel=64)
    tried = climb(found, lambda choice: float(choice.parallel))
    assert [choice.parallel for choice in tried[:6]] == [64, 64, 128, 256, 512, 1024]


def test_each_setting_has_its_turn_before_any_has_a_second() -> None:
    tried = climb(search(workers=1, threads=2), lambda _: 1.0)
    changed = [
        name
        for choice in tried[1:6]
        for name in SETTINGS
        if getattr(choice, name) != getattr(tried[0], name)
    ]
    assert changed == list(SETTINGS)


def test_settings_that_have_had_no_turn_are_known() -> None:
    found = search(["parallel", "batch"])
    told = []
    for speed in (1.0, 2.0, 1.0):
        choice = found.next()
        assert choice is not None
        told.append(found.has_untried)
        found.hear(choice, speed)
    assert told == [True, True, True]
    assert not found.has_untried
    # One that has no step to take has had its turn.
    found = search(["parallel"], parallel=1024, batch=2048, pool=1024, workers=0)
    climb(found, lambda _: 1.0)
    assert not found.has_untried


def test_what_may_be_noise_is_no_reason_to_change() -> None:
    found = search()
    climb(found, lambda choice: 1.04 if choice != found.start else 1.0)
    assert found.best == found.start
    assert found.gain == 1.0


def test_what_does_not_run_is_not_gone_on_from() -> None:
    found = search()
    climb(found, lambda choice: 0.0 if choice.parallel != 128 else 100.0)
    assert found.best.parallel == 128


def test_only_what_is_wanted_is_changed() -> None:
    tried = climb(search(["pool"]), lambda choice: float(choice.pool))
    assert {replace(choice, pool=0) for choice in tried} == {replace(tried[0], pool=0)}
    assert tried[-1].pool == 2 * CORES


def test_every_choice_is_what_a_run_would_do() -> None:
    found = search(parallel=8)
    for choice in climb(found, lambda choice: float(100 + choice.workers - choice.parallel)):
        asked = found.layout(choice)
        assert (asked.workers, asked.pool) == (choice.workers, choice.pool)


def test_threads_are_left_to_the_rule_where_it_says_the_same() -> None:
    found = search(["threads"], workers=1)
    counts = {
        choice.threads: found.layout(choice).threads.count for choice in climb(found, lambda _: 1)
    }
    assert counts[None] == found.layout(found.start).threads.count
    assert len(set(counts.values())) == len(counts) > 1


def test_a_batch_is_no_more_than_twice_or_half_of_what_was_given() -> None:
    more = climb(search(["batch"], batch=1000), lambda choice: choice.batch)
    less = climb(search(["batch"], batch=1000), lambda choice: 1 / choice.batch)
    assert [choice.batch for choice in more] == [1000, 2000]
    assert [choice.batch for choice in less] == [1000, 2000, 500]
