"""The inference queue: what is batched, who gets which result, what failing or closing leaves."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pytest
import torch
import uvloop

from bridge.errors import (
    BridgeError,
    ConfigError,
    InferenceFailed,
    QueueClosed,
    UnknownPolicy,
)
from bridge.histogram import Histogram
from bridge.inference import InferenceQueue

Task = asyncio.Task[Any]
Array = npt.NDArray[Any]


class Gate:
    """A policy that shows when it is entered, and goes on when it is let."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.entered = asyncio.Semaphore(0)
        self._turns = threading.Semaphore(0)
        self._loop = asyncio.get_running_loop()

    def __call__(self, batch: list[Any]) -> list[Any]:
        self.batches.append(batch)
        self._loop.call_soon_threadsafe(self.entered.release)
        assert self._turns.acquire(timeout=30)
        return [("result", row) for row in batch]

    def let(self, forwards: int = 1) -> None:
        self._turns.release(forwards)


class Recorder:
    """A policy that remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []

    def __call__(self, batch: list[Any]) -> list[Any]:
        self.batches.append(batch)
        return [("result", row) for row in batch]


class Agent(torch.nn.Module):
    """A network with two heads, as trainers have them."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Linear(4, 3)
        self.modes: list[tuple[bool, str]] = []

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        self.modes.append((torch.is_inference_mode_enabled(), threading.current_thread().name))
        logits: torch.Tensor = self.body(batch)
        return logits

    def act(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self(batch)
        return logits, logits.sum(dim=1)


@pytest.fixture(params=[False, True], ids=["thread", "inline"])
def inline(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not inference_threads()


def inference_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("inference")]


async def submitted(*rows: Coroutine[Any, Any, Any]) -> list[Task]:
    """Tasks that have all submitted their row."""
    tasks = [asyncio.create_task(row) for row in rows]
    await asyncio.sleep(0)
    return tasks


async def occupied(queue: InferenceQueue, gate: Gate) -> Task:
    """The task of a row that is being computed, so that all others wait."""
    (task,) = await submitted(queue.submit("first"))
    await gate.entered.acquire()
    return task


# Batches


async def test_every_row_gets_its_own_result_under_load(inline: bool) -> None:
    await check_results_under_load(inline)


def test_every_row_gets_its_own_result_under_load_on_uvloop(inline: bool) -> None:
    uvloop.run(check_results_under_load(inline))


async def check_results_under_load(inline: bool) -> None:
    draw = random.Random(7)
    sizes: list[int] = []

    def policy(batch: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        sizes.append(len(batch))
        doubled: np.ndarray[Any, Any] = batch * 2
        return doubled

    async def room(number: int) -> None:
        for step in range(40):
            row = np.array([number, step])
            assert (await queue.submit(row)).tolist() == [number * 2, step * 2]
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)

    async with InferenceQueue(policy, max_batch=16, max_waiting=24, inline=inline) as queue:
        await asyncio.gather(*(room(number) for number in range(50)))
    assert sum(sizes) == 50 * 40
    assert max(sizes) <= 16
    assert len(set(sizes)) > 1


async def test_a_free_model_takes_all_that_waits(inline: bool) -> None:
    policy = Recorder()
    async with InferenceQueue(policy, inline=inline) as queue:
        results = await asyncio.gather(*(queue.submit(row) for row in range(100)))
    assert results == [("result", row) for row in range(100)]
    assert policy.batches == [list(range(100))]


async def test_a_batch_has_at_most_max_batch_rows_in_the_order_they_came(inline: bool) -> None:
    policy = Recorder()
    async with InferenceQueue(policy, max_batch=4, inline=inline) as queue:
        await asyncio.gather(*(queue.submit(row) for row in range(10)))
    assert policy.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_what_came_during_a_forward_is_the_next_batch() -> None:
    gate = Gate()
    async with InferenceQueue(gate) as queue:
        first = await occupied(queue, gate)
        rest = await submitted(queue.submit("second"), queue.submit("third"))
        assert repr(queue) == (
            "<InferenceQueue: open, 1 computing, 2 waiting, 0 in line, default v0>"
        )
        gate.let(2)
        await asyncio.gather(first, *rest)
    assert gate.batches == [["first"], ["second", "third"]]


async def test_a_free_model_waits_for_a_full_batch_if_it_may() -> None:
    policy = Recorder()
    async with InferenceQueue(policy, max_batch=3, max_wait=1000) as queue:
        two = await submitted(queue.submit(0), queue.submit(1))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not policy.batches
        await asyncio.gather(*two, queue.submit(2))
    assert policy.batches == [[0, 1, 2]]


async def test_a_free_model_does_not_wait_for_rows_that_have_no_room() -> None:
    policy = Recorder()
    async with InferenceQueue(policy, max_batch=3, max_waiting=3, max_wait=1000) as queue:
        queue.update_policy(policy, name="opponent")
        few = await submitted(queue.submit(0), queue.submit(1), queue.submit(2, policy="opponent"))
        await asyncio.wait(few, return_when=asyncio.FIRST_COMPLETED)
        assert policy.batches == [[0, 1]]
        for task in few:
            task.cancel()


async def test_a_row_that_nobody_joins_is_computed_after_max_wait() -> None:
    async with InferenceQueue(Recorder(), max_wait=0.02) as queue:
        assert await queue.submit(0) == ("result", 0)
        assert queue.stats()["queue_wait"]["max"] >= 0.02e9


async def test_an_inline_forward_lets_the_loop_turn_between_batches() -> None:
    turns: list[str] = []

    def policy(batch: list[int]) -> list[int]:
        turns.append("forward")
        asyncio.get_running_loop().call_soon(turns.append, "frame")
        return batch

    async with InferenceQueue(policy, max_batch=1, inline=True) as queue:
        await asyncio.gather(*(queue.submit(row) for row in range(3)))
    assert turns == ["forward", "frame"] * 3


async def test_frames_flow_while_a_slow_forward_runs_in_its_thread() -> None:
    gate = Gate()
    near_end, far_end = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near_end)
    with far_end:
        async with InferenceQueue(gate) as queue:
            slow = await occupied(queue, gate)
            for number in range(100):
                far_end.sendall(b"frame %d\n" % number)
                assert await reader.readline() == b"frame %d\n" % number
            assert not slow.done()
            gate.let()
            assert await slow == ("result", "first")
        writer.close()
        await writer.wait_closed()


# Policies and what they are given


async def test_rows_that_are_arrays_come_as_one_array(inline: bool) -> None:
    seen: list[Any] = []

    def policy(batch: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        seen.append(batch)
        total: np.ndarray[Any, Any] = batch.sum(axis=(1, 2))
        return total

    async with InferenceQueue(policy, inline=inline) as queue:
        rows = [np.full((2, 3), number, dtype=np.uint8) for number in range(5)]
        assert await asyncio.gather(*map(queue.submit, rows)) == [0, 6, 12, 18, 24]
    assert seen[0].shape == (5, 2, 3)
    assert seen[0].dtype == np.uint8


async def test_a_torch_module_runs_in_inference_mode_on_tensors(inline: bool) -> None:
    agent = Agent()
    rows = np.random.default_rng(3).normal(size=(32, 4)).astype(np.float32)
    async with InferenceQueue(agent, max_batch=8, inline=inline) as queue:
        results = await asyncio.gather(*map(queue.submit, rows))
    expected = agent.body(torch.from_numpy(rows))
    torch.testing.assert_close(torch.stack(results), expected.detach())
    assert not any(result.requires_grad for result in results)
    where = threading.current_thread().name if inline else "inference_0"
    assert agent.modes == [(True, where)] * 4
    assert not torch.is_inference_mode_enabled()


async def test_a_method_of_a_module_may_have_several_heads(inline: bool) -> None:
    agent = Agent()
    rows = torch.eye(4)
    async with InferenceQueue(agent.act, inline=inline) as queue:
        results = await asyncio.gather(*map(queue.submit, rows))
    assert agent.modes[0][0]
    for row, (logits, value) in zip(rows, results, strict=True):
        torch.testing.assert_close(logits, agent.body(row).detach())
        torch.testing.assert_close(value, agent.body(row).sum().detach())


async def test_another_callable_gets_no_torch_that_it_did_not_ask_for(inline: bool) -> None:
    seen: list[Any] = []

    def policy(batch: np.ndarray[Any, Any]) -> list[float]:
        seen.append((type(batch), torch.is_inference_mode_enabled()))
        return [0.0] * len(batch)

    async with InferenceQueue(policy, inline=inline) as queue:
        await queue.submit(np.zeros(4))
    assert seen == [(np.ndarray, False)]


async def test_each_policy_has_batches_of_its_own(inline: bool) -> None:
    learner, opponent = Recorder(), Recorder()
    async with InferenceQueue(learner, inline=inline) as queue:
        queue.update_policy(opponent, name="opponent")
        mixed = (queue.submit(row, policy=("default", "opponent")[row % 2]) for row in range(10))
        assert await asyncio.gather(*mixed) == [("result", row) for row in range(10)]
        assert queue.stats()["policies"]["opponent"]["rows"] == 5
    assert learner.batches == [[0, 2, 4, 6, 8]]
    assert opponent.batches == [[1, 3, 5, 7, 9]]


async def test_the_policy_whose_rows_wait_longest_goes_first() -> None:
    gate = Gate()
    async with InferenceQueue(gate, max_batch=2) as queue:
        queue.update_policy(gate, name="opponent")
        tasks = [await occupied(queue, gate)]
        for row, policy in ("a", "default"), ("x", "opponent"), ("b", "default"), ("c", "default"):
            tasks += await submitted(queue.submit(row, policy=policy))
        gate.let(4)
        await asyncio.gather(*tasks)
    assert gate.batches == [["first"], ["a", "b"], ["x"], ["c"]]


async def test_an_unknown_policy_is_refused_by_name() -> None:
    async with InferenceQueue(Recorder()) as queue:
        with pytest.raises(UnknownPolicy, match="no policy 'rival' among default"):
            await queue.submit(0, policy="rival")


async def test_a_new_policy_takes_over_between_two_batches() -> None:
    old, new = Gate(), Recorder()
    async with InferenceQueue(old) as queue:
        during = await occupied(queue, old)
        after = await submitted(queue.submit("second"))
        queue.update_policy(new, version=41)
        assert queue.stats()["policies"]["default"]["version"] == 41
        old.let()
        await asyncio.gather(during, *after)
        queue.update_policy(new)
        assert "default v42" in repr(queue)
    assert old.batches == [["first"]]
    assert new.batches == [["second"]]


# Rows of several parts, and rows that come together


async def test_rows_of_several_parts_are_batched_part_by_part(inline: bool) -> None:
    seen: list[Any] = []

    def policy(features: Array, nested: tuple[Array, list[str]], keys: Array) -> list[str]:
        seen.append((features.shape, nested[0].shape, keys.dtype))
        return nested[1]

    async with InferenceQueue(policy, inline=inline) as queue:
        rows = [(np.zeros(4), (np.ones(2), name), np.uint64(number)) for number, name in NAMED]
        assert await asyncio.gather(*map(queue.submit, rows)) == list("abc")
        with pytest.raises(InferenceFailed, match="zip"):
            await asyncio.gather(queue.submit(rows[0]), queue.submit(rows[0][:2]))
    assert seen == [((3, 4), (3, 2), np.uint64)]


NAMED = list(enumerate("abc"))


async def test_a_module_takes_tensors_for_every_part(inline: bool) -> None:
    class Bilinear(torch.nn.Module):
        def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            assert torch.is_inference_mode_enabled()
            return (one * other).sum(dim=1)

    async with InferenceQueue(Bilinear(), inline=inline) as queue:
        result = await queue.submit((np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    assert result.item() == 11.0


async def test_rows_that_come_together_get_what_the_policy_returns(inline: bool) -> None:
    rows = np.arange(12.0).reshape(6, 2)
    batches: list[Array] = []

    def policy(batch: Array) -> tuple[Array, list[float]]:
        batches.append(batch)
        return batch * 2, batch[:, 0].tolist()

    async with InferenceQueue(policy, inline=inline) as queue:
        doubled, first = await queue.submit_many(rows)
        stats = queue.stats()
    assert doubled.tolist() == (rows * 2).tolist()
    assert first == rows[:, 0].tolist()
    assert len(batches) == 1
    assert np.shares_memory(batches[0], rows)
    assert (stats["rows"], stats["batches"], stats["queue_wait"]["count"]) == (6, 1, 6)


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list], ids=["array", "tensor", "list"])
async def test_single_rows_join_those_that_come_together(kind: Any, inline: bool) -> None:  # noqa: ANN401
    policy = Doubled()
    async with InferenceQueue(policy, max_batch=8, inline=inline) as queue:
        one, several, other, more = await asyncio.gather(
            queue.submit(kind([0.0])),
            queue.submit_many(kind([[1.0], [2.0], [3.0]])),
            queue.submit(kind([4.0])),
            queue.submit_many(kind([[5.0], [6.0]])),
        )
    assert policy.sizes == [7]
    assert float(one[0]) == 0.0
    assert float(other[0]) == 8.0
    assert [float(row[0]) for row in several] == [2.0, 4.0, 6.0]
    assert [float(row[0]) for row in more] == [10.0, 12.0]
    assert type(several) is type(kind([[1.0]]))


class Doubled:
    """A policy that doubles what it is given, whatever holds it."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, batch: Any) -> Any:  # noqa: ANN401
        self.sizes.append(len(batch))
        return [[2 * row[0]] for row in batch] if isinstance(batch, list) else batch * 2


async def test_more_rows_than_a_batch_takes_are_divided(inline: bool) -> None:
    policy = Doubled()
    rows = np.arange(20.0).reshape(10, 2)
    async with InferenceQueue(policy, max_batch=4, max_waiting=6, inline=inline) as queue:
        assert (await queue.submit_many(rows)).tolist() == (2 * rows).tolist()
        with pytest.raises(ValueError, match="no rows to submit"):
            await queue.submit_many(rows[:0])
        with pytest.raises(ValueError, match=r"the parts of a batch have \[9, 10\] rows"):
            await queue.submit_many((rows, rows[1:]))
        assert "0 computing, 0 waiting, 0 in line" in repr(queue)
    assert policy.sizes == [4, 4, 2]


async def test_a_part_that_fails_fails_all_rows_that_came_with_it(inline: bool) -> None:
    def policy(batch: list[int]) -> list[int]:
        if 9 in batch:
            raise ZeroDivisionError
        return batch

    async with InferenceQueue(policy, max_batch=4, inline=inline) as queue:
        with pytest.raises(InferenceFailed, match="failed on 2 rows: ZeroDivisionError"):
            await queue.submit_many(list(range(10)))
        assert await queue.submit_many([1, 2]) == [1, 2]


async def test_rows_that_come_together_stand_in_line_as_one_and_nobody_overtakes_them() -> None:
    gate = Gate()
    async with InferenceQueue(gate, max_batch=4, max_waiting=4) as queue:
        first = await occupied(queue, gate)
        three, four, one = await submitted(
            queue.submit_many(["a", "b", "c"]), queue.submit_many(list("defg")), queue.submit("h")
        )
        assert "1 computing, 3 waiting, 2 in line" in repr(queue)
        three.cancel()
        await asyncio.wait((three,))
        assert "1 computing, 4 waiting, 1 in line" in repr(queue)
        gate.let(3)
        await asyncio.gather(first, four, one)
    assert gate.batches == [["first"], list("defg"), ["h"]]


async def test_who_leaves_the_head_of_the_line_makes_room_for_those_behind() -> None:
    gate = Gate()
    async with InferenceQueue(gate, max_batch=4, max_waiting=4) as queue:
        first = await occupied(queue, gate)
        three, four, one = await submitted(
            queue.submit_many(["a", "b", "c"]), queue.submit_many(list("defg")), queue.submit("h")
        )
        four.cancel()
        await asyncio.wait((four,))
        assert "1 computing, 4 waiting, 0 in line" in repr(queue)
        gate.let(2)
        await asyncio.gather(first, three, one)
    assert gate.batches == [["first"], list("abch")]


# Failure


async def test_a_failed_forward_fails_its_rows_with_the_cause_and_the_queue_lives(
    inline: bool,
) -> None:
    def policy(batch: list[int]) -> list[int]:
        if 3 in batch:
            raise ZeroDivisionError("three")
        return batch

    async with InferenceQueue(policy, max_batch=2, inline=inline) as queue:
        queue.update_policy(policy, version=9)
        rows = (queue.submit(row) for row in range(6))
        outcomes = await asyncio.gather(*rows, return_exceptions=True)
        assert [outcomes[row] for row in (0, 1, 4, 5)] == [0, 1, 4, 5]
        for error in outcomes[2:4]:
            assert isinstance(error, InferenceFailed)
            assert isinstance(error.__cause__, ZeroDivisionError)
            assert "policy 'default', version 9, failed on 2 rows" in str(error)
        assert outcomes[2] is not outcomes[3]
        assert await queue.submit(7) == 7
        stats = queue.stats()
    assert (stats["rows"], stats["batches"], stats["failed_batches"]) == (5, 3, 1)


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ([1, 2], "2 results for 3 rows"),
        (np.zeros((4, 2)), "4 results for 3 rows"),
        (torch.zeros(1), "1 results for 3 rows"),
        (([1, 2, 3], [1, 2]), "2 results for 3 rows"),
        ((), "0 results for 3 rows"),
        ({"a": 1, "b": 2, "c": 3}, "returned a dict"),
        (None, "returned a NoneType"),
        (np.float32(1.0), "float32"),
    ],
    ids=str,
)
async def test_anything_but_one_result_per_row_is_an_error(output: object, cause: str) -> None:
    async with InferenceQueue(lambda _: output) as queue:
        outcomes = await asyncio.gather(*map(queue.submit, "abc"), return_exceptions=True)
        assert all(isinstance(error, InferenceFailed) for error in outcomes)
        assert "default v0" in repr(queue)
        assert cause in str(outcomes[0])


async def test_rows_of_different_shapes_fail_and_the_queue_lives(inline: bool) -> None:
    async with InferenceQueue(lambda batch: batch, inline=inline) as queue:
        rows = map(queue.submit, (np.zeros(2), np.zeros(1)))
        outcomes = await asyncio.gather(*rows, return_exceptions=True)
        assert all(isinstance(error, InferenceFailed) for error in outcomes)
        assert (await queue.submit(np.ones(1))).tolist() == [1.0]


async def test_a_policy_that_stops_iteration_fails_like_any_other(inline: bool) -> None:
    async with InferenceQueue(lambda _: next(iter([])), inline=inline) as queue:
        with pytest.raises(InferenceFailed, match="StopIteration"):
            await queue.submit(0)


@pytest.mark.parametrize(
    "settings",
    [{"max_batch": 0}, {"max_batch": 9, "max_waiting": 8}, {"max_wait": -1.0}],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        InferenceQueue(Recorder(), **settings)


# Cancelling and back-pressure


class Observation:
    """A row that can be watched."""


async def test_a_cancelled_row_that_waits_is_neither_computed_nor_kept() -> None:
    gate = Gate()
    async with InferenceQueue(gate) as queue:
        first = await occupied(queue, gate)
        observation = Observation()
        kept = weakref.ref(observation)
        (unwanted,) = await submitted(queue.submit(observation))
        (wanted,) = await submitted(queue.submit("wanted"))
        del observation
        unwanted.cancel()
        await asyncio.wait((unwanted,))
        assert unwanted.cancelled()
        assert "1 waiting" in repr(queue)
        del unwanted
        gc.collect()
        assert kept() is None
        gate.let(2)
        await asyncio.gather(first, wanted)
    assert gate.batches == [["first"], ["wanted"]]


async def test_a_row_cancelled_in_the_turn_of_its_batch_is_not_computed(inline: bool) -> None:
    policy = Recorder()
    async with InferenceQueue(policy, inline=inline) as queue:
        unwanted, wanted = await submitted(queue.submit("unwanted"), queue.submit("wanted"))
        unwanted.cancel()
        assert await wanted == ("result", "wanted")
        assert unwanted.cancelled()
    assert policy.batches == [["wanted"]]


async def test_cancelling_all_that_waits_leaves_a_queue_that_works(inline: bool) -> None:
    policy = Recorder()
    async with InferenceQueue(policy, inline=inline) as queue:
        for task in await submitted(queue.submit(0), queue.submit(1)):
            task.cancel()
        assert await queue.submit(2) == ("result", 2)
        assert "0 computing, 0 waiting" in repr(queue)
    assert policy.batches == [[2]]


@pytest.mark.parametrize("fails", [False, True], ids=["succeeds", "fails"])
async def test_a_row_cancelled_in_flight_harms_no_other(fails: bool) -> None:
    gate = Gate()

    def policy(batch: list[Any]) -> list[Any]:
        results = gate(batch)
        if fails:
            raise ZeroDivisionError
        return results

    async with InferenceQueue(policy) as queue:
        unwanted, wanted = await submitted(queue.submit(0), queue.submit(1))
        await gate.entered.acquire()
        unwanted.cancel()
        await asyncio.wait((unwanted,))
        assert unwanted.cancelled()
        gate.let()
        if fails:
            with pytest.raises(InferenceFailed):
                await wanted
        else:
            assert await wanted == ("result", 1)
        assert "0 computing, 0 waiting, 0 in line" in repr(queue)


async def test_rows_beyond_max_waiting_stand_in_line_and_come_in_order() -> None:
    gate = Gate()
    done: list[int] = []

    async def submit(row: int) -> None:
        await queue.submit(row)
        done.append(row)

    async with InferenceQueue(gate, max_batch=2, max_waiting=3) as queue:
        first = await occupied(queue, gate)
        rest = await submitted(*(submit(row) for row in range(8)))
        assert "1 computing, 3 waiting, 5 in line" in repr(queue)
        gate.let()
        await gate.entered.acquire()
        assert "2 computing, 3 waiting, 3 in line" in repr(queue)
        (late,) = await submitted(submit(8))
        assert "3 waiting, 4 in line" in repr(queue)
        gate.let(5)
        await asyncio.gather(first, *rest, late)
    assert done == list(range(9))
    assert gate.batches == [["first"], [0, 1], [2, 3], [4, 5], [6, 7], [8]]


async def test_cancelling_makes_room_and_leaves_the_line_in_order() -> None:
    gate = Gate()
    async with InferenceQueue(gate, max_batch=2, max_waiting=2) as queue:
        first = await occupied(queue, gate)
        rest = await submitted(*(queue.submit(row) for row in range(6)))
        assert "2 waiting, 4 in line" in repr(queue)
        for cancelled in (rest[0], rest[3]):
            cancelled.cancel()
        await asyncio.sleep(0)
        assert "2 waiting, 2 in line" in repr(queue)
        gate.let(3)
        await asyncio.gather(first, *rest, return_exceptions=True)
    assert gate.batches == [["first"], [1, 2], [4, 5]]


# Closing


async def test_closing_fails_what_waits_and_lets_the_running_forward_end() -> None:
    gate = Gate()
    queue = InferenceQueue(gate, max_batch=1, max_waiting=2)
    first = await occupied(queue, gate)
    waiting = await submitted(*(queue.submit(row) for row in range(4)))
    closing = asyncio.create_task(queue.close())
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [QueueClosed] * 4
    assert not closing.done()
    with pytest.raises(QueueClosed):
        await queue.submit(5)
    gate.let()
    await closing
    assert await first == ("result", "first")
    assert gate.batches == [["first"]]
    assert repr(queue) == "<InferenceQueue: closed, 0 computing, 0 waiting, 0 in line, default v0>"


async def test_no_thread_and_no_task_survives_closing(inline: bool) -> None:
    queue = InferenceQueue(Recorder(), inline=inline)
    await queue.submit(0)
    assert len(inference_threads()) == (0 if inline else 1)
    await queue.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not inference_threads()


async def test_closing_twice_or_unused_or_at_once_is_harmless(inline: bool) -> None:
    unused = InferenceQueue(Recorder(), inline=inline)
    await unused.close()
    with pytest.raises(QueueClosed):
        await unused.submit(0)
    used = InferenceQueue(Recorder(), inline=inline)
    await used.submit(0)
    await asyncio.gather(used.close(), used.close())
    await used.close()


async def test_closing_that_is_cancelled_still_ends_the_thread_and_can_be_done_again() -> None:
    gate = Gate()
    queue = InferenceQueue(gate)
    first = await occupied(queue, gate)
    (thread,) = inference_threads()
    (closing,) = await submitted(queue.close())
    closing.cancel()
    await asyncio.wait((closing,))
    gate.let()
    assert await first == ("result", "first")
    thread.join(timeout=30)
    assert not thread.is_alive()
    await queue.close()


async def test_rows_are_told_when_the_queue_is_stopped_from_outside() -> None:
    gate = Gate()
    async with InferenceQueue(gate) as queue:
        first = await occupied(queue, gate)
        (waiting,) = await submitted(queue.submit("second"))
        (serving,) = (task for task in asyncio.all_tasks() if task.get_name() == "inference")
        serving.cancel()
        outcomes = await asyncio.gather(first, waiting, return_exceptions=True)
        assert all(isinstance(error, QueueClosed) for error in outcomes)
        with pytest.raises(QueueClosed):
            await queue.submit("third")
        gate.let()


def test_its_errors_are_errors_of_the_bridge() -> None:
    assert all(
        issubclass(error, BridgeError) for error in (InferenceFailed, QueueClosed, UnknownPolicy)
    )


# Figures


async def test_stats_are_plain_data_with_percentiles(inline: bool) -> None:
    async with InferenceQueue(Recorder(), max_batch=8, inline=inline) as queue:
        assert orjson.loads(orjson.dumps(queue.stats()))["rows"] == 0
        for _ in range(3):
            await asyncio.gather(*(queue.submit(row) for row in range(12)))
        stats = orjson.loads(orjson.dumps(queue.stats()))
    assert (stats["rows"], stats["batches"]) == (36, 6)
    assert (stats["computing"], stats["waiting"], stats["in_line"]) == (0, 0, 0)
    assert stats["rows_per_second"] == pytest.approx(36 / stats["uptime"])
    assert (stats["batch_size"]["p50"], stats["batch_size"]["max"]) == (4, 8)
    assert Histogram.decode(stats["batch_size"]["hdr"]).count == 6
    assert (stats["queue_wait"]["count"], stats["forward"]["count"]) == (36, 6)
    assert 0 < stats["forward"]["p50"] <= stats["forward"]["max"]
    assert stats["policies"] == {
        "default": {"version": 0, "rows": 36, "batches": 6, "failed_batches": 0}
    }


async def test_figures_of_many_batches_are_folded_without_loss() -> None:
    async with InferenceQueue(lambda batch: batch, inline=True) as queue:
        for _ in range(100):
            await asyncio.gather(*(queue.submit(row) for row in range(100)))
        stats = queue.stats()
    assert stats["queue_wait"]["count"] == stats["rows"] == 10_000
    assert stats["batch_size"]["count"] == stats["batches"] == 100


def test_importing_the_queue_does_not_import_torch() -> None:
    program = "import sys, bridge.inference; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_example_in_the_document_samples_one_batch() -> None:
    document = (Path(__file__).parents[2] / "docs" / "inference.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=True
    )
    *actions, batch = map(int, done.stdout.split())
    assert (len(actions), batch) == (32, 32)
    assert {*actions} <= {*range(26)}
    assert len({*actions}) > 1


def test_a_queue_is_of_the_event_loop_that_gave_it_its_first_row() -> None:
    queue = InferenceQueue(lambda rows: rows, inline=True)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert first.run(queue.submit(7)) == 7
        for use in (queue.submit, lambda _: queue.close()):
            with pytest.raises(RuntimeError, match="belongs to another event loop"):
                second.run(use(7))
        assert first.run(queue.submit(8)) == 8
        first.run(queue.close())
