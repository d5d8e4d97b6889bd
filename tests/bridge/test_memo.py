"""Answers that are remembered: each is asked for once, the latest are kept, failures are not."""

from __future__ import annotations

import asyncio

import pytest

from bridge.memo import Memo


class Oracle:
    """Answers when it is told to, and knows how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ready = asyncio.Event()
        self.ready.set()

    async def ask(self, key: str) -> int:
        self.asked.append(key)
        await self.ready.wait()
        return len(key) if key else int("no number")


async def test_an_answer_is_asked_for_once() -> None:
    oracle = Oracle()
    memo = Memo(2, oracle.ask)
    assert [await memo.get("abc") for _ in range(3)] == [3, 3, 3]
    assert oracle.asked == ["abc"]
    assert repr(memo) == "<Memo: 1 known, 0 asked>"


async def test_those_who_ask_at_the_same_time_share_one_question() -> None:
    oracle = Oracle()
    oracle.ready.clear()
    memo = Memo(2, oracle.ask)
    asking = [asyncio.ensure_future(memo.get("abc")) for _ in range(5)]
    await asyncio.sleep(0)
    asking.pop(0).cancel()
    oracle.ready.set()
    assert await asyncio.gather(*asking) == [3] * 4
    assert oracle.asked == ["abc"]


async def test_the_answers_that_were_used_last_are_kept() -> None:
    oracle = Oracle()
    memo = Memo(2, oracle.ask)
    for key in ("a", "b", "a", "c", "a", "b"):
        await memo.get(key)
    assert oracle.asked == ["a", "b", "c", "b"]


async def test_a_failure_is_told_to_all_who_wait_and_is_not_remembered() -> None:
    oracle = Oracle()
    memo = Memo(2, oracle.ask)
    outcomes = await asyncio.gather(memo.get(""), memo.get(""), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ValueError, ValueError]
    assert oracle.asked == [""]
    with pytest.raises(ValueError, match="no number"):
        await memo.get("")
    assert oracle.asked == ["", ""]


async def test_a_failure_that_nobody_waits_for_any_more_is_no_complaint() -> None:
    oracle = Oracle()
    oracle.ready.clear()
    memo = Memo(2, oracle.ask)
    asking = asyncio.ensure_future(memo.get(""))
    await asyncio.sleep(0)
    asking.cancel()
    oracle.ready.set()
    await memo.settle()
    assert repr(memo) == "<Memo: 0 known, 0 asked>"
