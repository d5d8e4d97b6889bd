"""Plays battles and writes down all that each side is told, so that two runs can be compared."""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

import orjson

from bridge import BattleRoom, ControllerRegistry, Player, Result, Side, Update
from bridge.errors import ChoiceRejected
from bridge.random_policy import RandomPolicy
from bridge.workload import Policies, policies_for

__all__ = ["Recorder", "Recording", "record", "record_all"]

Hook = Callable[[], None]


@dataclass
class Tape:
    """What one side was told: lines (`|t:|` aside), and the number and contents of each request."""

    lines: list[str] = field(default_factory=list)
    requests: list[tuple[int | None, str]] = field(default_factory=list)

    def note(self, update: Update) -> None:
        self.lines += (line for line in update.lines if not line.startswith("|t:|"))
        if update.request is not None:
            encoded = orjson.dumps(update.request, option=orjson.OPT_SORT_KEYS)
            self.requests.append((update.rqid, hashlib.blake2b(encoded, digest_size=8).hexdigest()))


@dataclass
class Recording:
    """A whole battle: both tapes and the result."""

    p1: Tape = field(default_factory=Tape)
    p2: Tape = field(default_factory=Tape)
    result: Result | None = None


class Recorder:
    """Plays both sides of a room, a round at a time, and records what they are told.

    `chosen` names the sides that have already answered their request when this one takes over.
    """

    def __init__(
        self,
        room: BattleRoom,
        policies: Policies,
        *,
        chosen: Collection[str] = (),
        on_decision: Hook | None = None,
    ) -> None:
        self.room = room
        self.recording = Recording()
        self._seats = (
            (room.p1, policies[0], self.recording.p1),
            (room.p2, policies[1], self.recording.p2),
        )
        self._chosen = chosen
        self._on_decision = on_decision

    @property
    def policies(self) -> Policies:
        """The policies as they stand, to play on elsewhere with the same choices."""
        return copy.copy(self._seats[0][1]), copy.copy(self._seats[1][1])

    async def play(self, rounds: int | None = None) -> Recording:
        """Plays some rounds, or to the end."""
        while rounds is None or rounds > 0:
            if not await self._round():
                self.recording.result = await self.room.result()
                break
            rounds = None if rounds is None else rounds - 1
        return self.recording

    async def _round(self) -> bool:
        """Reads what both sides are told and answers where they are asked; False at the end."""
        answers = []
        for side, policy, tape in self._seats:
            if side.id in self._chosen:
                continue
            update = await side.next()
            if update is None:
                return False
            tape.note(update)
            if update.request is not None and update.must_choose:
                choice = side.choose(policy.choose(update.request), rqid=update.rqid)
                answers.append((side, policy, tape, update, choice))
        self._chosen = ()
        for side, policy, tape, update, choice in answers:
            try:
                await choice
            except ChoiceRejected:
                await self._choose_again(side, policy, tape, update)
            if self._on_decision is not None:
                self._on_decision()
        return True

    async def _choose_again(
        self, side: Side, policy: RandomPolicy, tape: Tape, refused: Update
    ) -> None:
        while side.rqid != refused.rqid:
            update = await side.next()
            assert update is not None
            assert update.request is not None
            tape.note(update)
            refused = update
            try:
                await side.choose(policy.choose(update.request), rqid=update.rqid)
            except ChoiceRejected:
                continue
            return
        await side.choose("default", rqid=refused.rqid)


async def record(
    registry: ControllerRegistry,
    battle_format: str,
    seed: int | str,
    *,
    p1: str | Player = "Player 1",
    p2: str | Player = "Player 2",
) -> Recording:
    """Plays one battle to its end with the random policies of its seed."""
    room = await registry.open(battle_format, seed=seed, p1=p1, p2=p2)
    return await Recorder(room, policies_for(seed)).play()


async def record_all(
    registry: ControllerRegistry,
    battles: Iterable[tuple[str, int]],
    on_decision: Hook | None = None,
) -> list[Recording]:
    """Plays battles, given as format and seed, all at once: none moves before all are open."""
    battles = list(battles)
    rooms = await asyncio.gather(*(registry.open(name, seed=seed) for name, seed in battles))
    recorders = [
        Recorder(room, policies_for(seed), on_decision=on_decision)
        for room, (_, seed) in zip(rooms, battles, strict=True)
    ]
    return await asyncio.gather(*(recorder.play() for recorder in recorders))
