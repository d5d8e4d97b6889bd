"""Plays battles and keeps all that was said in them: lines, requests, observations, choices."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from bridge import BridgeConfig, ControllerRegistry, Player, Side, Update, View
from bridge.errors import ChoiceRejected
from bridge.journal import SideId
from bridge.random_policy import RandomPolicy
from bridge.runtime import find_node
from bridge.workload import policies_for

__all__ = [
    "GROUPS",
    "NAMES",
    "Chooser",
    "Choosers",
    "Frame",
    "Matchup",
    "RecordedBattle",
    "RecordedSide",
    "Seen",
    "Teams",
    "by_chance",
    "by_script",
    "draw_teams",
    "play",
    "record",
    "run_node",
]

NODE_FOLDER: Final = Path(__file__).parents[3] / "node"
NAMES: Final = ("Player 1", "Player 2")
GROUPS: Final = (
    "own_team",
    "own_moves",
    "opponent_team",
    "opponent_moves",
    "actives",
    "last_moves",
    "decision",
    "sides",
    "field",
    "damage",
)
_DOUBLES: Final = ("doubles", "vgc", "2v2")
# Battles of teams that cannot hurt each other are left here.
_MOST_ROUNDS: Final = 400
_ROOMS: Final = 16
_ASIDES: Final = ("|-candynamax|", "|-hint|", "|-ability|")

Teams = tuple[str, str]
Chooser = Callable[["Seen"], str | None]
"""Answers a request; None ends the recording."""
Choosers = tuple[Chooser, Chooser]


@dataclass(frozen=True)
class Matchup:
    """Which battle to play."""

    format: str
    seed: int
    teams: str | Teams | None = None
    """Packed teams, or what to draw them from: a theme of node/identity/given.js, or a format.

    What is drawn need not be legal.
    """

    @property
    def generation(self) -> int:
        return int(self.format[3])

    @property
    def game(self) -> str:
        return "doubles" if any(word in self.format for word in _DOUBLES) else "singles"


@dataclass
class Seen:
    """What one side was told at once, and what it chose then."""

    lines: list[str]
    request: str | None
    rqid: int | None
    must_choose: bool
    observation: bytes | None
    is_alone: bool
    """Whether it is what a refused choice has revealed, of which nobody else hears."""
    choice: str | None = None
    illegal: str | None = None
    """With what words the simulator refused the choice, if it had nothing to reveal by that."""


@dataclass
class RecordedSide:
    """All that one side was told."""

    id: SideId
    seen: list[Seen] = field(default_factory=list)

    @property
    def decisions(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.must_choose]

    def note(self, update: Update) -> Seen:
        request = update.request_text
        seen = Seen(
            lines=update.lines,
            request=request,
            rqid=update.rqid,
            must_choose=request is not None and not orjson.loads(request).get("wait"),
            observation=update.observation,
            is_alone=update.refusal is not None,
        )
        self.seen.append(seen)
        return seen


@dataclass(frozen=True)
class Frame:
    """What the simulator said at once: to spectators, and to each side."""

    lines: list[str]
    seen: dict[SideId, Seen]


@dataclass
class RecordedBattle:
    """A battle that was played, to its end or until it was long enough."""

    matchup: Matchup
    teams: Teams | None
    p1: RecordedSide = field(default_factory=partial(RecordedSide, "p1"))
    p2: RecordedSide = field(default_factory=partial(RecordedSide, "p2"))

    def __str__(self) -> str:
        teams = self.matchup.teams if isinstance(self.matchup.teams, str) else ""
        return f"{self.matchup.format} {teams} {self.matchup.seed}"

    @property
    def sides(self) -> tuple[RecordedSide, RecordedSide]:
        return self.p1, self.p2

    def frames(self) -> Iterator[Frame]:
        """Both sides' news in the order in which the simulator had them, as far as both heard."""
        unread = {side.id: list(reversed(side.seen)) for side in self.sides}
        while True:
            alone = [side for side, news in unread.items() if news and news[-1].is_alone]
            if not alone and not all(unread.values()):
                return
            frame = {side: unread[side].pop() for side in alone[:1] or unread}
            yield Frame(_public(frame), frame)


def _public(frame: dict[SideId, Seen]) -> list[str]:
    """The lines that everybody sees.

    Where the sides see different ones, one of them is told the exact health of its own Pokémon.
    """
    if len(frame) == 1:
        return []
    first, second = (list(reversed(seen.lines)) for seen in frame.values())
    lines = []
    while first or second:
        if first and second and _is_same(first[-1], second[-1]):
            one, other = first.pop(), second.pop()
            lines.append(one if one == other or _whose(one) == "p2" else other)
        else:
            # Told to one of them alone.
            (first if first and first[-1].startswith(_ASIDES) else second).pop()
    return lines


def _is_same(first: str, second: str) -> bool:
    """Whether two lines differ in no more than a health."""
    return first == second or first.split("|")[:3] == second.split("|")[:3]


def _whose(line: str) -> str:
    """The side of the Pokémon that a line speaks of."""
    return line.split("|")[2][:2]


def run_node(script: str, given: object, *arguments: str) -> bytes:
    """Runs one of our Node scripts with JSON for its input, and returns what it prints."""
    command = [str(find_node().path), str(NODE_FOLDER / "test" / script), *arguments]
    done = subprocess.run(command, input=orjson.dumps(given), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} failed:\n{done.stderr.decode()}")
    return done.stdout


def draw_teams(matchups: Sequence[Matchup]) -> list[Teams | None]:
    """The teams of battles whose formats do not draw them."""
    orders = [
        {"format": _plain(matchup.format), "from": matchup.teams, "number": 2 * matchup.seed + side}
        for matchup in matchups
        if isinstance(matchup.teams, str)
        for side in (0, 1)
    ]
    drawn = iter(orjson.loads(run_node("observation-teams.js", orders)) if orders else ())
    return [
        (next(drawn), next(drawn)) if isinstance(matchup.teams, str) else matchup.teams
        for matchup in matchups
    ]


def _plain(format: str) -> str:
    """The format without its custom rules."""
    return format.partition("@@@")[0]


def record(
    matchups: Sequence[Matchup],
    choosers: Callable[[Matchup], Choosers] | None = None,
    *,
    observe: Collection[str] = GROUPS,
) -> list[RecordedBattle]:
    """Plays battles on a pool of their own, by chance unless somebody chooses, and keeps them."""

    async def play_all() -> list[RecordedBattle]:
        places = asyncio.Semaphore(_ROOMS)

        async def one(matchup: Matchup, teams: Teams | None) -> RecordedBattle:
            seats = choosers(matchup) if choosers else by_chance(matchup.seed)
            async with places:
                return await play(registry, matchup, teams, seats, observe=observe)

        async with ControllerRegistry(BridgeConfig(pool=1, warmup_battles=0)) as registry:
            pairs = zip(matchups, draw_teams(matchups), strict=True)
            return list(await asyncio.gather(*(one(matchup, teams) for matchup, teams in pairs)))

    return asyncio.run(play_all())


async def play(
    registry: ControllerRegistry,
    matchup: Matchup,
    teams: Teams | None,
    choosers: Choosers,
    *,
    names: tuple[str, str] = NAMES,
    observe: Collection[str] = GROUPS,
) -> RecordedBattle:
    """Plays a battle to its end, or until one side does not choose any more."""
    battle = RecordedBattle(matchup, teams)
    p1, p2 = (
        Player(name, team, is_valid=isinstance(matchup.teams, str))
        for name, team in zip(names, teams or (None, None), strict=True)
    )
    view = View(lines=True, observe=tuple(observe))
    opening = registry.open(matchup.format, seed=matchup.seed, p1=p1, p2=p2, view=view)
    async with await opening as room:
        table = zip((room.p1, room.p2), battle.sides, choosers, strict=True)
        seats = [_Seat(*each) for each in table]
        for _ in range(_MOST_ROUNDS):
            if not await _play_round(seats):
                break
    return battle


def by_chance(seed: int) -> Choosers:
    """Choices that use all that a request offers."""

    def chooser(policy: RandomPolicy) -> Chooser:
        return lambda seen: policy.choose(orjson.loads(seen.request or ""))

    first, second = policies_for(seed)
    return chooser(first), chooser(second)


def by_script(battle: RecordedBattle) -> Choosers:
    """The choices of a battle that was played."""

    def chooser(side: RecordedSide) -> Chooser:
        choices = iter([seen.choice for seen in side.decisions])
        return lambda _: next(choices, None)

    return chooser(battle.p1), chooser(battle.p2)


@dataclass
class _Seat:
    side: Side
    recorded: RecordedSide
    choose: Chooser

    async def hear(self) -> Seen | None:
        update = await self.side.next()
        return None if update is None else self.recorded.note(update)

    def answer(self, seen: Seen) -> asyncio.Future[None] | None:
        seen.choice = self.choose(seen)
        return None if seen.choice is None else self.side.choose(seen.choice)


async def _play_round(seats: Sequence[_Seat]) -> bool:
    """Lets both sides hear what is new, and choose; False when that was all."""
    heard = [(seat, await seat.hear()) for seat in seats]
    if any(seen is None for _, seen in heard):
        return False
    asked = [(seat, seen) for seat, seen in heard if seen is not None and seen.must_choose]
    answers = [(seat, seen, seat.answer(seen)) for seat, seen in asked]
    settled = [await _settle(seat, seen, answer) for seat, seen, answer in answers]
    return all(settled)


async def _settle(seat: _Seat, seen: Seen | None, answer: asyncio.Future[None] | None) -> bool:
    """Waits for a choice to be taken, and chooses again where the simulator asks again."""
    while answer is not None and seen is not None:
        try:
            await answer
        except ChoiceRejected as refusal:
            if seat.side.rqid == seen.rqid:
                seen.illegal = f"{seen.choice}: {refusal}"
                return False
            seen = await seat.hear()
            answer = None if seen is None else seat.answer(seen)
        else:
            return True
    return False
