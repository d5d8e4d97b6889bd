"""Sides that are shown observations, and battles in which both sides answer at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, Player, Result, Update, View
from bridge.errors import (
    BattlePoisoned,
    BattleRejected,
    ChoiceRejected,
    InstallationFailed,
    StaleChoice,
)
from bridge.journal import Journal, Move, SideId
from bridge.observation import load_spec, spec_hash, spec_path
from bridge.wire import News
from bridge.workload import policies_for

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

GROUPS = load_spec()["groups"]["all"]
OBSERVATION = View(lines=False, observe=GROUPS)
BOTH = View(observe=GROUPS)
SINGLES, DOUBLES = "gen9randombattle", "gen9randomdoublesbattle"
FORMAT = "gen1randombattle"
SEED = 29
# Who is trapped learns of it by a refusal.
TRAPPERS = "]".join(
    f"{name}||Leftovers|Arena Trap|slash,earthquake,sandattack,slash||||||50|"
    for name in ("Dugtrio", "Diglett", "Trapinch")
)
TRAPS = "gen9customgame"
BLIND = Path(__file__).parents[1] / "adversity" / "faults" / "blind.js"


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def two_controllers(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ControllerRegistry]:
    folder = tmp_path_factory.mktemp("poisoned")
    config = BridgeConfig(pool=2, open_timeout=20, warmup_battles=0, poison_folder=folder)
    async with ControllerRegistry(config) as registry:
        yield registry


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_room_is_left(registry: ControllerRegistry) -> AsyncIterator[None]:
    yield
    assert registry.stats()["pool"]["rooms"] == 0


async def open_room(
    registry: ControllerRegistry,
    format: str,
    view: View | tuple[View, View],
    seed: int = SEED,
) -> BattleRoom:
    team = TRAPPERS if format == TRAPS else None
    red, blue = Player("Red", team), Player("Blue", team)
    return await registry.open(format, seed=seed, view=view, p1=red, p2=blue)


Script = dict[int, str]
"""What is chosen, by the number of the request: the same in every run of a battle."""


@dataclass
class Run:
    """A battle as it was played: what was observed when, what was chosen, and how it ended."""

    seen: list[tuple[str, int | None, bytes | None]] = field(default_factory=list)
    script: Script = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    result: Result | None = None


class Playing:
    """Plays a room in rounds, by a script or at random, where requests are to be read."""

    def __init__(self, room: BattleRoom, script: Script | None = None, seed: int = SEED) -> None:
        self.room = room
        self.run = Run(script=script or {})
        self._choosers = dict(zip(("p1", "p2"), policies_for(seed), strict=True))
        self._asked: dict[SideId, Update] = {}
        room.p1.listen(lambda update: self._note("p1", update))
        room.p2.listen(lambda update: self._note("p2", update))

    def _note(self, side: SideId, update: Update) -> None:
        if update.must_choose or update.is_last:
            self.run.seen.append((side, update.rqid, update.observation))
        if update.must_choose:
            self._asked[side] = update

    def _choice(self, side: SideId) -> str:
        update = self._asked.pop(side)
        assert update.rqid is not None
        if update.request is not None and update.rqid not in self.run.script:
            self.run.script[update.rqid] = self._choosers[side].choose(update.request)
        return self.run.script[update.rqid]

    def answer(self) -> asyncio.Future[None]:
        """Answers whatever is asked."""
        if len(self._asked) == 2:
            return self.room.play(self._choice("p1"), self._choice("p2"))
        (side,) = self._asked
        return (self.room.p1 if side == "p1" else self.room.p2).choose(self._choice(side))

    async def round(self) -> None:
        try:
            await self.answer()
        except ChoiceRejected:
            assert self._asked, "refused, and not asked again"

    async def play(self) -> Run:
        while not self.room.is_over:
            await self.round()
        self.run.moves = self.room.journal.moves
        self.run.result = await self.room.result()
        return self.run


async def play(
    registry: ControllerRegistry,
    format: str,
    view: View | tuple[View, View],
    script: Script | None = None,
    seed: int = SEED,
) -> Run:
    return await Playing(await open_room(registry, format, view, seed), script, seed).play()


def size(format: str, groups: list[str]) -> int:
    layout = load_spec()["layouts"]["doubles" if format == DOUBLES else "singles"]
    bytes_ = layout["bytes_with_all" if "calc" in groups else "bytes"]
    assert isinstance(bytes_, int)
    return bytes_


# What is shown


@pytest.mark.parametrize("format", [SINGLES, DOUBLES])
@pytest.mark.parametrize("groups", [GROUPS, ["own_team", "field"], []], ids=["all", "some", "few"])
async def test_a_side_that_observes_is_told_in_bytes_what_it_may_know(
    registry: ControllerRegistry, format: str, groups: list[str]
) -> None:
    view = View(lines=False, observe=groups)
    async with await open_room(registry, format, view) as room:
        for side in (room.p1, room.p2):
            update = await side.next()
            assert update is not None
            assert update.observation is not None
            assert len(update.observation) == size(format, groups)
            assert any(update.observation)
            assert (update.text, update.lines, update.request) == ("", [], None)
            assert update.request_text is None
            assert update.must_choose
            assert update.rqid == side.rqid
            wanted = f"<Update: 0 lines, request {side.rqid}, {len(update.observation)} bytes"
            assert repr(update).startswith(wanted)


async def test_each_side_has_a_view_of_its_own(registry: ControllerRegistry) -> None:
    async with await open_room(registry, SINGLES, (OBSERVATION, View())) as room:
        first, second = await room.p1.next(), await room.p2.next()
        assert first is not None
        assert second is not None
        assert first.observation is not None
        assert first.request is None
        assert second.observation is None
        assert second.request is not None
        assert "|player|p1|Red||" in second.lines


@pytest.mark.parametrize("format", [SINGLES, DOUBLES, TRAPS])
async def test_a_battle_is_the_same_whatever_is_shown_of_it(
    registry: ControllerRegistry, format: str
) -> None:
    both = await play(registry, format, BOTH)
    bare = await play(registry, format, OBSERVATION, both.script)
    assert bare == both
    assert all(observation for _, _, observation in bare.seen)
    assert [(side, rqid) for side, rqid, _ in bare.seen][-2:] == [("p1", None), ("p2", None)]
    blind = await play(registry, format, View(), both.script)
    assert blind.result == both.result
    assert [update[:2] for update in blind.seen] == [update[:2] for update in bare.seen]
    assert not any(observation for _, _, observation in blind.seen)
    mixed = await play(registry, format, (View(), OBSERVATION), both.script)
    assert mixed.moves == both.moves
    assert [update for update in mixed.seen if update[0] == "p2"] == [
        update for update in bare.seen if update[0] == "p2"
    ]


async def test_turbo_and_vanilla_observe_the_same(
    registry: ControllerRegistry, settings: BridgeConfig
) -> None:
    async with ControllerRegistry(settings, turbo=False) as vanilla:
        for name in (SINGLES, DOUBLES, TRAPS):
            both = await play(registry, name, BOTH)
            assert await play(vanilla, name, BOTH) == both
            assert await play(vanilla, name, OBSERVATION, both.script) == both


async def test_who_must_choose_is_known_without_a_request() -> None:
    assert Update(News(rqid=3, obs=b"x")).must_choose
    assert not Update(News(obs=b"x"), is_last=True).must_choose
    assert not Update(News("|turn|1")).must_choose


@pytest.mark.parametrize(
    ("format", "view", "reason"),
    [
        (
            FORMAT,
            View(observe=["own_taem"]),
            'no group "own_taem" .* there are own_team, own_moves',
        ),
        (FORMAT, View(observe=[3]), "no group 3"),  # type: ignore[list-item]
        (FORMAT, View(lines=False), "must observe something"),
        ("gen5triplescustomgame", OBSERVATION, "triples; there are observations of singles"),
        (FORMAT, (OBSERVATION,), "a view is a View, or two of them"),
        (FORMAT, None, "a view is a View, or two of them, not None"),
    ],
)
async def test_a_view_that_cannot_be_is_refused_by_name(
    registry: ControllerRegistry, format: str, view: View, reason: str
) -> None:
    with pytest.raises(BattleRejected, match=reason):
        await registry.open(format, view=view)


async def test_a_team_that_has_no_place_in_an_observation_is_refused_by_name(
    registry: ControllerRegistry,
) -> None:
    crowd = "]".join(f"M{number}|Magikarp|||splash||||||5|" for number in range(8))
    red, blue = Player("Red", TRAPPERS), Player("Blue", crowd)
    with pytest.raises(BattleRejected, match=r"team of p2 has 8 Pokémon; .* at most 6"):
        await registry.open(TRAPS, view=(OBSERVATION, View()), p1=red, p2=blue)
    await (await registry.open(TRAPS, p1=red, p2=blue)).close()


async def test_groups_are_a_list_and_no_text() -> None:
    with pytest.raises(TypeError, match="a list of groups, not 'own_team'"):
        View(observe="own_team")
    with pytest.raises(TypeError, match="lines is True or False, not 1"):
        View(lines=1)  # type: ignore[arg-type]
    assert View(observe=["own_team"]) == View(observe=("own_team",))
    assert hash(View(observe=["own_team"])) == hash(View(observe=("own_team",)))


# Both at once


async def test_both_answer_at_once_as_they_would_one_by_one(registry: ControllerRegistry) -> None:
    before = registry.stats()
    room = await open_room(registry, FORMAT, OBSERVATION)
    for _ in range(2):
        await room.play("default", "default")
    assert (
        room.journal.moves == [Move("choose", "p1", "default"), Move("choose", "p2", "default")] * 2
    )
    await room.p1.forfeit()
    after = registry.stats()
    assert after["counters"]["decisions"] - before["counters"]["decisions"] == 4
    trips = {name: trip["total"]["count"] for name, trip in after["round_trips"].items()}
    assert trips["play"] >= 2


async def test_one_that_is_refused_and_asked_again_does_not_touch_the_other(
    registry: ControllerRegistry,
) -> None:
    async with await open_room(registry, TRAPS, OBSERVATION) as room:
        playing = Playing(room, {1: "default", 2: "default", 3: "switch 2", 4: "move 1"})
        await playing.round()
        decisions = room.decisions
        with pytest.raises(ChoiceRejected, match="trapped") as refusal:
            await playing.answer()
        assert type(refusal.value) is ChoiceRejected
        assert list(refusal.value.sides) == ["p1"]
        assert "trapped" in refusal.value.sides["p1"]
        assert (room.p1.rqid, room.p2.rqid) == (5, 4)
        assert playing.run.seen[-1][:2] == ("p1", 5)
        assert room.decisions == decisions + 1
        # The refused one too: the simulator knows now that p1 knows.
        assert room.journal.moves[-2:] == [
            Move("choose", "p1", "switch 2"),
            Move("choose", "p2", "move 1"),
        ]
        await room.p1.choose("move 1")
        assert (room.p1.rqid, room.p2.rqid) == (6, 7)
        resumed = await registry.resume(room.journal)
        assert (resumed.p1.rqid, resumed.p2.rqid) == (6, 7)
        assert (await update_of(resumed, "p1")).observation == playing.run.seen[-2][2]
        await resumed.close()


async def update_of(room: BattleRoom, side: SideId) -> Update:
    update = await (room.p1 if side == "p1" else room.p2).next()
    assert update is not None
    return update


async def test_one_that_is_refused_and_not_asked_again_is_in_no_journal(
    registry: ControllerRegistry,
) -> None:
    async with await open_room(registry, FORMAT, OBSERVATION) as room:
        with pytest.raises(ChoiceRejected) as refusal:
            await room.play("move 1", "move 9")
        assert list(refusal.value.sides) == ["p2"]
        assert room.journal.moves == [Move("choose", "p1", "move 1")]
        with pytest.raises(ChoiceRejected) as refusal:
            await room.play("move 1", "move 9")
        assert type(refusal.value) is ChoiceRejected
        assert list(refusal.value.sides) == ["p1", "p2"]
        assert room.journal.moves == [Move("choose", "p1", "move 1")]
        await room.p2.choose("move 1")
        assert (room.p1.rqid, room.p2.rqid) == (3, 4)


@pytest.mark.parametrize("early", ["p1", "p2"])
async def test_one_that_is_stale_changes_nothing_though_the_other_ends_the_turn(
    registry: ControllerRegistry, early: SideId
) -> None:
    async with await open_room(registry, FORMAT, OBSERVATION) as room:
        await (room.p1 if early == "p1" else room.p2).choose("move 1")
        with pytest.raises(StaleChoice) as refusal:
            await room.play("move 2", "move 2")
        assert list(refusal.value.sides) == [early]
        late: SideId = "p2" if early == "p1" else "p1"
        assert room.journal.moves == [
            Move("choose", early, "move 1"),
            Move("choose", late, "move 2"),
        ]
        assert max(room.p1.rqid or 0, room.p2.rqid or 0) > 2
        assert room.decisions == 2


async def test_both_can_be_stale(registry: ControllerRegistry) -> None:
    async with await open_room(registry, FORMAT, OBSERVATION) as room:
        await room.play("move 1", "move 1", rqids=(1, 2))
        with pytest.raises(StaleChoice) as refusal:
            await room.play("move 1", "move 1", rqids=(1, 2))
        assert list(refusal.value.sides) == ["p1", "p2"]
        assert len(room.journal.moves) == room.decisions == 2


async def test_what_cannot_be_sent_is_refused_where_it_is_said(
    registry: ControllerRegistry,
) -> None:
    async with await open_room(registry, FORMAT, OBSERVATION) as room:
        for choice in ("\ud800", "x" * registry.max_frame):
            with pytest.raises(ChoiceRejected):
                room.play("move 1", choice)
        with pytest.raises(ChoiceRejected) as refusal:
            await room.play("move 1", 5)  # type: ignore[arg-type]
        assert list(refusal.value.sides) == ["p1", "p2"]
        assert room.journal.moves == []
        await room.play("move 1", "move 1")


async def test_nobody_answers_when_the_battle_is_over(registry: ControllerRegistry) -> None:
    room = await open_room(registry, FORMAT, OBSERVATION)
    late = room.play("move 1", "move 1", rqids=(1, 1))
    await room.p1.forfeit()
    with pytest.raises(StaleChoice):
        await late
    with pytest.raises(StaleChoice, match="the battle has ended"):
        room.play("move 1", "move 1")


@pytest.mark.parametrize("early", ["p1", "p2"])
async def test_a_battle_ends_with_one_answer_while_the_other_is_stale(
    registry: ControllerRegistry, early: SideId
) -> None:
    whole = await play(registry, FORMAT, BOTH)
    room = await open_room(registry, FORMAT, OBSERVATION)
    playing = Playing(room, whole.script)
    while len(room.journal.moves) < len(whole.moves) - 2:
        await playing.round()
    first, second = (move.words for move in whole.moves[-2:])
    await (room.p1.choose(first) if early == "p1" else room.p2.choose(second))
    with pytest.raises(StaleChoice):
        await room.play(first, second)
    assert await room.result() == whole.result
    assert sorted(room.journal.moves[-2:], key=lambda move: str(move.side)) == whole.moves[-2:]
    assert playing.run.seen == whole.seen


# What outlives a controller


def kill(room: BattleRoom, how: signal.Signals = signal.SIGKILL) -> int:
    assert room.controller is not None
    os.kill(room.controller.pid, how)
    return room.controller.pid


@pytest.fixture
def two(settings: BridgeConfig) -> BridgeConfig:
    """For tests that replace controllers, which the one that others share must not."""
    return settings.replace(pool=2)


async def test_killed_controllers_leave_no_trace_in_what_is_observed(two: BridgeConfig) -> None:
    async with ControllerRegistry(two) as registry:
        for name in (SINGLES, DOUBLES, TRAPS):
            calm = await play(registry, name, BOTH)
            room = await open_room(registry, name, OBSERVATION)
            playing = Playing(room, calm.script)
            killed: set[int] = set()
            rounds = 0
            while not room.is_over:
                rounds += 1
                answered = playing.answer()
                if rounds % 12 == 4:
                    # The command is still to be written, or is lost in the pipe, or half done.
                    for _ in range(rounds % 5):
                        await asyncio.sleep(0)
                    killed.add(kill(room))
                with contextlib.suppress(ChoiceRejected):
                    await answered
            playing.run.moves = room.journal.moves
            playing.run.result = await room.result()
            assert playing.run == calm
            assert len(killed) > 1


async def test_answers_that_a_controller_did_not_live_to_give_are_in_the_pending_journal(
    two: BridgeConfig,
) -> None:
    async with (
        ControllerRegistry(two) as registry,
        await open_room(registry, FORMAT, OBSERVATION) as room,
    ):
        kill(room, signal.SIGSTOP)
        answers = [
            room.play("move 1", "move 2"),
            room.play("move 3", "move 3"),
            room.play("two\nlines", "move 4", rqids=(1, 99)),
        ]
        wanted = [Move("choose", "p1", "move 1"), Move("choose", "p2", "move 2")]
        assert room.pending_journal().moves == wanted
        assert room.pending_journal().view == (OBSERVATION, OBSERVATION)
        assert room.journal.moves == []
        kill(room)
        outcomes = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), StaleChoice, StaleChoice]
        assert room.journal.moves == wanted


@pytest.mark.parametrize("view", [View(), OBSERVATION], ids=["lines", "observation"])
async def test_words_that_no_battle_has_heard_are_in_no_journal(
    two: BridgeConfig, view: View
) -> None:
    async with (
        ControllerRegistry(two) as registry,
        await open_room(registry, FORMAT, view) as room,
    ):
        await room.p1.choose("move 1")
        with pytest.raises(StaleChoice) as refusal:
            await room.play("two\nlines", "move 1")
        assert list(refusal.value.sides) == ["p1"]
        assert room.journal.moves == [Move("choose", side, "move 1") for side in ("p1", "p2")]
        kill(room)
        await room.play("move 1", "move 1")


async def test_what_one_says_who_waits_is_in_no_journal(two: BridgeConfig) -> None:
    async with (
        ControllerRegistry(two) as registry,
        await registry.open(FORMAT, seed=SEED) as room,
    ):
        asked: dict[SideId, bool] = {}
        room.p1.listen(lambda update: asked.__setitem__("p1", update.must_choose))
        room.p2.listen(lambda update: asked.__setitem__("p2", update.must_choose))
        while all(asked.values()):
            await room.play("default", "default")
        waits: SideId = "p2" if asked["p1"] else "p1"
        moves = room.journal.moves.copy()
        words: dict[SideId, str] = {"p1": "default", "p2": "default", waits: "two\nlines"}
        with pytest.raises(ChoiceRejected) as refusal:
            await room.play(words["p1"], words["p2"])
        assert list(refusal.value.sides) == [waits]
        goes: SideId = "p2" if waits == "p1" else "p1"
        assert room.journal.moves == [*moves, Move("choose", goes, "default")]
        kill(room)
        await room.play("default", "default")


async def test_a_copy_observes_what_its_original_does(two: BridgeConfig) -> None:
    async with ControllerRegistry(two) as registry:
        for name in (SINGLES, DOUBLES, TRAPS):
            whole = await play(registry, name, BOTH)
            room = await open_room(registry, name, OBSERVATION)
            original = Playing(room, whole.script)
            for _ in range(12):
                await original.round()
            copies = []
            for _ in range(2):
                copy = await room.fork()
                assert copy.journal.view == room.journal.view
                copies.append(Playing(copy, whole.script))
                if name == DOUBLES:
                    # The next copy is of a room that has no place, and is played again.
                    kill(room)
            rest = whole.seen[len(original.run.seen) :]
            assert len(rest) > 2
            for playing in (original, *copies):
                run = await playing.play()
                assert run.result == whole.result
                assert run.moves == whole.moves
                assert run.seen[-len(rest) :] == rest


async def test_what_a_refusal_reveals_is_not_known_to_copies(registry: ControllerRegistry) -> None:
    room = await open_room(registry, TRAPS, OBSERVATION)
    await room.play("default", "default")
    before = [await update_of(room, "p1") for _ in range(2)][1]
    async with room, await room.fork() as copy:
        with pytest.raises(ChoiceRejected, match="trapped"):
            await room.play("switch 2", "move 1")
        assert (await update_of(room, "p1")).observation != before.observation
        async with await copy.fork() as second:
            assert (await update_of(second, "p1")).observation == before.observation


async def test_a_journal_brings_its_view_along(registry: ControllerRegistry) -> None:
    async with await open_room(registry, SINGLES, (View(), OBSERVATION)) as room:
        await room.play("default", "default")
        fresh = [await update_of(room, "p2") for _ in range(2)][1]
        async with await registry.resume(room.journal) as resumed:
            assert resumed.journal.view == (View(), OBSERVATION)
            assert (await update_of(resumed, "p1")).request is not None
            assert (await update_of(resumed, "p2")).observation == fresh.observation
        assert Journal.from_input_log(room.journal.input_log()).view == (View(), View())


async def test_what_cannot_be_observed_breaks_its_own_battle_and_no_other(
    settings: BridgeConfig,
) -> None:
    breakable = settings.replace(node_arguments=("--require", str(BLIND)))
    async with ControllerRegistry(breakable) as registry:
        neighbour = await open_room(registry, FORMAT, View())
        room = await open_room(registry, FORMAT, OBSERVATION)
        with pytest.raises(BattlePoisoned, match="blinded by a test") as poisoned:
            await room.play("move 1", "move 1")
        assert poisoned.value.input_log is not None
        assert poisoned.value.input_log.read_text().endswith(">p1 move 1\n>p2 move 1\n")
        await neighbour.play("move 1", "move 1")
        await neighbour.close()
        assert registry.stats()["counters"]["deaths"] == 0


# What both ends read


async def test_both_ends_name_the_same_specification(registry: ControllerRegistry) -> None:
    assert {controller.identity.observation for controller in registry._ready()} == {spec_hash()}


async def test_a_specification_that_was_edited_is_refused(tmp_path: Path) -> None:
    edited = tmp_path / "spec.json"
    edited.write_bytes(spec_path().read_bytes().replace(b'"own_team"', b'"own_taem"'))
    with pytest.raises(InstallationFailed, match=r"spec\.json was changed by hand"):
        load_spec(edited)
    edited.write_bytes(b"{}")
    with pytest.raises(InstallationFailed, match="cannot read"):
        load_spec(edited)
    with pytest.raises(InstallationFailed, match="cannot read"):
        load_spec(tmp_path / "missing.json")
