"""What is recommended, and from which figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from maple.profiling.training import recommend
from maple.profiling.training.components import measure_components
from tests.maple.profiling.training.examples import (
    GRADIENT,
    OFF,
    ON,
    SETTINGS,
    TIMES,
    batch,
    mode,
    result,
)


def test_the_limit_of_a_faster_simulator_follows_from_the_time_that_is_waited() -> None:
    half = mode(True, [batch(wait=7 / 3) for _ in range(3)])
    assert half.middle.share("data_collection.env_step.env_wait") == pytest.approx(0.5)

    (first, *_) = recommend(result(half))

    assert "50 %" in first
    assert "2.00 times as fast" in first


def test_what_is_recommended_follows_from_what_was_measured() -> None:
    def said(synchronous: bool = True, **changes: Any) -> str:
        made = mode(True, [batch(wait=4.0, **changes)])
        settings = replace(SETTINGS, synchronous=synchronous)
        return " ".join(recommend(result(made, settings=settings)))

    assert "--synchronous false" in said(node_busy=0.2)
    assert "--synchronous" not in said(synchronous=False, node_busy=0.2)
    assert "--parallel, now 64" in said(node_busy=0.2)
    assert "battles are the limit" in said(node_busy=0.9)
    assert "--parallel" not in said(node_busy=0.9)
    assert "not known" in said(node_busy=None)


def test_learning_is_blamed_where_it_takes_the_time_and_settings_are_named() -> None:
    times = TIMES | {"training_batch": 30.0, GRADIENT: 23.5, f"{GRADIENT}/backward": 21.25}
    slow = mode(True, [batch(components=measure_components(times), wall=30.0)])

    said = " ".join(recommend(result(slow)))

    assert "Training Loop takes 77 %" in said
    assert "--ppo.epochs, now 3" in said
    assert "--network.hidden, now [256, 256]" in said
    assert "--threads, now 1 of 2 cores" in said
    assert "--threads" not in " ".join(recommend(result(slow, threads=2)))
    # A step of a thousand rows is arithmetic, and twice as many of them take twice as long.
    assert "--learning.minibatch" not in said
    small = result(slow, settings=replace(SETTINGS, minibatch=64))
    assert "--learning.minibatch, now 64" in " ".join(recommend(small))


def test_turbo_is_praised_only_for_what_is_no_noise() -> None:
    same = mode(False, ON.batches)

    assert "Turbo makes batches 1.3" in recommend(result(OFF, ON))[0]
    assert "within noise" in recommend(result(same, ON))[0]
    assert "too few" in recommend(result(OFF, mode(True, ON.batches[:3])))[0]
