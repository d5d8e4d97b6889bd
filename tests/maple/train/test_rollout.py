"""Decisions in the order of time, in memory that may be shared."""

from __future__ import annotations

import multiprocessing
from typing import Any

import numpy as np
import pytest

from maple.train.rollout import Rollout, RolloutShape
from maple.train.shared import SharedWeights, shared_bytes

SHAPE = RolloutShape(rows=40, bytes=3, slots=2, memory=2, agents=4)


def add(rollout: Rollout, agents: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    count = len(agents)
    marks = np.array(agents) + 10 * len(rollout)
    return rollout.add(
        np.array(agents),
        np.full((count, 3), 7, np.uint8),
        actions=np.stack([marks, marks], axis=1),
        chances=-marks / 100,
        values=marks.astype(np.float32),
        memory=np.stack([marks, -marks], axis=1),
    )


def test_rows_are_known_once_it_is_heard_what_came_of_them() -> None:
    rollout = Rollout(SHAPE)
    rows = add(rollout, [0, 1, 2])
    assert len(rollout.known) == 0
    rollout.hear(rows[[0, 2]], np.array([1.0, 2.0], np.float32), np.array([False, True]))
    assert rollout.known.tolist() == [0, 2]
    assert rollout.rewards[:3].tolist() == [1, 0, 2]
    assert rollout.is_last[:3].tolist() == [False, False, True]


def test_what_is_open_is_carried_over_to_the_next() -> None:
    first, second = Rollout(SHAPE), Rollout(SHAPE)
    add(first, [0, 1])
    rows = add(first, [2, 3])
    carried = second.carry(first, rows)
    assert carried.tolist() == [0, 1]
    assert second.agents[:2].tolist() == [2, 3]
    for name in ("actions", "chances", "values", "memory", "raw"):
        np.testing.assert_array_equal(getattr(second, name)[:2], getattr(first, name)[rows])
    assert len(second.known) == 0


def test_a_rollout_that_is_filled_again_has_nothing_left_of_before() -> None:
    rollout = Rollout(SHAPE)
    rollout.hear(add(rollout, [0, 1]), np.ones(2, np.float32), np.array([True, True]))
    rollout.clear()
    add(rollout, [2])
    assert len(rollout) == 1
    assert [(r.start, r.stop) for r in rollout.rounds] == [(0, 1)]
    assert not rollout.is_known[0]
    assert not rollout.is_last[0]


def test_sequences_are_those_of_one_agent_in_one_battle() -> None:
    rollout = Rollout(SHAPE)
    for agents in ([0, 1], [0], [1, 0], [0, 2], [0]):
        rows = add(rollout, agents)
        ends = np.array([len(rollout) == 5 and agent == 0 for agent in agents])
        rollout.hear(rows, np.zeros(len(rows), np.float32), ends)
    # Agent 0 has rows 0, 2, 4, 5 and 7, and its battle ends with row 4.
    assert rollout.agents[:8].tolist() == [0, 1, 0, 1, 0, 0, 2, 0]
    assert rollout.sequences(2).tolist() == [[0, 2], [4, -1], [5, 7], [1, 3], [6, -1]]
    assert rollout.sequences(3).tolist() == [[0, 2, 4], [5, 7, -1], [1, 3, -1], [6, -1, -1]]
    assert sorted(rollout.sequences(1).ravel().tolist()) == list(range(8))


def test_every_row_is_in_one_sequence_whatever_its_length() -> None:
    random = np.random.default_rng(3)
    rollout = Rollout(SHAPE)
    while len(rollout) < 30:
        agents = np.flatnonzero(random.random(4) < 0.6).tolist()
        if agents:
            rows = add(rollout, agents)
            known = random.random(len(rows)) < 0.9
            rollout.hear(
                rows[known], np.zeros(known.sum(), np.float32), random.random(known.sum()) < 0.2
            )
    for length in (1, 2, 5, 100):
        for only_known in (True, False):
            table = rollout.sequences(length, known=only_known)
            found = table[table >= 0]
            expected = rollout.known if only_known else np.arange(len(rollout))
            assert sorted(found.tolist()) == expected.tolist()
            for row in table:
                rows = row[row >= 0]
                assert len(set(rollout.agents[rows].tolist())) == 1
                assert (np.diff(rows) > 0).all()
                assert not rollout.is_last[rows[:-1]].any()


def test_there_are_no_sequences_of_nothing() -> None:
    assert Rollout(SHAPE).sequences(4).shape == (0, 4)


# Shared


def fill_for_the_other(buffer: Any) -> None:  # noqa: ANN401 - ctypes
    rollout = Rollout(SHAPE, buffer)
    rollout.hear(add(rollout, [1, 3]), np.array([5, 6], np.float32), np.array([False, True]))


def test_another_process_fills_a_rollout_in_shared_memory() -> None:
    context = multiprocessing.get_context("spawn")
    buffer = shared_bytes(context, SHAPE.size)
    rollout = Rollout(SHAPE, buffer)
    process = context.Process(target=fill_for_the_other, args=(buffer,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert rollout.agents[: len(rollout)].tolist() == [1, 3]
    assert rollout.rewards[:2].tolist() == [5, 6]


def test_a_buffer_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Rollout(SHAPE, bytearray(SHAPE.size - 1))


def test_the_newest_weights_are_read_and_half_of_a_version_never_is() -> None:
    weights = SharedWeights(multiprocessing.get_context("spawn"), 5)
    for version in (1, 2, 3):
        weights.write(np.full(5, version, np.float32), version)
        read, number = weights.read()
        assert number == version
        assert read.tolist() == [version] * 5
    # Somebody is in the middle of writing version 4, in the place of version 2.
    header, place = weights._place(0)
    header[0] = 4
    place[:2] = 4
    with pytest.raises(RuntimeError, match="whole"):
        weights.read()
    header[0] = 0
    assert weights.read()[1] == 3


def test_weights_that_nobody_wrote_are_not_read() -> None:
    with pytest.raises(RuntimeError, match="nobody has written"):
        SharedWeights(multiprocessing.get_context("spawn"), 5).read()
