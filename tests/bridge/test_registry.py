"""The life of a registry: starting, closing, failing, and the same battles whatever its size."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import orjson
import psutil
import pytest
from structlog.testing import capture_logs

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, Player, Result
from bridge.errors import (
    BattleRejected,
    BridgeError,
    ControllerDied,
    ControllerUnresponsive,
    PoolExhausted,
    ProtocolViolation,
    RegistryClosed,
    RoomClosed,
)
from bridge.formats import FormatFacts
from bridge.workload import policies_for
from tests.conftest import controllers, until
from tests.recording import Recorder, Recording, record_all

pytestmark = pytest.mark.timeout(60)

FORMAT = "gen1randombattle"
Refuse = Callable[[str], object]
FAULTS = Path(__file__).resolve().parents[1] / "adversity" / "faults"


# Starting


async def test_a_registry_is_of_no_use_before_it_starts_nor_after_it_is_closed(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings)
    assert repr(registry).startswith("<ControllerRegistry: not started, 0 of 1 ready")
    with pytest.raises(RegistryClosed, match="async with"):
        await registry.open(FORMAT)
    async with registry:
        assert repr(registry).startswith("<ControllerRegistry: open, 1 of 1 ready")
        with pytest.raises(RegistryClosed, match="started once"):
            await registry.start()
        room = await registry.open(FORMAT)
        await room.p1.forfeit()
    assert repr(registry).startswith("<ControllerRegistry: closed, 0 of 1 ready")
    for deed in (registry.open(FORMAT), registry.start(), registry.resume(room.journal)):
        with pytest.raises(RegistryClosed):
            await deed


@pytest.mark.parametrize("number", [0, 8])
def test_a_number_is_no_settings_and_the_error_says_how_to_give_one(number: int) -> None:
    with pytest.raises(TypeError, match="pool=8"):
        ControllerRegistry(number)  # type: ignore[arg-type]


async def test_closing_what_never_started_and_closing_twice_do_nothing(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings)
    await registry.close()
    registry = ControllerRegistry(settings)
    await registry.start()
    await asyncio.gather(registry.close(), registry.close())
    await registry.close()
    assert registry.stats()["counters"]["deaths"] == 0


@pytest.fixture
def refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Keeps controllers from coming up, from now on: `once`, or `always`."""
    path = tmp_path / "flag"
    monkeypatch.setenv("FLAG", str(path))
    return path.write_text


@pytest.fixture
def reluctant(settings: BridgeConfig, refuse: Refuse) -> BridgeConfig:
    return settings.replace(
        node_arguments=("--require", str(FAULTS / "refuse.js")),
        start_attempts=3,
        backoff_base=0.01,
    )


async def test_a_broken_installation_shows_with_the_first_controller(
    reluctant: BridgeConfig, refuse: Refuse
) -> None:
    refuse("always")
    registry = ControllerRegistry(reluctant, pool=4)
    with pytest.raises(ControllerDied) as death:
        await registry.start()
    assert death.value.exit_status == 3
    assert "this process was told not to come up" in death.value.stderr
    assert registry.stats()["counters"]["starts"] == 1
    assert not controllers()
    with pytest.raises(RegistryClosed):
        await registry.open(FORMAT)


async def test_a_pool_of_which_only_a_part_comes_up_does_not_start(
    reluctant: BridgeConfig, refuse: Refuse
) -> None:
    registry = ControllerRegistry(reluctant, pool=3)
    progress: list[str] = []

    def break_the_rest(line: str) -> None:
        progress.append(line)
        refuse("always")

    with pytest.raises(ControllerDied, match="status 3"):
        await registry.start(progress=break_the_rest)
    assert progress == ["1 of 3 controllers are ready"]
    assert not controllers()


@pytest.mark.parametrize("battle_format", ["gen9nosuchformat", "gen9ou", "gen9freeforall"])
async def test_a_warm_up_that_cannot_be_played_fails_the_start(
    settings: BridgeConfig, battle_format: str
) -> None:
    registry = ControllerRegistry(settings, warmup_battles=1, warmup_format=battle_format)
    with pytest.raises(ProtocolViolation, match="Node refused warm"):
        await registry.start()
    assert not controllers()


async def test_a_controller_that_is_not_ready_in_time_fails_the_start(
    settings: BridgeConfig, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.js"
    endless.write_text("for (;;);")
    registry = ControllerRegistry(
        settings, start_timeout=0.1, node_arguments=("--require", str(endless))
    )
    with pytest.raises(ControllerUnresponsive, match=r"not ready after 0\.1 s"):
        await registry.start()
    assert not controllers()


# Warming


async def test_battles_do_not_wait_for_a_controller_that_warms(settings: BridgeConfig) -> None:
    warming = settings.replace(warmup_battles=1_000_000, warmup_format=FORMAT, heartbeat=0.05)
    async with ControllerRegistry(warming) as registry:
        (played,) = await record_all(registry, [(FORMAT, 1)])
        assert played.result is not None
        await until(lambda: registry.stats()["controllers"][0]["warm"][0] > 0)
        stats = registry.stats()
        done, wanted = stats["controllers"][0]["warm"]
        assert 0 < done < wanted == 1_000_000
        assert stats["pool"]["warmth"] == done / wanted
        assert stats["controllers"][0]["state"] == "ready"
        waiting = asyncio.ensure_future(registry.warmed())
        await asyncio.sleep(0.2)
        assert not waiting.done()
    with pytest.raises(RegistryClosed):
        await waiting


async def test_whoever_wants_a_warm_pool_can_wait_for_it(settings: BridgeConfig) -> None:
    warming = settings.replace(warmup_battles=3, warmup_format=FORMAT, heartbeat=0.05)
    async with ControllerRegistry(warming, pool=2) as registry:
        await registry.warmed()
        assert [c["warm"] for c in registry.stats()["controllers"]] == [[3, 3], [3, 3]]
    async with ControllerRegistry(settings) as registry:
        await registry.warmed()
        assert registry.stats()["controllers"][0]["warm"] == [0, 0]
        assert registry.stats()["pool"]["warmth"] == 1


# Failing


async def test_a_controller_that_comes_up_at_the_second_attempt_is_as_good(
    reluctant: BridgeConfig, refuse: Refuse
) -> None:
    async with ControllerRegistry(reluctant) as registry:
        room = await registry.open(FORMAT, seed=1)
        recorder = Recorder(room, policies_for(1))
        await recorder.play(rounds=2)
        refuse("once")
        os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
        played = await recorder.play()
        assert played.result is not None
        counters = registry.stats()["counters"]
        assert (counters["failed_starts"], counters["starts"]) == (1, 3)
        assert counters["battles_moved"] == 1


async def test_when_no_controller_comes_up_any_more_everybody_is_told_why(
    reluctant: BridgeConfig, refuse: Refuse
) -> None:
    registry = ControllerRegistry(reluctant, rooms_per_controller=2)
    await registry.start()
    rooms = [await registry.open(FORMAT, seed=seed) for seed in range(2)]
    for room in rooms:
        await room.p1.next()
    waiting = [
        asyncio.ensure_future(work)
        for work in (
            rooms[0].p1.next(),
            rooms[0].result(),
            rooms[1].result(),
            registry.open(FORMAT),
            rooms[0].fork(),
        )
    ]
    await until(lambda: len(registry._waiting) == 2)
    choosing = rooms[1].p1.choose("move 1")
    refuse("always")
    os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*waiting, choosing, return_exceptions=True)
        cause = await registry.failure()
    for outcome in (cause, *outcomes):
        assert isinstance(outcome, ControllerDied)
        assert outcome.exit_status == 3
        assert "this process was told not to come up" in outcome.stderr
    tags = [outcome.room for outcome in outcomes if isinstance(outcome, ControllerDied)]
    assert tags == [rooms[0].tag, rooms[0].tag, rooms[1].tag, None, None, rooms[1].tag]
    assert registry.stats()["counters"]["failed_starts"] == 3
    for deed in (registry.open(FORMAT), rooms[0].p2.forfeit(), rooms[1].p1.forfeit()):
        with pytest.raises(ControllerDied):
            await deed
    await registry.close()
    assert not controllers()


async def test_when_the_pool_itself_breaks_everybody_is_told_and_the_cause_is_kept(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mishap(Exception):
        pass

    async def break_down(*_: object) -> None:
        raise Mishap

    registry = ControllerRegistry(settings)
    await registry.start()
    room = await registry.open(FORMAT)
    assert room.controller is not None
    monkeypatch.setattr(registry._pool, "_fill", break_down)
    with capture_logs() as logs:
        os.kill(room.controller.pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            failure = await registry.failure()
            with pytest.raises(BridgeError, match="the pool failed") as told:
                await room.result()
    assert isinstance(failure.__cause__, Mishap)
    assert told.value.__cause__ is failure.__cause__
    (entry,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert entry["exc_info"] is failure.__cause__
    await registry.close()


async def test_a_limit_of_memory_below_what_a_fresh_process_uses_recycles_nobody(
    settings: BridgeConfig,
) -> None:
    with capture_logs() as logs:
        async with ControllerRegistry(
            settings, pool=2, recycle_memory_mb=1, heartbeat=0.02
        ) as registry:
            await record_all(registry, [(FORMAT, 1), (FORMAT, 2)])
            os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
            await until(lambda: registry.stats()["counters"]["starts"] == 3)
            await until(lambda: registry.stats()["pool"]["ready"] == 2)
            await record_all(registry, [(FORMAT, 1), (FORMAT, 2)])
            counters = registry.stats()["counters"]
    assert (counters["starts"], counters["recycled"]) == (3, {})
    (warning,) = [entry for entry in logs if "recycle_memory_mb" in entry["event"]]
    assert warning["log_level"] == "warning"


async def test_the_memory_of_a_controller_is_known_from_the_first_moment(
    settings: BridgeConfig,
) -> None:
    async with ControllerRegistry(settings, heartbeat=3600.0) as registry:
        (controller,) = registry.stats()["controllers"]
        assert controller["rss"] > controller["heap"] > 1_000_000


# Closing


async def test_closing_waits_for_battles_that_are_being_played(settings: BridgeConfig) -> None:
    registry = ControllerRegistry(settings, drain_timeout=30.0)
    await registry.start()
    room = await registry.open(FORMAT, seed=1)
    playing = asyncio.ensure_future(Recorder(room, policies_for(1)).play())
    await until(lambda: len(room.journal.moves) > 2)
    closing = asyncio.ensure_future(registry.close())
    await asyncio.sleep(0)
    with pytest.raises(RegistryClosed):
        await registry.open(FORMAT)
    played = await playing
    assert isinstance(played.result, Result)
    await closing


async def test_a_battle_goes_on_while_the_registry_closes_even_if_its_controller_dies(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings, drain_timeout=30.0)
    await registry.start()
    room = await registry.open(FORMAT, seed=1)
    recorder = Recorder(room, policies_for(1))
    await recorder.play(rounds=3)
    playing = asyncio.ensure_future(recorder.play())
    closing = asyncio.ensure_future(registry.close())
    await asyncio.sleep(0)
    os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
    assert (await playing).result is not None
    await closing


async def test_closing_does_not_wait_for_battles_that_nobody_plays(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings, drain_timeout=600.0)
    await registry.start()
    room = await registry.open(FORMAT, seed=1)
    waiting = asyncio.ensure_future(room.result())
    async with asyncio.timeout(30):
        await registry.close()
    with pytest.raises(RoomClosed):
        await waiting


async def test_closing_at_once_cuts_short_a_close_that_waits_for_battles(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings, drain_timeout=600.0)
    await registry.start()
    room = await registry.open(FORMAT, seed=1)
    assert room.controller is not None
    os.kill(room.controller.pid, signal.SIGSTOP)
    choice = room.p1.choose("move 1")
    patient = asyncio.ensure_future(registry.close())
    await asyncio.wait([patient], timeout=0.1)
    assert not room.is_over
    # Before the stopped controller is missed, which takes three seconds.
    async with asyncio.timeout(2.5):
        await registry.close(drain=False)
        await patient
        with pytest.raises(RoomClosed):
            await choice


async def test_an_error_in_the_body_closes_at_once(settings: BridgeConfig) -> None:
    class Mishap(Exception):
        pass

    rooms: list[BattleRoom] = []

    async def work() -> None:
        async with ControllerRegistry(settings, drain_timeout=600.0) as registry:
            rooms.append(await registry.open(FORMAT, seed=1))
            raise Mishap

    with pytest.raises(Mishap):
        await asyncio.wait_for(work(), 30)
    assert rooms[0].is_over


async def test_closing_ends_a_controller_that_is_stopped(settings: BridgeConfig) -> None:
    registry = ControllerRegistry(settings, terminate_timeout=0.2, response_timeout=60.0)
    await registry.start()
    process = psutil.Process(registry.stats()["controllers"][0]["pid"])
    process.suspend()
    async with asyncio.timeout(30):
        await registry.close(drain=False)
    assert not process.is_running()


async def test_who_was_promised_a_place_as_the_registry_closes_is_told(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings, rooms_per_controller=1)
    await registry.start()
    room = await registry.open(FORMAT)
    opening = asyncio.ensure_future(registry.open(FORMAT))
    await until(lambda: registry._waiting)
    room.fail(RoomClosed("the room goes, and its place is promised, in this very step"))
    async with asyncio.timeout(30):
        await registry.close(drain=False)
        with pytest.raises(BridgeError) as refusal:
            await opening
    assert isinstance(refusal.value, RegistryClosed | RoomClosed)


async def test_a_battle_that_is_being_opened_as_the_registry_closes_is_told(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings)
    await registry.start()
    opening = asyncio.ensure_future(registry.open(FORMAT))
    await until(lambda: registry._rooms)
    async with asyncio.timeout(30):
        await registry.close(drain=False)
        with pytest.raises(RoomClosed):
            await opening


# Opening


@pytest.mark.parametrize("player", [5, None, ("Red", None), b"Red"])
async def test_a_player_that_is_neither_a_name_nor_a_player_is_refused_and_the_error_says_what_is(
    settings: BridgeConfig, player: object
) -> None:
    registry = ControllerRegistry(settings)
    with pytest.raises(BattleRejected, match="p2 is a name or a Player, not"):
        await registry.open(FORMAT, p2=player)  # type: ignore[arg-type]


# Formats and teams

TEAM = (
    "Garchomp @ Leftovers\nAbility: Rough Skin\nTera Type: Fire\nEVs: 252 Spe\nJolly Nature\n"
    "- Earthquake\n"
)
PACKED = "Garchomp||Leftovers|RoughSkin|Earthquake|Jolly|,,,,,252|||||,,,,,Fire"


async def test_a_format_is_described_once(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        facts = await asyncio.gather(*(registry.describe_format("[Gen 9] OU") for _ in range(9)))
        assert (
            facts
            == [
                FormatFacts(
                    id="gen9ou",
                    name="[Gen 9] OU",
                    game_type="singles",
                    needs_team=True,
                    best_of=None,
                    is_ladder=True,
                    rated=True,
                    offers_team_sheets=False,
                    has_team_preview=True,
                    timer={},
                )
            ]
            * 9
        )
        assert await registry.describe_format("[Gen 9] OU") == facts[0]
        assert registry.trips.total("describe").count == 1


async def test_a_format_is_described_with_its_rules(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        rules = await registry.describe_format("gen9randombattle@@@Blitz,Best of = 3")
        assert rules.id == "gen9randombattle@@@Blitz,Best of = 3"
        assert (rules.needs_team, rules.has_team_preview, rules.is_ladder) == (False, False, False)
        assert rules.best_of == 3
        assert rules.timer["starting"] == 15
        doubles = await registry.describe_format("gen9vgc2025regi")
        assert (doubles.game_type, doubles.offers_team_sheets) == ("doubles", True)
        assert doubles.timer["timeoutAutoChoose"] is True
        assert not (await registry.describe_format("gen9unratedrandombattle")).rated


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("gen1nosuchformat", 'Unrecognized format "gen1nosuchformat"'),
        ("gen9ou@@@No Such Rule", "No Such Rule"),
        ("gen9freeforallrandombattle", "4 players; rooms have two sides"),
        ("x" * 3000, "format has 3000 characters"),
        ("x" * 20_000_000, "20000000 characters are too many for a format"),
        ("", "format is not a text"),
        ("\ud800", "cannot be encoded"),
        (5, "a format is a text, not 5"),
    ],
    ids=lambda value: str(value)[:30].encode("ascii", "replace").decode(),
)
async def test_what_is_no_format_is_rejected_with_the_reason(
    settings: BridgeConfig, name: str, complaint: str
) -> None:
    async with ControllerRegistry(settings) as registry:
        for _ in range(2):
            with pytest.raises(BattleRejected, match=re.escape(complaint)):
                await registry.describe_format(name)
            with pytest.raises(BattleRejected, match=re.escape(complaint)):
                await registry.validate_team(name, TEAM)
        assert registry.stats()["counters"]["deaths"] == 0


async def test_a_team_is_validated_once_and_comes_back_packed(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        teams = await asyncio.gather(*(registry.validate_team("gen9ou", TEAM) for _ in range(9)))
        assert teams == [PACKED] * 9
        assert registry.trips.total("validate").count == 1
        assert await registry.validate_team("gen9ou", PACKED) == PACKED
        assert await registry.validate_team("gen9ubers", PACKED) == PACKED
        assert registry.trips.total("validate").count == 3


@pytest.mark.parametrize("team", [None, "", TEAM, "nonsense"])
async def test_where_the_format_makes_teams_none_is_needed(
    settings: BridgeConfig, team: str | None
) -> None:
    async with ControllerRegistry(settings) as registry:
        assert await registry.validate_team("gen9randombattle", team) is None


async def test_a_team_that_is_not_legal_is_rejected_with_its_problems_one_by_one(
    settings: BridgeConfig,
) -> None:
    illegal = TEAM.replace("Rough Skin", "Wonder Guard").replace("Earthquake", "Spore")
    async with ControllerRegistry(settings) as registry:
        for _ in range(2):
            with pytest.raises(BattleRejected) as rejected:
                await registry.validate_team("gen9ou", illegal)
            first, second, *_ = rejected.value.problems
            assert "Wonder Guard" in first
            assert "Spore" in second
        assert registry.trips.total("validate").count == 2
        with pytest.raises(BattleRejected) as rejected:
            await registry.open("gen9ou", p1=Player("Red", illegal), p2=Player("Blue", TEAM))
        assert "Wonder Guard" in rejected.value.problems[0]


@pytest.mark.parametrize(
    ("team", "problem"),
    [
        (None, "This format requires you to use your own team."),
        ("", "This format requires you to use your own team."),
        ("[]", "You must bring at least 1 Pokémon"),
        ("x" * 30_000, "Your team is over 25KB. Please use a smaller team."),
        ("x" * 20_000_000, "20000000 characters are too many for a team"),
    ],
    ids=["none", "empty", "nobody", "long", "longer than a frame"],
)
async def test_what_is_no_team_is_rejected_in_the_words_of_the_simulator(
    settings: BridgeConfig, team: str | None, problem: str
) -> None:
    async with ControllerRegistry(settings) as registry:
        with pytest.raises(BattleRejected) as rejected:
            await registry.validate_team("gen9ou", team)
        assert problem in rejected.value.problems[0]
        assert registry.stats()["counters"]["deaths"] == 0


async def test_a_team_that_was_validated_before_is_not_validated_again(
    settings: BridgeConfig,
) -> None:
    # Nobody would mark this one; it shows that nobody looks.
    illegal = TEAM.replace("Rough Skin", "Wonder Guard")
    red, blue = Player("Red", illegal, is_valid=True), Player("Blue", TEAM)
    async with ControllerRegistry(settings) as registry:
        async with await registry.open("gen9ou", p1=red, p2=blue) as room:
            assert room.journal.p1.team == PACKED.replace("RoughSkin", "WonderGuard")
            assert room.journal.p2.team == PACKED
        with pytest.raises(BattleRejected, match="needs a team for p1"):
            await registry.open("gen9ou", p1=Player("Red", is_valid=True), p2=blue)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_question_outlives_the_controller_that_was_asked(
    settings: BridgeConfig, fault: signal.Signals
) -> None:
    async with ControllerRegistry(settings, response_timeout=1.0) as registry:
        os.kill(registry.stats()["controllers"][0]["pid"], fault)
        async with asyncio.timeout(30):
            facts, team = await asyncio.gather(
                registry.describe_format("gen9ou"), registry.validate_team("gen9ou", TEAM)
            )
        assert (facts.id, team) == ("gen9ou", PACKED)
        assert registry.stats()["counters"]["deaths"] == 1


async def test_a_question_is_not_asked_for_ever(settings: BridgeConfig) -> None:
    patient = settings.replace(open_timeout=0.2, response_timeout=30.0)
    async with ControllerRegistry(patient) as registry:
        pid = registry.stats()["controllers"][0]["pid"]
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(PoolExhausted, match=r"no controller answered describe within 0\.2 s"):
            await registry.describe_format("gen9ou")
        os.kill(pid, signal.SIGCONT)
        assert (await registry.describe_format("gen9randombattle")).id == "gen9randombattle"


async def test_a_question_that_is_asked_as_the_registry_closes_is_told(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings, response_timeout=30.0)
    await registry.start()
    os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGSTOP)
    asking = asyncio.ensure_future(registry.describe_format("gen9ou"))
    await asyncio.sleep(0)
    await registry.close(drain=False)
    with pytest.raises(RegistryClosed):
        await asking
    with pytest.raises(RegistryClosed):
        await registry.validate_team("gen9ou", TEAM)


async def test_a_team_that_breaks_the_validator_is_rejected_and_breaks_nothing_else(
    settings: BridgeConfig,
) -> None:
    breakable = settings.replace(node_arguments=("--require", str(FAULTS / "validator.js")))
    async with ControllerRegistry(breakable) as registry:
        with pytest.raises(BattleRejected) as rejected:
            await registry.validate_team(
                "gen9ou", PACKED.replace("Garchomp|", "fault throw|Garchomp")
            )
        assert rejected.value.problems == (
            "Your team crashed the validator.",
            "Error: thrown by a test",
        )
        assert registry.stats()["counters"]["deaths"] == 0
        with pytest.raises(ControllerDied):
            await registry.validate_team(
                "gen9ou", PACKED.replace("Garchomp|", "fault exit|Garchomp")
            )
        assert registry.stats()["counters"]["deaths"] == 3
        assert await registry.validate_team("gen9ou", TEAM) == PACKED


# Idle rooms


async def test_a_room_in_which_nobody_chooses_is_closed_and_its_place_is_free(
    settings: BridgeConfig,
) -> None:
    one_place = settings.replace(rooms_per_controller=2, idle_timeout=0.8)
    async with ControllerRegistry(one_place) as registry:
        forgotten = await registry.open(FORMAT, seed=1)
        played = await registry.open(FORMAT, seed=1)
        recorder = Recorder(played, policies_for(1))
        while not forgotten.is_over:
            await recorder.play(rounds=1)
            await asyncio.sleep(0.05)
        with pytest.raises(RoomClosed, match=r"nobody chose for 0\.8 s"):
            await forgotten.result()
        assert not played.is_over or recorder.recording.result is not None
        await (await registry.open(FORMAT, timeout=10)).close()


# The same seeds give the same battles

BATTLES = [(FORMAT, seed) for seed in (1, 29, 35)] + [("gen91v1factory", 1), ("gen91v1factory", 2)]
FIRST_RECORDING: list[Recording] = []


@pytest.mark.parametrize("pool", [1, 3])
def test_the_same_seeds_give_the_same_battles_in_any_pool_on_any_loop(
    runner: asyncio.Runner, settings: BridgeConfig, pool: int
) -> None:
    async def main() -> list[Recording]:
        async with ControllerRegistry(settings, pool=pool) as registry:
            loads = [controller.load for controller in registry._ready()]
            assert loads == [0] * pool
            return await record_all(registry, BATTLES)

    played = runner.run(main())
    if not FIRST_RECORDING:
        FIRST_RECORDING.extend(played)
        played = runner.run(main())
    assert played == FIRST_RECORDING


async def test_rooms_are_spread_over_the_pool(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings, pool=3) as registry:
        rooms = [await registry.open(FORMAT) for _ in range(7)]
        loads = sorted(controller["rooms"] for controller in registry.stats()["controllers"])
        assert loads == [2, 2, 3]
        for room in rooms:
            await room.close()


# Figures


async def test_a_registry_that_has_not_started_has_been_up_for_no_time(
    settings: BridgeConfig,
) -> None:
    registry = ControllerRegistry(settings)
    assert registry.stats()["uptime"] == 0.0
    async with registry:
        assert 0.0 < registry.stats()["uptime"] < 60.0


async def test_the_stats_are_plain_data_and_add_up(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        await record_all(registry, [(FORMAT, 1), (FORMAT, 2)])
        room = await registry.open(FORMAT, seed=3)
        await room.p1.choose("default")
        stats = registry.stats()
        assert orjson.loads(orjson.dumps(stats)) == stats
        counters = stats["counters"]
        assert (counters["battles_opened"], counters["battles_ended"]) == (3, 2)
        assert counters["decisions"] == stats["round_trips"]["choose"]["total"]["count"]
        assert stats["pool"]["rooms"] == stats["controllers"][0]["rooms"] == 1
        trips = sum(operation["total"]["count"] for operation in stats["round_trips"].values())
        assert stats["traffic"]["commands"] == trips
        # One frame more than there were commands: the first, which answers none.
        assert stats["traffic"]["frames"] == trips + 1
        assert re.fullmatch(r"\d+\.\d+\.\d+", stats["controllers"][0]["node"].lstrip("v"))
        await room.close()
    after = registry.stats()
    assert after["counters"]["deaths"] == 0
    assert after["traffic"]["bytes_in"] >= stats["traffic"]["bytes_in"]


async def test_timing_can_be_switched_off_and_on_while_battles_go_on(
    settings: BridgeConfig,
) -> None:
    """Also for a controller that starts later: it hears so with its first beat."""
    async with ControllerRegistry(settings, pool=2, timing=False, heartbeat=0.1) as registry:
        room = await registry.open(FORMAT, seed=3)
        recorder = Recorder(room, policies_for(3))
        await recorder.play(rounds=3)
        assert registry.stats()["round_trips"] == {}
        assert room.controller is not None

        await registry.set_timing(True)
        await recorder.play(rounds=3)
        timed = registry.trips.total("choose").count
        assert 3 <= timed <= 6

        os.kill(room.controller.pid, signal.SIGKILL)
        await registry.set_timing(False)
        await recorder.play(rounds=3)
        assert registry.trips.total("choose").count == timed
        assert room.controller is not None
        assert not registry.trips.on

        await registry.set_timing(True)
        recording = await recorder.play()
        assert registry.trips.total("choose").count > timed
        [undisturbed] = await record_all(registry, [(FORMAT, 3)])
        assert recording == undisturbed
