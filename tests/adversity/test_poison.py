"""A battle that breaks Node is given up after its second controller, and takes no other with it."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
import yaml

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, Player
from bridge.errors import BattlePoisoned, ControllerDied
from bridge.journal import Journal, Move
from bridge.workload import policies_for
from tests.recording import Recorder, record_all

pytestmark = pytest.mark.timeout(90)

FORMAT = "gen1randombattle"
BESIDE = [(FORMAT, seed) for seed in (1, 29, 35, 74)]

# How Node ends by each fault: with an exit status, by a signal, or not at all.
FAULTS: dict[str, int | None] = {
    "throw": None,
    "loop": -signal.SIGKILL,
    "exit": 7,
    "abort": -signal.SIGABRT,
    "memory": -signal.SIGABRT,
    "garble": -signal.SIGKILL,
}


@pytest.fixture
def poisonable(settings: BridgeConfig) -> BridgeConfig:
    faults = Path(__file__).parent / "faults" / "poison.js"
    return settings.replace(
        pool=2,
        node_arguments=("--require", str(faults)),
        response_timeout=20.0,
        max_heap_mb=256,
    )


async def bring_to_the_brink(registry: ControllerRegistry) -> BattleRoom:
    room = await registry.open(FORMAT, seed=99)
    await Recorder(room, policies_for(99)).play(rounds=3)
    return room


async def poison(room: BattleRoom, choice: str) -> BattlePoisoned:
    with pytest.raises(BattlePoisoned) as poisoned:
        async with asyncio.timeout(60):
            await room.p1.choose(choice)
    return poisoned.value


@pytest.mark.parametrize("fault", FAULTS)
async def test_it_fails_alone_and_its_input_log_reproduces_the_fault(
    poisonable: BridgeConfig, fault: str
) -> None:
    if fault == "loop":
        warm = {"warmup_battles": 1, "warmup_format": FORMAT}
        poisonable = poisonable.replace(response_timeout=2.0, **warm)
    async with ControllerRegistry(poisonable) as registry:
        undisturbed = await record_all(registry, BESIDE)
        beside = asyncio.ensure_future(record_all(registry, BESIDE))
        room = await bring_to_the_brink(registry)
        waiting = asyncio.ensure_future(room.p2.next())
        error = await poison(room, f"fault {fault}")
        assert await beside == undisturbed

        assert error.room == room.tag
        assert error.exit_status == FAULTS[fault]
        assert error.pid is not None
        assert registry.counters.battles_poisoned == 1
        assert registry.stats()["counters"]["deaths"] == (0 if FAULTS[fault] is None else 2)
        await waiting  # what was delivered before can still be read
        for deed in (room.p2.next(), room.result(), room.fork(), room.p2.forfeit()):
            with pytest.raises(BattlePoisoned):
                await deed
        assert registry.stats()["pool"]["rooms"] == 0
        for controller in registry._ready():
            assert (await controller.ask("ping")).rooms == 0

        assert error.input_log is not None
        assert error.input_log.parent == poisonable.poison_folder
        text = error.input_log.read_text("utf-8")
        assert text.endswith(f">p1 fault {fault}\n")
        with pytest.raises(BattlePoisoned):
            await registry.resume(Journal.from_input_log(text))
        assert registry.counters.battles_poisoned == 2


@pytest.mark.parametrize(("fault", "cause"), [("exit", "status 7"), ("abort", "SIGABRT")])
async def test_the_error_shows_what_the_process_said_last(
    poisonable: BridgeConfig, fault: str, cause: str
) -> None:
    async with ControllerRegistry(poisonable, pool=1) as registry:
        error = await poison(await bring_to_the_brink(registry), f"fault {fault}")
    assert cause in str(error)
    assert "the last words of a test" in str(error)


async def test_the_error_shows_what_the_simulator_threw(poisonable: BridgeConfig) -> None:
    async with ControllerRegistry(poisonable, pool=1) as registry:
        error = await poison(await bring_to_the_brink(registry), "fault throw")
    assert error.message.startswith("the battle failed 2 times; `python -m bridge.replay ")
    assert "Error: thrown by a test\n    at " in str(error)


async def test_a_battle_that_breaks_as_it_starts_does_so_again_with_the_team_in_its_log(
    poisonable: BridgeConfig, tmp_path: Path
) -> None:
    team = "fault loop (Garchomp) @ Leftovers\nAbility: Rough Skin\nEVs: 4 HP\n- Earthquake\n"
    warm = {"warmup_battles": 1, "warmup_format": FORMAT}
    poisonable = poisonable.replace(response_timeout=2.0, **warm)
    async with ControllerRegistry(poisonable) as registry:
        pids = {controller.pid for controller in registry._ready()}
        with pytest.raises(BattlePoisoned) as poisoned:
            async with asyncio.timeout(60):
                await registry.open(
                    "gen9ou", seed=1, p1=Player("fault loop", team), p2=Player("Blue", team)
                )
        assert registry.stats()["counters"]["deaths"] == 2
        assert not pids & {controller.pid for controller in registry._ready()}
        assert registry.stats()["pool"]["rooms"] == 0
        assert registry.counters.battles_opened == 0
    log = poisoned.value.input_log
    assert log is not None

    settings = {"response_timeout": 2.0, "poison_folder": str(tmp_path / "again")}
    arguments = {"node_arguments": list(poisonable.node_arguments)}
    config = tmp_path / "bridge.yml"
    config.write_text(yaml.safe_dump(settings | arguments))
    replay = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bridge.replay", log, "--config", config),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await replay.communicate()
    assert replay.returncode == 1, said
    assert b"the battle failed 2 times" in said
    assert b"(it was busy)" in said


async def test_choices_of_both_sides_that_nobody_answered_are_in_the_log(
    poisonable: BridgeConfig,
) -> None:
    async with ControllerRegistry(poisonable, pool=1) as registry:
        room = await registry.open(FORMAT, seed=99)
        choices = (room.p1.choose("move 1"), room.p2.choose("fault exit"))
        results = await asyncio.gather(*choices, return_exceptions=True)
        (error,) = {result for result in results if isinstance(result, BattlePoisoned)}
        assert error.input_log is not None
        assert error.input_log.read_text("utf-8").splitlines()[-2:] == [
            ">p1 move 1",
            ">p2 fault exit",
        ]
        with pytest.raises(BattlePoisoned):
            await registry.resume(Journal.from_input_log(error.input_log.read_text("utf-8")))


async def test_what_node_would_have_refused_is_not_in_the_log(poisonable: BridgeConfig) -> None:
    async with ControllerRegistry(poisonable, pool=1) as registry:
        room = await registry.open(FORMAT, seed=99)
        hostile = (
            room.p2.choose("fault exit"),
            room.p1.choose("move 1\n>p2 move 2"),
            room.p1.choose("move 1\u2028>p2 move 2"),
            room.p1.choose("move 2", rqid=77),
            room.p1.choose("move 3"),
            room.p1.choose("move 4"),
            room.p1.undo(rqid=77),
            room.p1.undo(),
            room.p1.choose("move 1"),
            room.p1.forfeit(" left.\n>p2 move 2"),
            room.tie("Enough.\n>p2 move 2"),
            room.p1.forfeit(" left."),
        )
        await asyncio.gather(*hostile, return_exceptions=True)
        (log,) = poisonable.poison_folder.iterdir()
        journal = Journal.from_input_log(log.read_text("utf-8"))
        assert journal.moves == [
            Move("choose", "p2", "fault exit"),
            Move("choose", "p1", "move 3"),
            Move("undo", "p1"),
            Move("choose", "p1", "move 1"),
            Move("forfeit", "p1", " left."),
        ]


async def test_a_battle_in_whose_hands_controllers_are_killed_again_and_again_is_given_up(
    poisonable: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.registry._DEATHS_IN_HAND", 4)
    async with ControllerRegistry(poisonable, pool=1) as registry:
        error = await poison(await bring_to_the_brink(registry), "fault kill")
        assert error.exit_status == -signal.SIGKILL
        assert registry.stats()["counters"]["deaths"] == 4
        assert registry.counters.battles_poisoned == 1


async def test_a_battle_beside_a_poisoned_one_is_not_blamed(poisonable: BridgeConfig) -> None:
    async with ControllerRegistry(poisonable, pool=1) as registry:
        rooms = [await bring_to_the_brink(registry) for _ in range(2)]
        innocent = await registry.open(FORMAT, seed=98)
        for room in rooms:
            await poison(room, "fault exit")
        assert registry.counters.battles_poisoned == 2
        assert registry.stats()["counters"]["deaths"] == 4
        assert innocent.strikes == 0
        played = await Recorder(innocent, policies_for(98)).play()
        assert played.result is not None


async def test_a_battle_whose_controllers_all_die_is_not_moved_for_ever(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bridge.registry._SETBACKS", 4)
    faults = Path(__file__).parent / "faults" / "short-lived.js"
    arguments = ("--require", str(faults))
    async with ControllerRegistry(settings, node_arguments=arguments) as registry:
        room = await registry.open(FORMAT, seed=1)
        victim = await registry.open(FORMAT, seed=2)

        async def play() -> None:
            while True:
                await room.p1.choose("default")
                await room.p2.choose("default")

        with pytest.raises(ControllerDied) as death:
            await asyncio.wait_for(play(), 60)
        assert "a short life" in death.value.stderr
        assert death.value.exit_status == 1
        with pytest.raises(ControllerDied):
            await victim.result()


async def test_a_second_try_goes_elsewhere_but_does_not_wait_for_a_place_there(
    poisonable: BridgeConfig,
) -> None:
    async with ControllerRegistry(poisonable, rooms_per_controller=2) as registry:
        first, lonely, third = [await registry.open(FORMAT, seed=seed) for seed in range(3)]
        assert first.controller is third.controller
        assert lonely.controller is not None
        assert lonely.controller is not first.controller
        own = lonely.controller.pid
        assert (await poison(lonely, "fault throw")).pid == own
        async with asyncio.timeout(10):
            fourth = await registry.open(FORMAT)
        for room in (first, third, fourth):
            await room.close()

        room = await registry.open(FORMAT, seed=31)
        assert room.controller is not None
        own = room.controller.pid
        assert (await poison(room, "fault throw")).pid != own
