"""With turbo and without, and from one to the other in the middle, battles are the same."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.workload import policies_for
from tests.conftest import until
from tests.recording import Recorder, Recording, record_all

pytestmark = pytest.mark.timeout(90)

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "tests" / "adversity" / "faults"
UNKNOWN = FAULTS / "unknown.js"
OTHER = FAULTS / "other.js"
FORMATS = (
    "gen1randombattle",
    "gen4randombattle",
    "gen7randombattle",
    "gen9randombattle",
    "gen9randomdoublesbattle",
)
BATTLES = [(name, seed) for name in FORMATS for seed in (1, 2)]
ROUNDS = 8


@pytest.fixture(scope="module")
def vanilla() -> dict[tuple[str, int], Recording]:
    """What the battles are like in the simulator as it comes."""

    async def main() -> list[Recording]:
        settings = BridgeConfig(pool=2, warmup_battles=0, turbo=False, response_timeout=30.0)
        async with ControllerRegistry(settings) as registry:
            assert [c["turbo"] for c in registry.stats()["controllers"]] == [False, False]
            return await record_all(registry, BATTLES)

    return dict(zip(BATTLES, asyncio.run(main()), strict=True))


@pytest.fixture
def turbo(settings: BridgeConfig) -> BridgeConfig:
    return settings.replace(turbo=True, response_timeout=30.0)


def without_cache(turbo: BridgeConfig, fault: Path) -> BridgeConfig:
    """Has turbo look at the simulator itself: a cache says what was found before the fault."""
    return turbo.replace(pool=2, cache_folder=None, node_arguments=("--require", str(fault)))


async def test_battles_are_the_same_with_turbo(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording]
) -> None:
    async with ControllerRegistry(turbo) as registry:
        assert await record_all(registry, BATTLES) == list(vanilla.values())


async def test_battles_go_on_as_they_would_have_when_a_process_with_turbo_is_killed(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording]
) -> None:
    async with ControllerRegistry(turbo, pool=2) as registry:
        decisions = 0

        def kill_now_and_then() -> None:
            nonlocal decisions
            decisions += 1
            if decisions in (40, 160):
                os.kill(registry.stats(round_trips=False)["controllers"][0]["pid"], signal.SIGKILL)

        assert await record_all(registry, BATTLES, kill_now_and_then) == list(vanilla.values())
        assert registry.stats()["counters"]["battles_moved"] > 0


async def begin(registry: ControllerRegistry, battle: tuple[str, int]) -> Recorder:
    """A battle that was played for some rounds."""
    name, seed = battle
    recorder = Recorder(await registry.open(name, seed=seed), policies_for(seed))
    await recorder.play(rounds=ROUNDS)
    return recorder


async def rest_of(room: BattleRoom, original: Recorder) -> Recording:
    """Plays a copy to its end with the choices that the original would make."""
    return await Recorder(room, original.policies).play()


def assert_ends(rest: Recording, whole: Recording) -> None:
    """That a part of a battle is how the whole ends; it begins with the requests then open."""
    assert rest.result == whole.result
    for ending, tape in ((rest.p1, whole.p1), (rest.p2, whole.p2)):
        assert tape.lines[len(tape.lines) - len(ending.lines) :] == ending.lines
        assert tape.requests[len(tape.requests) - len(ending.requests) :] == ending.requests
        assert len(ending.requests) > 1


@pytest.mark.parametrize("battle", BATTLES[::2], ids=FORMATS)
async def test_a_fork_goes_on_as_its_original_with_turbo_and_without(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording], battle: tuple[str, int]
) -> None:
    for fast in (True, False):
        async with ControllerRegistry(turbo, turbo=fast) as registry:
            original = await begin(registry, battle)
            copy = await original.room.fork()
            assert_ends(await rest_of(copy, original), vanilla[battle])
            assert await original.play() == vanilla[battle]


@pytest.mark.parametrize("first", [True, False], ids=["turbo first", "vanilla first"])
async def test_a_battle_that_began_with_turbo_goes_on_without_and_the_other_way_round(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording], first: bool
) -> None:
    """As when a pool is started anew with another setting and its journals are taken over."""
    async with (
        ControllerRegistry(turbo, turbo=first) as one,
        ControllerRegistry(turbo, turbo=not first) as other,
    ):
        for battle in BATTLES[::2]:
            original = await begin(one, battle)
            resumed = await other.resume(original.room.journal)
            assert_ends(await rest_of(resumed, original), vanilla[battle])
            await original.room.close()


@pytest.mark.parametrize("flag", ["--turbo", "--no-turbo"])
async def test_an_input_log_leads_to_the_same_end_with_turbo_and_without(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording], tmp_path: Path, flag: str
) -> None:
    battle = BATTLES[-1]
    async with ControllerRegistry(turbo, turbo=flag == "--no-turbo") as registry:
        recorder = await begin(registry, battle)
        await recorder.play()
        file = recorder.room.journal.write_input_log(tmp_path, "battle")
    command = [sys.executable, "-m", "bridge.replay", str(file), flag]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    result = vanilla[battle].result
    assert result is not None
    assert f"{result.winner} won after {result.turns} turns ({result.reason})" in done.stdout


async def test_a_simulator_that_turbo_does_not_know_runs_as_it_comes_and_is_warned_of_once(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording]
) -> None:
    unknown = without_cache(turbo, UNKNOWN)
    with capture_logs() as logs:
        async with ControllerRegistry(unknown) as registry:
            battles = BATTLES[:2]
            expected = [vanilla[battle] for battle in battles]
            os.kill(registry.stats()["controllers"][0]["pid"], signal.SIGKILL)
            assert await record_all(registry, battles) == expected
            stats = registry.stats()
    warnings = [line for line in logs if "turbo" in line["event"]]
    assert [line["event"] for line in warnings] == ["the simulator is without turbo"]
    assert [line["log_level"] for line in warnings] == ["warning"]
    assert all("does not know version 0.11.11" in reason for reason in warnings[0]["left"])
    for controller in stats["controllers"]:
        assert controller["left"] == warnings[0]["left"] != []
        assert not controller["turbo"]


async def test_a_patch_that_does_not_fit_is_left_out_and_is_warned_of_once(
    turbo: BridgeConfig, vanilla: dict[tuple[str, int], Recording]
) -> None:
    other = without_cache(turbo, OTHER)
    with capture_logs() as logs:
        async with ControllerRegistry(other) as registry:
            battles = BATTLES[:2]
            assert await record_all(registry, battles) == [vanilla[battle] for battle in battles]
            stats = registry.stats()
    [warning] = [line for line in logs if "turbo" in line["event"]]
    assert warning["event"] == "turbo leaves parts to vanilla"
    assert any("is not as turbo knows it" in reason for reason in warning["left"])
    for controller in stats["controllers"]:
        assert controller["turbo"]
        assert controller["left"] == warning["left"]


def bundles_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.bundle"))


async def test_a_damaged_cache_is_warned_of_once(turbo: BridgeConfig, tmp_path: Path) -> None:
    cached = turbo.replace(cache_folder=tmp_path)
    async with ControllerRegistry(cached, warmup_battles=20, warmup_format=FORMATS[0]) as registry:
        await until(lambda: bundles_in(tmp_path))
        assert registry.stats()["controllers"][0]["turbo"]
    [bundle] = bundles_in(tmp_path)
    bundle.write_bytes(b"")
    with capture_logs() as logs:
        async with ControllerRegistry(cached, pool=2) as registry:
            assert [c["turbo"] for c in registry.stats()["controllers"]] == [True, True]
    [warning] = [line for line in logs if line["log_level"] == "warning"]
    assert warning["event"] == "Node warns"
    assert warning["warning"] == f"turbo's cache {bundle} is damaged, and is written anew"


async def test_what_turbo_knows_is_not_warned_of(turbo: BridgeConfig) -> None:
    with capture_logs() as logs:
        async with ControllerRegistry(turbo) as registry:
            [controller] = registry.stats()["controllers"]
            assert (controller["turbo"], controller["left"]) == (True, [])
    assert [line for line in logs if line["log_level"] == "warning"] == []


async def test_a_mod_with_methods_of_its_own_is_warned_of_once_when_it_is_met(
    turbo: BridgeConfig,
) -> None:
    with capture_logs() as logs:
        async with ControllerRegistry(turbo.replace(pool=1, heartbeat=0.1)) as registry:
            for seed in (1, 2):
                await registry.open("gen9randomroulette", seed=seed)
            await until(lambda: registry.stats()["controllers"][0]["left"])
            [left] = registry.stats()["controllers"][0]["left"]
    assert left.endswith("[Gen 9] Random Roulette has its own Battle.start")
    [warning] = [line for line in logs if "turbo" in line["event"]]
    assert warning["event"] == "turbo leaves parts to vanilla"
    assert warning["left"] == [left]
