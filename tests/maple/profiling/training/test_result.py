"""What was measured, as data."""

from __future__ import annotations

from maple.profiling.training import TrainingTime
from tests.maple.profiling.training.examples import OFF, ON, result


def test_a_result_is_plain_data_that_can_be_read_again() -> None:
    made = result(OFF, ON)

    assert TrainingTime.from_json(made.to_json()) == made


def test_the_batch_of_median_length_stands_for_all_of_a_mode() -> None:
    assert ON.middle is ON.batches[-1]
    assert ON.middle.share("data_collection") == 0.55
    assert ON.times()[-1] == ON.middle.wall
    assert ON.times("gae") == [batch.components["gae"] for batch in ON.batches]
