"""The decisions of the pool: where rooms go, when a controller is done, how long to wait."""

from __future__ import annotations

import math
import random

import pytest

from bridge import BridgeConfig
from bridge.placement import Limits, Reading, backoff, is_lost, place, reason_to_recycle

NEVER = Limits(battles=0, memory=0, age=0)


# Where rooms go


def test_the_least_loaded_controller_comes_first() -> None:
    assert place([3, 1, 2], waiting=1, capacity=10) == [1]


def test_equally_loaded_controllers_are_taken_in_their_order() -> None:
    assert place([0, 0, 0], waiting=7, capacity=10) == [0, 1, 2, 0, 1, 2, 0]


def test_of_equally_loaded_controllers_the_warmest_comes_first() -> None:
    assert place([0, 0, 0], waiting=4, capacity=10, warmth=[0.2, 1.0, 0.5]) == [1, 2, 0, 1]
    assert place([1, 2, 1], waiting=2, capacity=10, warmth=[0.2, 1.0, 0.5]) == [2, 0]


def test_a_lightly_loaded_controller_catches_up_first() -> None:
    assert place([4, 0, 2], waiting=6, capacity=10) == [1, 1, 1, 2, 1, 2]


def test_no_controller_is_filled_beyond_its_capacity() -> None:
    assert place([1, 0], waiting=9, capacity=2) == [1, 0, 1]


def test_a_full_pool_has_no_place() -> None:
    assert place([2, 2], waiting=5, capacity=2) == []
    assert place([5], waiting=1, capacity=2) == []
    assert place([], waiting=1, capacity=2) == []


def test_nobody_waits_nobody_is_placed() -> None:
    assert place([0, 0], waiting=0, capacity=2) == []


def test_every_room_goes_where_the_fewest_are_at_that_moment() -> None:
    draw = random.Random(20)
    for _ in range(300):
        loads = [draw.randrange(8) for _ in range(draw.randrange(6))]
        waiting, capacity = draw.randrange(20), draw.randint(1, 8)
        expected = []
        filled = loads.copy()
        for _ in range(waiting):
            free = [index for index, load in enumerate(filled) if load < capacity]
            if not free:
                break
            expected.append(min(free, key=lambda index: filled[index]))
            filled[expected[-1]] += 1
        assert place(loads, waiting, capacity) == expected


def test_rooms_are_spread_evenly() -> None:
    placed = place([0] * 8, waiting=100, capacity=512)
    counts = [placed.count(index) for index in range(8)]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == 100


# When a controller has done enough


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (Reading(battles=9, memory=99, age=0.9), None),
        (Reading(battles=10, memory=99, age=0.9), "battles"),
        (Reading(battles=9, memory=100, age=0.9), "memory"),
        (Reading(battles=9, memory=99, age=1.0), "age"),
        (Reading(battles=10, memory=100, age=1.0), "battles"),
        (Reading(battles=9, memory=100, age=1.0), "memory"),
    ],
)
def test_the_first_limit_that_is_reached_is_the_reason(
    reading: Reading, reason: str | None
) -> None:
    assert reason_to_recycle(reading, Limits(battles=10, memory=100, age=1.0)) == reason


def test_a_limit_of_zero_is_never_reached() -> None:
    assert reason_to_recycle(Reading(10**9, 10**15, 1e9), NEVER) is None


@pytest.mark.parametrize("limit", ["battles", "memory", "age"])
def test_each_limit_works_without_the_others(limit: str) -> None:
    limits = {"battles": 0.0, "memory": 0.0, "age": 0.0, limit: 5.0}
    assert reason_to_recycle(Reading(5, 5, 5.0), Limits(**limits)) == limit


def test_no_chance_can_make_never_into_something() -> None:
    config = BridgeConfig(recycle_battles=0, recycle_memory_mb=0, recycle_age=0)
    assert Limits.draw(config, 0.999) == NEVER


def test_jitter_takes_away_at_most_its_share() -> None:
    config = BridgeConfig(
        recycle_battles=1000, recycle_memory_mb=500, recycle_age=60.0, recycle_jitter=0.2
    )
    assert Limits.draw(config, 0.0) == Limits(battles=1000, memory=5e8, age=60.0)
    draw = random.Random(4)
    for _ in range(100):
        limits = Limits.draw(config, draw.random())
        assert 800 < limits.battles <= 1000
        assert 4e8 < limits.memory <= 5e8
        assert 48 < limits.age <= 60
        assert limits.battles / 1000 == pytest.approx(limits.age / 60)


def test_without_jitter_every_controller_has_the_same_limits() -> None:
    config = BridgeConfig(recycle_battles=7, recycle_jitter=0.0)
    assert Limits.draw(config, 0.0) == Limits.draw(config, 0.9)


def test_jitter_does_not_recycle_a_controller_before_its_first_battle() -> None:
    config = BridgeConfig(recycle_battles=1, recycle_jitter=0.99)
    limits = Limits.draw(config, 0.99)
    assert reason_to_recycle(Reading(0, 0, 0.0), limits) is None
    assert reason_to_recycle(Reading(1, 0, 0.0), limits) == "battles"


# How long to wait


def test_the_wait_doubles_with_each_failure_up_to_the_cap() -> None:
    config = BridgeConfig(backoff_base=0.1, backoff_cap=1.0)
    waits = [backoff(failures, config) for failures in range(1, 7)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


def test_the_wait_is_capped_however_many_failures() -> None:
    config = BridgeConfig(backoff_base=0.1, backoff_cap=10.0)
    assert backoff(1_000_000, config) == 10.0


def test_a_wait_of_zero_stays_zero() -> None:
    config = BridgeConfig(backoff_base=0.0, backoff_cap=10.0)
    assert [backoff(failures, config) for failures in (1, 5, 5000)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("held", [False, True])
def test_no_process_is_given_up_before_its_time(held: bool) -> None:
    assert not is_lost(overdue=9.9, busy=9.9, held=held, patience=10)


@pytest.mark.parametrize(
    ("overdue", "busy", "held", "lost"),
    [
        (10.0, 0.0, True, True),
        (10.0, 5.0, False, True),
        (10.0, 4.9, False, False),
        (39.9, 4.9, False, False),
        (40.0, 0.0, False, True),
        (math.inf, 0.0, False, True),
    ],
)
def test_one_that_was_starved_gets_four_times_as_long(
    overdue: float, busy: float, held: bool, lost: bool
) -> None:
    assert is_lost(overdue, busy, held, patience=10) is lost
