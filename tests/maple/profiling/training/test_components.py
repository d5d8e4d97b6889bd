"""What a batch consists of."""

from __future__ import annotations

import pytest

from maple.profiling.training.components import COMPONENTS, measure_components
from tests.maple.profiling.training.examples import COLLECTION, TIMES, levels


def test_the_parts_of_every_level_add_up_to_the_whole_and_count_nothing_twice() -> None:
    found = measure_components(TIMES)

    for above, together in levels(found).items():
        assert together == pytest.approx(found[above] if above else TIMES["training_batch"])
    assert all(time >= 0 for time in found.values())


def test_values_of_what_follows_are_counted_with_advantages_where_they_are_needed() -> None:
    alone = {"training_batch": 2.0, COLLECTION: 1.0}
    found = measure_components(alone | {f"{COLLECTION}/agent_value_calculation": 0.25})

    assert (found["gae"], found["data_collection"], found["rest"]) == (0.25, 0.75, 1.0)


def test_storing_and_sampling_are_the_replay_buffers_and_no_part_of_what_they_are_called_in() -> (
    None
):
    found = measure_components(TIMES)

    assert found["replay_buffer"] == 0.75
    assert found["data_collection"] == 5.5
    assert found["training_loop"] == 3.0
    assert found["gae"] == 0.5
    assert found["rest"] == pytest.approx(0.25)
    assert found["data_collection.env_step.rest"] == 0.5
    assert found["data_collection.rest"] == pytest.approx(0.5)


def test_what_was_never_called_takes_no_time() -> None:
    found = measure_components({"training_batch": 2.0, COLLECTION: 1.0})

    assert found["training_loop"] == 0
    assert found["rest"] == 1.0


def test_whatever_is_divided_stands_before_its_parts_and_what_is_left_over_after_them() -> None:
    keys = [component.key for component in COMPONENTS]

    assert len(set(keys)) == len(keys)
    for component in COMPONENTS:
        if component.above:
            assert keys.index(component.above) < keys.index(component.key)
        rest = f"{component.above}.rest".removeprefix(".")
        assert keys.index(component.key) <= keys.index(rest)
