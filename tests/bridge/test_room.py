"""The life of a battle: reading, choosing, forfeiting, ending, closing, forking, resuming."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, Player, Result, Side, Update
from bridge.errors import (
    BattleRejected,
    ChoiceRejected,
    PoolExhausted,
    ProtocolViolation,
    RoomClosed,
    StaleChoice,
)
from bridge.journal import Journal, Move
from bridge.random_policy import RandomPolicy
from bridge.room import RoomState
from bridge.wire import News
from bridge.workload import policies_for
from tests.conftest import until
from tests.recording import Recorder, Recording, Tape, record

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

FORMAT = "gen1randombattle"
SEED = 29
PREVIEW = "gen9bssfactory"
POISON = Path(__file__).parents[1] / "adversity" / "faults" / "poison.js"
TRAPPERS = "]".join(
    f"{name}||Leftovers|Arena Trap|slash,earthquake,sandattack,slash||||||50|"
    for name in ("Dugtrio", "Diglett", "Trapinch")
)


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def two_controllers(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ControllerRegistry]:
    config = BridgeConfig(
        pool=2,
        rooms_per_controller=3,
        open_timeout=20,
        warmup_battles=0,
        poison_folder=tmp_path_factory.mktemp("poisoned"),
    )
    async with ControllerRegistry(config) as registry:
        yield registry


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def undisturbed(registry: ControllerRegistry) -> Recording:
    return await record(registry, FORMAT, SEED)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def no_room_is_left(registry: ControllerRegistry) -> AsyncIterator[None]:
    yield
    assert registry.stats()["pool"]["rooms"] == 0
    assert [controller.load for controller in registry._ready()] == [0, 0]
    for controller in registry._ready():
        assert (await controller.ask("ping")).rooms == 0


def joined(first: Tape, second: Tape) -> Tape:
    return Tape(first.lines + second.lines, first.requests + second.requests)


# Reading and ending


async def test_each_side_is_told_what_it_may_see_and_asked_what_to_do(
    registry: ControllerRegistry,
) -> None:
    async with await registry.open(FORMAT, seed=SEED, p1="Red", p2="Blue") as room:
        for side, name in ((room.p1, "Red"), (room.p2, "Blue")):
            update = await side.next()
            assert update is not None
            assert update.must_choose
            assert update.rqid == side.rqid
            assert update.request is not None
            assert update.request["side"]["name"] == side.name == name
            assert "|player|p1|Red||" in update.lines
        assert room.state is RoomState.PLAYING


async def test_a_side_sees_its_own_numbers_and_of_the_other_only_a_share(
    undisturbed: Recording,
) -> None:
    def conditions(tape: Tape, owner: str) -> set[str]:
        switches = (line.split("|") for line in tape.lines if line.startswith(f"|switch|{owner}a"))
        return {fields[4].split("/")[-1].split(" ")[0] for fields in switches}

    assert conditions(undisturbed.p1, "p2") == conditions(undisturbed.p2, "p1") == {"100"}
    assert "100" not in conditions(undisturbed.p1, "p1") | conditions(undisturbed.p2, "p2")
    assert not any(line.startswith("|split|") for line in undisturbed.p1.lines)


async def test_updates_can_be_iterated_until_the_end(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    first, second = policies_for(SEED)
    heard = []

    async def play_the_second_side() -> None:
        async for update in room.p2:
            if update.must_choose and update.request is not None:
                await room.p2.choose(second.choose(update.request), rqid=update.rqid)

    playing = asyncio.ensure_future(play_the_second_side())
    async for update in room.p1:
        heard += update.lines
        if update.must_choose and update.request is not None:
            await room.p1.choose(first.choose(update.request), rqid=update.rqid)
    await playing
    assert any(line.startswith("|win|") for line in heard)
    assert await room.p1.next() is None
    assert await room.p2.next() is None


async def test_the_result_names_the_winner_and_the_last_turn(undisturbed: Recording) -> None:
    assert undisturbed.result is not None
    winner = {"p1": "Player 1", "p2": "Player 2"}[str(undisturbed.result.winner)]
    turns = [int(line[6:]) for line in undisturbed.p1.lines if line.startswith("|turn|")]
    assert undisturbed.p1.lines[-1] == undisturbed.p2.lines[-1] == f"|win|{winner}"
    assert undisturbed.result == Result(undisturbed.result.winner, turns[-1], "win")


async def test_many_may_wait_for_the_result(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    waiting = [asyncio.ensure_future(room.result()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting.pop().cancel()
    await room.p2.forfeit()
    results = await asyncio.gather(*waiting)
    assert results == [Result("p1", 1, "forfeit")] * 2


@pytest.mark.parametrize(("battle_format", "turns"), [(FORMAT, 1), ("gen9bssfactory", 0)])
@pytest.mark.parametrize(("loser", "winner"), [("p1", "p2"), ("p2", "p1")])
async def test_a_side_may_forfeit_at_any_time_even_before_the_first_turn(
    registry: ControllerRegistry, battle_format: str, turns: int, loser: str, winner: str
) -> None:
    room = await registry.open(battle_format, seed=SEED)
    await getattr(room, loser).forfeit()
    assert await room.result() == Result(winner, turns, "forfeit")  # type: ignore[arg-type]
    for side in (room.p1, room.p2):
        lines = [line async for update in side for line in update.lines]
        assert f"|win|{getattr(room, winner).name}" in lines
        assert any("forfeited" in line for line in lines)


async def test_a_choice_in_flight_when_the_other_side_gives_up_is_stale(
    registry: ControllerRegistry,
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    giving_up = asyncio.ensure_future(room.p1.forfeit())
    await asyncio.sleep(0)
    with pytest.raises(StaleChoice):
        await room.p2.choose("move 1")
    await giving_up
    assert await room.result() == Result("p2", 1, "forfeit")


async def test_only_one_may_wait_for_the_next_update_of_a_side(
    registry: ControllerRegistry,
) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        await room.p1.next()
        waiting = asyncio.ensure_future(room.p1.next())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already waits"):
            await room.p1.next()
        waiting.cancel()


async def test_only_the_last_update_of_a_side_is_the_last(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    for side in (room.p1, room.p2):
        await side.choose("default")
    await room.p1.forfeit()
    for side in (room.p1, room.p2):
        assert [update.is_last async for update in side] == [False, False, True]


async def test_a_request_can_be_had_as_text_before_and_after_it_is_decoded(
    registry: ControllerRegistry,
) -> None:
    async with await registry.open("gen9randombattle", seed=SEED, p1="Flabébé 🐉") as room:
        update = await room.p1.next()
        assert update is not None
        text = update.request_text
        assert text is not None
        assert json.loads(text) == update.request
        assert update.request_text == text
        assert update.request_text == text
    assert Update(News("|turn|1")).request_text is None


async def test_who_is_refused_and_asked_again_is_told_why_with_the_request(
    registry: ControllerRegistry,
) -> None:
    p1, p2 = Player("Red", TRAPPERS), Player("Blue", TRAPPERS)
    async with await registry.open("gen9customgame", seed=1, p1=p1, p2=p2) as room:
        for side in (room.p1, room.p2):
            await side.choose("default")
        for side in (room.p1, room.p2):
            assert [(await read(side)).refusal for _ in range(2)] == [None, None]
        with pytest.raises(ChoiceRejected, match="trapped") as refused:
            await room.p1.choose("switch 2")
        again = await read(room.p1)
        assert again.rqid == room.p1.rqid
        assert again.refusal == refused.value.message
        assert again.refusal.startswith("[Unavailable choice] ")
        # What reveals nothing is refused, but not asked again.
        with pytest.raises(ChoiceRejected, match="trapped"):
            await room.p1.choose("switch 2")
        for side in (room.p1, room.p2):
            await side.choose("move 1")
        assert (await read(room.p1)).refusal is None
        assert (await read(room.p2)).refusal is None


async def read(side: Side) -> Update:
    update = await side.next()
    assert update is not None
    return update


# Listening


class Listener:
    """Plays a side as soon as it is asked, in the middle of being told."""

    def __init__(self, side: Side, policy: RandomPolicy) -> None:
        self.tape = Tape()
        self._side = side
        self._policy = policy
        side.listen(self._hear)

    def _hear(self, update: Update) -> None:
        self.tape.note(update)
        if update.must_choose and update.request is not None:
            self._side.choose(self._policy.choose(update.request), rqid=update.rqid)


@pytest.mark.parametrize("deaths", [0, 2])
async def test_who_listens_is_told_the_same_as_who_reads(
    settings: BridgeConfig, undisturbed: Recording, deaths: int
) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=SEED)
        listeners = [
            Listener(side, policy)
            for side, policy in zip((room.p1, room.p2), policies_for(SEED), strict=True)
        ]
        for _ in range(deaths):
            await until(lambda: room.controller is not None)
            assert room.controller is not None
            os.kill(room.controller.pid, signal.SIGKILL)
            await until(lambda: room.controller is None)
        assert await room.result() == undisturbed.result
        assert [listener.tape for listener in listeners] == [undisturbed.p1, undisturbed.p2]


async def test_who_begins_to_listen_is_handed_what_is_unread(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    heard: list[Update] = []
    await room.p1.choose("default")
    await room.p2.choose("default")
    room.p1.listen(heard.append)
    assert [update.rqid for update in heard] == [1, 3]
    await room.p2.forfeit()
    assert [update.is_last for update in heard] == [False, False, True]


async def test_a_side_is_read_or_listened_to_by_one(registry: ControllerRegistry) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        room.p1.listen(lambda update: None)
        with pytest.raises(RuntimeError, match="somebody listens"):
            await room.p1.next()
        with pytest.raises(RuntimeError, match="already reads"):
            room.p1.listen(lambda update: None)
        await room.p2.next()
        waiting = asyncio.ensure_future(room.p2.next())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already reads"):
            room.p2.listen(lambda update: None)
        waiting.cancel()


async def test_a_listener_that_fails_harms_nobody_and_is_heard_of(
    registry: ControllerRegistry,
) -> None:
    def fail(update: Update) -> None:
        raise LookupError(f"no answer to {update.rqid}")

    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    deaths = registry.stats()["counters"]["deaths"]
    try:
        async with await registry.open(FORMAT, seed=SEED) as room:
            room.p1.listen(fail)
            await room.p1.choose("default")
            await room.p2.choose("default")
    finally:
        loop.set_exception_handler(None)
    assert [str(context["exception"]) for context in complaints] == [
        "no answer to 1",
        "no answer to 3",
    ]
    assert registry.stats()["counters"]["deaths"] == deaths


async def test_a_fork_of_a_battle_that_is_listened_to_is_asked_what_is_open(
    registry: ControllerRegistry,
) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        heard: list[Update] = []
        room.p1.listen(heard.append)
        async with await room.fork() as fork:
            assert (await read(fork.p1)).request == heard[-1].request
        assert len(heard) == 1


# Taking back


async def test_a_choice_can_be_taken_back_while_the_other_side_has_not_chosen(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    for _ in range(2):
        rqid = room.p1.rqid
        await room.p1.choose("move 2")
        await room.p1.undo()
        assert room.p1.rqid == rqid
    assert len(room.journal.moves) == 4
    assert await Recorder(room, policies_for(SEED)).play() == undisturbed
    assert Journal.from_input_log(room.journal.input_log()) == room.journal


@pytest.mark.parametrize("when", ["before", "while", "after"])
async def test_what_was_taken_back_stays_so_when_the_controller_dies(
    settings: BridgeConfig, undisturbed: Recording, when: str
) -> None:
    async with ControllerRegistry(settings) as registry:
        room, recorder = await begun(registry)
        rqid = room.p1.rqid

        def kill() -> None:
            assert room.controller is not None
            os.kill(room.controller.pid, signal.SIGKILL)

        await room.p1.choose("default")
        if when == "before":
            kill()
        undoing = room.p1.undo()
        if when == "while":
            kill()
        await undoing
        if when == "after":
            kill()
            await until(lambda: room.state is RoomState.MOVING)
        assert room.p1.rqid == rqid
        assert await recorder.play() == undisturbed
        assert registry.stats()["counters"]["battles_moved"] == 1


async def test_what_was_not_chosen_cannot_be_taken_back(registry: ControllerRegistry) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        with pytest.raises(StaleChoice, match="has not answered request 1"):
            await room.p1.undo()
        await room.p1.choose("default")
        with pytest.raises(StaleChoice, match="the current one is 1"):
            await room.p1.undo(rqid=7)
        await room.p2.choose("default")
        with pytest.raises(StaleChoice, match="the current one is 3"):
            await room.p1.undo(rqid=1)
        with pytest.raises(StaleChoice, match="has not answered request 3"):
            await room.p1.undo()
        assert len(room.journal.moves) == 2
    with pytest.raises(RoomClosed):
        await room.p1.undo()


async def test_what_the_simulator_keeps_is_not_taken_back(registry: ControllerRegistry) -> None:
    async with await registry.open("gen9randombattle@@@!Cancel Mod", seed=SEED) as room:
        await room.p1.choose("default")
        with pytest.raises(ChoiceRejected, match=r"^\[Invalid choice\] Can't undo: ") as refused:
            await room.p1.undo()
        assert not isinstance(refused.value, StaleChoice)
        assert [move.operation for move in room.journal.moves] == ["choose"]
        with pytest.raises(StaleChoice, match="already answered"):
            await room.p1.choose("default")


# Ends with a reason


@pytest.mark.parametrize("killed", [False, True])
async def test_who_gives_up_may_say_why(settings: BridgeConfig, killed: bool) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open(FORMAT, seed=SEED, p1="Red")
        if killed:
            assert room.controller is not None
            os.kill(room.controller.pid, signal.SIGKILL)
        await room.p1.forfeit(" lost due to inactivity.")
        assert await room.result() == Result("p2", 1, "forfeit")
        for side in (room.p1, room.p2):
            *_, update = [update async for update in side]
            assert update.lines == ["|-message|Red lost due to inactivity.", "|", "|win|Player 2"]
        assert room.journal.moves == [Move("forfeit", "p1", " lost due to inactivity.")]
        resumed = await registry.resume(Journal.from_input_log(room.journal.input_log()))
        assert await resumed.result() == await room.result()
        assert resumed.journal == room.journal


@pytest.mark.parametrize("killed", [False, True])
async def test_a_battle_can_be_ended_with_no_winner(settings: BridgeConfig, killed: bool) -> None:
    async with ControllerRegistry(settings) as registry:
        room, _ = await begun(registry, 2)
        if killed:
            assert room.controller is not None
            os.kill(room.controller.pid, signal.SIGKILL)
        await room.tie("All players are inactive.")
        assert await room.result() == Result(None, 3, "tie")
        for side in (room.p1, room.p2):
            *_, update = [update async for update in side]
            assert update.lines == ["|-message|All players are inactive.", "|", "|tie"]
            assert update.is_last
        resumed = await registry.resume(Journal.from_input_log(room.journal.input_log()))
        assert await resumed.result() == await room.result()
        with pytest.raises(StaleChoice, match="cannot tie"):
            await room.tie("Once more.")


@pytest.mark.parametrize("reason", [" a|b", " a\n|win|Red", "\u2028", "x" * 301, 5])
async def test_a_reason_is_never_syntax(registry: ControllerRegistry, reason: str) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        with pytest.raises(ChoiceRejected, match="reason"):
            await room.p1.forfeit(reason)
        with pytest.raises(ChoiceRejected, match="reason"):
            await room.tie(reason)
        assert room.journal.moves == []
        await room.p1.choose("default")


# What is shown


async def test_team_sheets_are_shown_to_both_and_change_nothing(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings) as registry:
        expected = await record(registry, PREVIEW, SEED)
        room = await registry.open(PREVIEW, seed=SEED)
        await room.show_team_sheets()
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        recorder = Recorder(room, policies_for(SEED))
        for side, tape in ((room.p1, recorder.recording.p1), (room.p2, recorder.recording.p2)):
            first, sheets = await read(side), await read(side)
            assert [line[:13] for line in sheets.lines] == ["|showteam|p1|", "|showteam|p2|"]
            assert sheets.rqid is None
            side._unread.insert(0, first)
            assert tape.lines == []
        assert await recorder.play() == expected
        assert room.journal.moves[0] == Move("sheets", None)
        assert Journal.from_input_log(room.journal.input_log()) == room.journal


async def test_team_sheets_come_before_the_first_turn_or_not_at_all(
    registry: ControllerRegistry,
) -> None:
    async with await registry.open(FORMAT, seed=SEED) as room:
        with pytest.raises(ChoiceRejected, match="before the first turn"):
            await room.show_team_sheets()
        assert room.journal.moves == []


@pytest.mark.parametrize("killed", [False, True])
async def test_a_log_begins_with_who_plays_and_what_for(
    settings: BridgeConfig, killed: bool
) -> None:
    red = Player("Red", avatar="#red", rating=1500)
    async with ControllerRegistry(settings) as registry:
        opening = asyncio.ensure_future(
            registry.open(FORMAT, seed=SEED, p1=red, p2="Blue", rated="Cup battle")
        )
        if killed:
            await asyncio.sleep(0)
            os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
        async with await opening as room:
            for side in (room.p1, room.p2):
                lines = (await read(side)).lines
                assert "|player|p1|Red|#red|1500" in lines
                assert "|player|p2|Blue||" in lines
                assert "|rated|Cup battle" in lines
            assert room.journal == Journal.from_input_log(room.journal.input_log())
        assert registry.stats()["counters"]["deaths"] == killed


@pytest.mark.parametrize(
    "given",
    [
        {"rated": "a|b"},
        {"rated": 5},
        {"p1": Player("Red", avatar="a|b")},
        {"p1": Player("Red", avatar="a\nb")},
        {"p1": Player("Red", rating="1500")},  # type: ignore[arg-type]
        {"p1": Player("Red", rating=1e300)},  # type: ignore[arg-type]
    ],
    ids=str,
)
async def test_what_is_only_shown_is_never_syntax(
    registry: ControllerRegistry, given: dict[str, Any]
) -> None:
    with pytest.raises(BattleRejected, match=r"rated|avatar|rating"):
        await registry.open(FORMAT, **given)


# Closing


async def test_closing_twice_or_at_once_is_closing(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    await asyncio.gather(room.close(), room.close(), room.close())
    await room.close()
    assert room.state is RoomState.CLOSED
    ended = await registry.open(FORMAT, seed=SEED)
    await ended.p1.forfeit()
    await ended.close()
    assert ended.state is RoomState.ENDED


async def test_a_choice_that_nobody_awaits_fails_quietly_with_its_room(
    registry: ControllerRegistry,
) -> None:
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        room = await registry.open(FORMAT, seed=SEED)
        choices = [room.p1.choose("default"), room.p2.choose("default")]
        closing = asyncio.ensure_future(room.close())
        with pytest.raises(RoomClosed):
            await choices[0]
        await closing
        del choices
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert complaints == []


async def test_who_waits_on_a_room_that_is_closed_is_told(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    for side in (room.p1, room.p2):
        await side.next()
    waiting = [
        asyncio.ensure_future(room.p1.next()),
        asyncio.ensure_future(room.p2.next()),
        asyncio.ensure_future(room.result()),
    ]
    choosing = room.p1.choose("move 1")
    await asyncio.sleep(0)
    await room.close()
    for outcome in await asyncio.gather(*waiting, choosing, return_exceptions=True):
        assert isinstance(outcome, RoomClosed)
        assert outcome.room == room.tag


# Forking


async def begun(registry: ControllerRegistry, rounds: int = 4) -> tuple[BattleRoom, Recorder]:
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds)
    return room, recorder


async def test_a_fork_with_unread_updates_plays_on_like_the_original(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room, recorder = await begun(registry)
    fork = await room.fork()
    assert fork.tag != room.tag
    copied = Recorder(fork, recorder.policies)
    head = Recording(
        Tape(recorder.recording.p1.lines[:], recorder.recording.p1.requests[:]),
        Tape(recorder.recording.p2.lines[:], recorder.recording.p2.requests[:]),
    )
    assert await recorder.play() == undisturbed
    tail = await copied.play()
    assert joined(head.p1, tail.p1) == undisturbed.p1
    assert joined(head.p2, tail.p2) == undisturbed.p2
    assert tail.result == undisturbed.result


async def test_a_fork_is_asked_again_what_the_original_has_read_but_not_answered(
    registry: ControllerRegistry,
) -> None:
    room, _ = await begun(registry)
    read = [await room.p1.next(), await room.p2.next()]
    fork = await room.fork()
    asked = [await fork.p1.next(), await fork.p2.next()]
    for before, after in zip(read, asked, strict=True):
        assert before is not None
        assert after is not None
        assert after.text == ""
        assert (after.rqid, after.request) == (before.rqid, before.request)
        assert before.text != ""
    await fork.close()
    await room.close()


async def test_a_fork_in_the_middle_of_a_turn_keeps_the_choice_of_the_side_that_has_chosen(
    registry: ControllerRegistry,
) -> None:
    room, _ = await begun(registry)
    for side in (room.p1, room.p2):
        await side.next()
    await room.p1.choose("default")
    fork = await room.fork()
    with pytest.raises(StaleChoice, match="already answered"):
        await fork.p1.choose("default")
    assert await fork.p2.next() is not None
    played = []
    for each in (room, fork):
        await each.p2.choose("default")
        played.append(await Recorder(each, policies_for(SEED)).play())
    assert played[0] == played[1]


async def test_a_fork_and_its_original_go_their_own_ways(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room, recorder = await begun(registry)
    forks = [await room.fork() for _ in range(2)]
    others = [await Recorder(fork, policies_for(100 + n)).play() for n, fork in enumerate(forks)]
    assert others[0].p1 != others[1].p1
    assert await recorder.play() == undisturbed


async def test_a_fork_of_a_fork_is_a_fork(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room, recorder = await begun(registry)
    fork = await room.fork()
    second = await fork.fork()
    await room.close()
    await fork.close()
    tail = await Recorder(second, recorder.policies).play()
    assert tail.result == undisturbed.result
    assert joined(recorder.recording.p2, tail.p2) == undisturbed.p2


async def test_a_fork_while_choices_are_in_flight_comes_after_them(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    policies = policies_for(SEED)
    updates = [await room.p1.next(), await room.p2.next()]
    for side, policy, update in zip((room.p1, room.p2), policies, updates, strict=True):
        assert update is not None
        assert update.request is not None
        side.choose(policy.choose(update.request), rqid=update.rqid)
    fork = await room.fork()
    assert len(fork.journal.moves) == 2
    await room.close()
    tail = await Recorder(fork, policies).play()
    assert tail.result == undisturbed.result
    assert undisturbed.p1.lines[-len(tail.p1.lines) :] == tail.p1.lines


async def test_a_fork_on_a_full_controller_goes_elsewhere(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room, recorder = await begun(registry)
    assert room.controller is not None
    forks = [await room.fork() for _ in range(2)]
    assert {fork.controller for fork in forks} == {room.controller}
    elsewhere = await room.fork()
    assert elsewhere.controller not in (None, room.controller)
    for fork in (elsewhere, *forks):
        tail = await Recorder(fork, recorder.policies).play()
        assert tail.result == undisturbed.result
        assert joined(recorder.recording.p1, tail.p1) == undisturbed.p1
    await room.close()


async def test_a_fork_when_all_places_are_taken_waits_and_then_says_so(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings, rooms_per_controller=2, open_timeout=0.3) as registry:
        room, recorder = await begun(registry)
        other = await registry.open(FORMAT, seed=SEED)
        with pytest.raises(PoolExhausted):
            await room.fork()
        assert registry.stats()["pool"]["rooms"] == 2
        forking = asyncio.ensure_future(room.fork())
        await asyncio.sleep(0)
        await other.close()
        fork = await forking
        policies = recorder.policies
        assert await Recorder(fork, policies).play() is not None
        await room.close()


@pytest.mark.parametrize("name", ["[Side:p2]", "[Side]", "[Pokemon:p1a]", "[Pokemon", "[Battle]"])
async def test_a_name_that_looks_like_a_reference_survives_a_fork(
    registry: ControllerRegistry, undisturbed: Recording, name: str
) -> None:
    room = await registry.open(FORMAT, seed=SEED, p1=name)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(4)
    fork = await room.fork()
    tail = await Recorder(fork, recorder.policies).play()
    assert tail.result == undisturbed.result
    for before, after in zip(
        undisturbed.p2.lines[-len(tail.p2.lines) :], tail.p2.lines, strict=True
    ):
        assert after == before.replace("Player 1", name)
    await room.close()


async def test_a_fork_keeps_custom_rules(registry: ControllerRegistry) -> None:
    rules = "gen9randombattle@@@Inverse Mod,Scalemons Mod"
    expected = await record(registry, rules, SEED)
    room = await registry.open(rules, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(3)
    fork = await room.fork()
    tail = await Recorder(fork, recorder.policies).play()
    assert joined(recorder.recording.p1, tail.p1) == expected.p1
    assert tail.result == expected.result
    await room.close()


@pytest.mark.parametrize("name", ["gen9randombattlesharedpowerb12p6", "gen9randomroulette"])
async def test_a_battle_that_the_simulator_cannot_copy_is_forked_by_playing_it_again(
    registry: ControllerRegistry, name: str
) -> None:
    expected = await record(registry, name, SEED)
    room = await registry.open(name, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(4)
    opened = registry.trips.total("open").count
    fork = await room.fork()
    head = Tape(recorder.recording.p1.lines[:], recorder.recording.p1.requests[:])
    tail = await Recorder(fork, recorder.policies).play()
    assert joined(head, tail.p1) == expected.p1
    assert tail.result == expected.result
    assert registry.trips.total("open").count == opened + 1
    assert await recorder.play() == expected


async def test_a_fork_and_its_original_survive_their_controller(
    settings: BridgeConfig, undisturbed: Recording
) -> None:
    async with ControllerRegistry(settings) as registry:
        room, recorder = await begun(registry)
        fork = await room.fork()
        copied = Recorder(fork, recorder.policies)
        head = Tape(recorder.recording.p1.lines[:], recorder.recording.p1.requests[:])
        await copied.play(2)
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        assert await recorder.play() == undisturbed
        tail = await copied.play()
        assert joined(head, tail.p1) == undisturbed.p1
        assert registry.stats()["counters"]["battles_moved"] == 2


async def test_a_fork_that_is_asked_for_as_the_controller_dies_still_comes(
    settings: BridgeConfig, undisturbed: Recording
) -> None:
    async with ControllerRegistry(settings) as registry:
        room, recorder = await begun(registry)
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        fork = await room.fork()
        tail = await Recorder(fork, recorder.policies).play()
        assert joined(recorder.recording.p1, tail.p1) == undisturbed.p1
        await room.close()


async def test_a_fork_that_takes_longer_than_a_room_may_idle_still_comes(
    settings: BridgeConfig,
) -> None:
    patient = settings.replace(idle_timeout=0.2, response_timeout=30.0)
    async with ControllerRegistry(patient) as registry:
        room = await registry.open(FORMAT, seed=SEED)
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGSTOP)
        forking = asyncio.ensure_future(room.fork())
        await until(lambda: len(registry._rooms) == 2)
        await asyncio.sleep(1.0)
        os.kill(room.controller.pid, signal.SIGCONT)
        async with asyncio.timeout(10):
            fork = await forking
            assert await fork.p1.next() is not None
        await asyncio.gather(fork.close(), room.close())


async def test_a_fork_for_which_there_is_no_room_any_more_is_told_so(
    registry: ControllerRegistry,
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    forking = asyncio.ensure_future(room.fork())
    while len(registry._rooms) < 2:  # noqa: ASYNC110 — its answer may be there a moment later
        await asyncio.sleep(0)
    _, copy = registry._rooms.values()
    copy.abandon(RoomClosed("somebody closed the copy", room=copy.tag))
    async with asyncio.timeout(10):
        with pytest.raises(RoomClosed, match="somebody closed the copy"):
            await forking
        await room.p1.choose("default")
    await room.close()


# Resuming


@pytest.mark.parametrize("rounds", [0, 1, 7])
async def test_a_battle_can_be_resumed_from_its_journal(
    registry: ControllerRegistry, undisturbed: Recording, rounds: int
) -> None:
    room, recorder = await begun(registry, rounds)
    text = room.journal.input_log()
    await room.close()
    resumed = await registry.resume(Journal.from_input_log(text))
    assert resumed.journal.moves == room.journal.moves
    tail = await Recorder(resumed, recorder.policies).play()
    assert tail.result == undisturbed.result
    assert undisturbed.p1.lines[-len(tail.p1.lines) :] == tail.p1.lines
    assert undisturbed.p1.requests[-len(tail.p1.requests) :] == tail.p1.requests


async def test_a_journal_that_leads_to_the_end_resumes_at_the_end(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room, recorder = await begun(registry)
    await recorder.play()
    resumed = await registry.resume(room.journal.copy())
    assert await resumed.result() == undisturbed.result
    assert resumed.state is RoomState.ENDED


async def test_a_battle_that_goes_on_leaves_the_journal_it_was_resumed_from_alone(
    registry: ControllerRegistry,
) -> None:
    room, recorder = await begun(registry)
    await room.close()
    journal = room.journal.copy()
    resumed = await registry.resume(journal)
    await Recorder(resumed, recorder.policies).play()
    assert len(resumed.journal.moves) > len(journal.moves)
    assert journal == room.journal


# Figures


async def test_battles_that_were_opened_forked_or_resumed_are_counted_and_those_that_failed_are_not(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings, rooms_per_controller=1, open_timeout=0.1) as registry:
        room = await registry.open(FORMAT, seed=SEED)
        assert registry.counters.battles_opened == 1
        with pytest.raises(PoolExhausted):
            await room.fork()
        await room.close()
        with pytest.raises(BattleRejected):
            await registry.open("gen1nosuchformat")
        assert registry.counters.battles_opened == 1
        resumed = await registry.resume(room.journal)
        assert registry.counters.battles_opened == 2
        await resumed.close()
        with pytest.raises(BattleRejected):
            await registry.resume(Journal("gen1nosuchformat", "1,2,3,4", *players(room)))
        assert registry.counters.battles_opened == 2


def players(room: BattleRoom) -> tuple[Player, Player]:
    return room.journal.p1, room.journal.p2


async def test_giving_up_is_no_decision(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    await room.p1.choose("default")
    await room.p2.forfeit()
    assert room.decisions == 1


# Controllers that die


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_closing_a_room_whose_controller_is_dying_gives_its_place_back(
    settings: BridgeConfig, fault: signal.Signals
) -> None:
    async with ControllerRegistry(settings, warmup_battles=1, response_timeout=3.0) as registry:
        room = await registry.open(FORMAT, seed=SEED)
        assert room.controller is not None
        os.kill(room.controller.pid, fault)
        async with asyncio.timeout(30):
            await room.close()
        assert registry.stats()["pool"]["rooms"] == 0
        assert registry.stats()["pool"]["moving"] == 0


async def test_closing_a_battle_that_breaks_as_its_controller_dies_gives_its_place_back(
    settings: BridgeConfig,
) -> None:
    breakable = settings.replace(node_arguments=("--require", str(POISON)))
    async with ControllerRegistry(breakable) as registry:
        room = await registry.open(FORMAT, seed=SEED)
        # Node says that the battle broke, and ends before it comes to the second command.
        room.p1.choose("fault throw, then exit")
        async with asyncio.timeout(20):
            await room.close()
        assert registry.stats()["pool"]["rooms"] == 0
        assert registry.stats()["counters"]["deaths"] == 1


async def test_when_a_battle_comes_out_otherwise_elsewhere_everybody_is_told(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings) as registry:
        room, _ = await begun(registry)
        room.journal.moves.pop()
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(room.result()),
            room.p1.choose("default"),
        ]
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        waiting += [room.p2.choose("default"), asyncio.ensure_future(room.fork())]
        async with asyncio.timeout(20):
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        for outcome in outcomes:
            assert isinstance(outcome, ProtocolViolation)
            assert outcome.message.startswith("the replay leads to request")
        with pytest.raises(ProtocolViolation, match="the replay leads to request"):
            room.p1.choose("default")
        assert registry.stats()["pool"]["rooms"] == 0
        assert [controller.load for controller in registry._ready()] == [0]


async def test_a_battle_that_is_being_opened_when_its_controller_dies_is_opened_elsewhere(
    settings: BridgeConfig, undisturbed: Recording
) -> None:
    async with ControllerRegistry(settings) as registry:
        opening = asyncio.ensure_future(registry.open(FORMAT, seed=SEED))
        await asyncio.sleep(0)
        os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
        room = await opening
        assert await Recorder(room, policies_for(SEED)).play() == undisturbed
        assert registry.stats()["counters"]["deaths"] == 1


async def test_choices_in_flight_when_the_controller_dies_are_taken_once(
    settings: BridgeConfig, undisturbed: Recording
) -> None:
    async with ControllerRegistry(settings) as registry:
        room, recorder = await begun(registry)
        policies = recorder.policies
        choices = []
        tapes = (recorder.recording.p1, recorder.recording.p2)
        for side, policy, tape in zip((room.p1, room.p2), policies, tapes, strict=True):
            update = await side.next()
            assert update is not None
            assert update.request is not None
            tape.note(update)
            choices.append(side.choose(policy.choose(update.request), rqid=update.rqid))
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        await asyncio.gather(*choices)
        moves = len(room.journal.moves)
        tail = await Recorder(room, policies).play()
        assert joined(tapes[0], tail.p1) == undisturbed.p1
        assert joined(tapes[1], tail.p2) == undisturbed.p2
        assert len(room.journal.moves) > moves


async def test_teams_that_were_given_are_the_same_after_a_move(settings: BridgeConfig) -> None:
    team = "Garchomp @ Leftovers\nAbility: Rough Skin\nEVs: 252 Atk\n- Earthquake\n- Dragon Claw\n"
    red, blue = Player("Red", team), Player("Blue", team)
    async with ControllerRegistry(settings) as registry:
        expected = await record(registry, "gen9ou", SEED, p1=red, p2=blue)
        room = await registry.open("gen9ou", seed=SEED, p1=red, p2=blue)
        recorder = Recorder(room, policies_for(SEED))
        await recorder.play(1)
        assert room.controller is not None
        os.kill(room.controller.pid, signal.SIGKILL)
        assert await recorder.play() == expected


# States


async def test_a_room_refuses_every_transition_that_is_not_foreseen(
    registry: ControllerRegistry,
) -> None:
    over = (RoomState.ENDED, RoomState.CLOSED, RoomState.FAILED)
    forbidden = [
        *itertools.product(over, RoomState),
        (RoomState.PLAYING, RoomState.OPENING),
        (RoomState.PLAYING, RoomState.PLAYING),
        (RoomState.MOVING, RoomState.MOVING),
    ]
    room = await registry.open(FORMAT, seed=SEED)
    for state, following in forbidden:
        room.state = state
        with pytest.raises(AssertionError, match="cannot go from"):
            room._become(following)
        assert room.state is state
    room.state = RoomState.PLAYING
    await room.close()
