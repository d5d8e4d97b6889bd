"""Answers of rooms that call back, in place of futures."""

from __future__ import annotations

import asyncio

import pytest

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, View
from bridge.errors import ChoiceRejected, RoomClosed, StaleChoice

FORMAT = "gen1randombattle"
OBSERVED = View(lines=False, observe=("decision",))


class Told:
    """What was told, and how many updates each side had had by then."""

    def __init__(self, room: BattleRoom) -> None:
        self.heard = {"p1": 0, "p2": 0}
        self.errors: list[Exception | None] = []
        self.heard_by_then: list[dict[str, int]] = []
        self.again = asyncio.Event()
        room.p1.listen(lambda _: self._hear("p1"))
        room.p2.listen(lambda _: self._hear("p2"))

    def _hear(self, side: str) -> None:
        self.heard[side] += 1

    def __call__(self, error: Exception | None) -> None:
        self.errors.append(error)
        self.heard_by_then.append(self.heard.copy())
        self.again.set()


async def test_it_calls_back_once_when_both_sides_have_been_told(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1, view=OBSERVED)
        told = Told(room)
        room.answer("move 1", "move 1", rqids=(room.p1.rqid, room.p2.rqid), tell=told)
        await told.again.wait()
        assert told.errors == [None]
        assert told.heard_by_then == [{"p1": 2, "p2": 2}]
        assert room.decisions == 2


async def test_one_side_may_answer_alone(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1, view=OBSERVED)
        told = Told(room)
        rqids = room.p1.rqid, room.p2.rqid
        room.answer(None, "move 1", rqids=rqids, tell=told)
        room.answer("move 1", None, rqids=rqids, tell=told)
        while len(told.errors) < 2:
            told.again.clear()
            await told.again.wait()
        assert told.errors == [None, None]
        assert told.heard_by_then == [{"p1": 1, "p2": 1}, {"p1": 2, "p2": 2}]
        with pytest.raises(ValueError, match="nobody answers"):
            room.answer(None, None, rqids=rqids, tell=told)


@pytest.mark.parametrize(
    ("p1", "rqid", "kind"), [("move 9", None, ChoiceRejected), ("move 1", 999, StaleChoice)]
)
async def test_it_tells_what_is_wrong(
    settings: BridgeConfig, p1: str, rqid: int | None, kind: type[ChoiceRejected]
) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1, view=OBSERVED)
        told = Told(room)
        room.answer(p1, "move 1", rqids=(rqid or room.p1.rqid, room.p2.rqid), tell=told)
        await told.again.wait()
        (error,) = told.errors
        assert isinstance(error, kind)
        assert error.sides.keys() == {"p1"}


async def test_it_tells_that_the_battle_was_given_up(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=1, view=OBSERVED)
        told = Told(room)
        rqids = room.p1.rqid, room.p2.rqid
        room.answer("move 1", "move 1", rqids=rqids, tell=told)
        await room.close()
        assert [type(error) for error in told.errors] == [RoomClosed]
        with pytest.raises(RoomClosed):
            room.answer("move 1", "move 1", rqids=rqids, tell=told)
        assert len(told.errors) == 1
