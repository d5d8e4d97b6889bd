"""A process that observes battles from outside gives the bytes that the bridge gives inside."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from bridge.runtime import find_node
from maple.play.errors import ObservationFailed, ObserverClosed, ObserverDied
from maple.play.observer import ObservedBattle, Observer
from tests.maple.observation.matchups import every_kind, every_theme
from tests.maple.observation.recorded import GROUPS, Matchup, RecordedBattle, RecordedSide, record
from tests.serving import node_that

TRAP = Path(__file__).with_name("trap.js")
# A request of which nothing can be made.
BROKEN = '{"side":{"id":"p1","pokemon":[{"ident":"p1: Ditto"}]}}'


@pytest.fixture
async def observer() -> AsyncIterator[Observer]:
    observer = Observer(GROUPS, timeout=30.0)
    yield observer
    await observer.close()
    assert observer.pid is None


async def replay(
    observer: Observer, sides: list[RecordedSide], *, kill_at: frozenset[int] = frozenset()
) -> int:
    """Tells of battles all at once, a decision each in turn; how many were observed the same."""
    told = [(observer.follow(f"battle-{at}"), iter(side.seen)) for at, side in enumerate(sides)]
    count = 0
    while told:
        for battle, seen in list(told):
            if not await observe_next(battle, seen):
                told.remove((battle, seen))
                battle.close()
                continue
            count += 1
            if count in kill_at:
                assert observer.pid is not None
                os.kill(observer.pid, signal.SIGKILL)
    return count


async def observe_next(battle: ObservedBattle, rest: object) -> bool:
    """Tells of a battle up to its next decision, and compares; False if there is none."""
    for seen in rest:  # type: ignore[attr-defined]
        battle.hear(seen.lines)
        if seen.request is not None:
            battle.ask(seen.request)
        if seen.must_choose:
            assert await battle.observe() == seen.observation
            return True
    return False


async def test_what_a_player_is_told_gives_the_bytes_of_the_bridge(
    observer: Observer, battles: list[RecordedBattle]
) -> None:
    sides = [side for battle in battles for side in battle.sides]
    assert await replay(observer, sides) == sum(len(side.decisions) for side in sides) > 300
    assert observer.starts == 1


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_battles_of_every_kind_and_theme_give_the_bytes_of_the_bridge(
    observer: Observer,
) -> None:
    for seed in range(200, 203):
        matchups = [*every_kind(1, seed), *every_theme(1, seed)]
        recorded = await asyncio.to_thread(record, matchups)
        sides = [side for battle in recorded for side in battle.sides]
        assert await replay(observer, sides) > 2_000


async def test_full_damage_is_the_same_too() -> None:
    groups = (*GROUPS, "calc")
    observer = Observer(groups)
    matchups = [Matchup("gen9randombattle", 3)]
    recorded = await asyncio.to_thread(record, matchups, observe=groups)
    try:
        assert await replay(observer, list(recorded[0].sides)) > 20
    finally:
        await observer.close()


async def test_a_process_that_is_killed_takes_no_battle_with_it(
    observer: Observer, battles: list[RecordedBattle]
) -> None:
    sides = [side for battle in battles[:2] for side in battle.sides]
    decisions = sum(len(side.decisions) for side in sides)
    assert await replay(observer, sides, kill_at=frozenset((1, 20, 50))) == decisions
    assert observer.starts == 4


async def test_a_process_that_is_held_still_is_replaced(battles: list[RecordedBattle]) -> None:
    observer = Observer(GROUPS, timeout=0.5)
    side = battles[0].p1
    seen = iter(side.seen)
    battle = observer.follow("battle-held")
    try:
        assert await observe_next(battle, seen)
        assert observer.pid is not None
        os.kill(observer.pid, signal.SIGSTOP)
        assert await observe_next(battle, seen)
        # A machine that is busy may be as slow as one that is held.
        assert observer.starts >= 2
    finally:
        await observer.close()


async def test_a_battle_that_cannot_be_followed_fails_alone(
    observer: Observer, battles: list[RecordedBattle]
) -> None:
    seen = iter(battles[0].p1.seen)
    sound, broken = observer.follow("battle-sound"), observer.follow("battle-broken")
    assert await observe_next(sound, seen)
    broken.ask(BROKEN)
    for _ in range(2):
        with pytest.raises(ObservationFailed, match=r"\(crashed\): TypeError") as failed:
            await broken.observe()
        assert failed.value.room == "battle-broken"
    while await observe_next(sound, seen):
        pass
    assert observer.starts == 1


async def test_a_battle_that_ends_processes_fails_alone(
    tmp_path: Path, battles: list[RecordedBattle]
) -> None:
    trapping = f'exec "{find_node().path}" --require "{TRAP}" "$@"'
    observer = Observer(GROUPS, node=node_that(tmp_path / "node", trapping))
    try:
        sound, trapped = observer.follow("battle-sound"), observer.follow("battle-trapped")
        seen = iter(battles[0].p1.seen)
        assert await observe_next(sound, seen)
        first = battles[0].p2.decisions[0]
        trapped.hear([*first.lines, "|trap|"])
        trapped.ask(first.request or "")
        with pytest.raises(ObservationFailed, match=r"has ended 2 processes.*status 7"):
            await trapped.observe()
        assert await observe_next(sound, seen)
        assert observer.starts == 3
    finally:
        await observer.close()


async def test_a_process_that_cannot_be_kept_up_is_given_up(tmp_path: Path) -> None:
    observer = Observer(GROUPS, node=node_that(tmp_path / "node", "echo no luck >&2; exit 3"))
    battle = observer.follow("battle-none")
    battle.ask(BROKEN)
    with pytest.raises(ObserverDied, match="ended with status 3") as died:
        await battle.observe()
    assert (died.value.room, died.value.exit_status) == ("battle-none", 3)
    assert "no luck" in died.value.stderr
    assert observer.starts == 5
    await observer.close()


async def test_a_command_that_is_not_understood_is_not_waited_for(observer: Observer) -> None:
    """Its answer has no number."""
    connection = await observer.connect()
    assert connection._transport is not None
    connection._transport.write(b"no command\n")
    waiting = connection.send("open", "battle-none", groups=GROUPS)
    with pytest.raises(ObserverDied, match=r"could not read a command.*JSON"):
        await observer.answer(connection, waiting)


async def test_who_waits_while_an_observer_closes_is_told(battles: list[RecordedBattle]) -> None:
    observer = Observer(GROUPS)
    battle = observer.follow("battle-late")
    assert await observe_next(battle, iter(battles[0].p1.seen))
    assert observer.pid is not None
    os.kill(observer.pid, signal.SIGSTOP)
    waiting = asyncio.ensure_future(battle.observe())
    await asyncio.sleep(0)
    await observer.close()
    with pytest.raises(ObserverClosed):
        await waiting


async def test_lines_of_a_long_battle_are_told_in_parts(
    observer: Observer, battles: list[RecordedBattle]
) -> None:
    side = battles[0].p1
    battle = observer.follow("battle-long")
    for seen in side.seen[:-1]:
        battle.hear([*seen.lines, *(f"|c|☆Somebody|{number}" for number in range(100))])
        if seen.request is not None:
            battle.ask(seen.request)
    last = [seen for seen in side.seen[:-1] if seen.observation is not None][-1]
    assert orjson.loads(last.request or "")["side"]["id"] == "p1"
    assert await battle.observe() == last.observation
