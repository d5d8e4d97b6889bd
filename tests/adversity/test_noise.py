"""Whatever the simulator prints breaks nothing, and its last words are kept."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.errors import BattlePoisoned, ControllerDied
from tests.recording import record_all

pytestmark = pytest.mark.timeout(60)

NOISE = Path(__file__).parent / "faults" / "noise.js"
FORMAT = "gen1randombattle"
BATTLES = [(FORMAT, seed) for seed in range(8)]
FLOOD = 5_000_000
KEPT = 16 * 1024

# How Node ends by each of the deaths that noise.js knows.
DEATHS = {"exit": 7, "abort": -signal.SIGABRT}


@pytest.fixture
def noisy(settings: BridgeConfig) -> BridgeConfig:
    return settings.replace(node_arguments=("--require", str(NOISE)))


def test_battles_are_told_the_same_beside_frames_and_floods_on_stdout_and_stderr(
    runner: asyncio.Runner, settings: BridgeConfig, noisy: BridgeConfig
) -> None:
    async def main() -> None:
        async with ControllerRegistry(settings) as quiet:
            undisturbed = await record_all(quiet, BATTLES)
        async with ControllerRegistry(noisy) as registry:
            (controller,) = registry._ready()
            assert await record_all(registry, BATTLES) == undisturbed
            assert (registry.counters.deaths, registry.counters.battles_moved) == (0, 0)
            process = controller._process
            assert process is not None
            assert process.output_size > FLOOD
            assert "from the simulator" in process.output_tail
            assert len(process.output_tail) <= KEPT

    runner.run(main())


@pytest.mark.parametrize("death", DEATHS)
def test_the_error_of_a_battle_that_breaks_node_has_the_end_of_what_was_printed(
    runner: asyncio.Runner, noisy: BridgeConfig, death: str
) -> None:
    async def main() -> BattlePoisoned:
        async with ControllerRegistry(noisy) as registry:
            room = await registry.open(FORMAT)
            with pytest.raises(BattlePoisoned) as poisoned:
                await room.p1.choose(death)
            return poisoned.value

    error = runner.run(main())
    assert error.exit_status == DEATHS[death]
    assert_tail(error.stderr)
    assert str(error).count("the last words") == 1


@pytest.mark.parametrize("moment", ["start", "warm-up"])
@pytest.mark.parametrize("death", ["exit", "throw"])
def test_the_error_of_a_pool_that_does_not_start_has_the_end_of_what_was_printed(
    runner: asyncio.Runner, settings: BridgeConfig, tmp_path: Path, death: str, moment: str
) -> None:
    deed = f"require({json.dumps(str(NOISE))}).die({death!r})"
    fault = tmp_path / "fault.js"
    # A warm-up begins with a team; what is thrown there must not be caught.
    fault.write_text(deed if moment == "start" else f"setTimeout(() => {deed}, 50)", "utf-8")

    async def main() -> ControllerDied:
        config = settings.replace(warmup_battles=1, node_arguments=("--require", str(fault)))
        with pytest.raises(ControllerDied) as died:
            async with ControllerRegistry(config):
                pass
        return died.value

    error = runner.run(main())
    assert error.exit_status == {"exit": 7, "throw": 1}[death]
    assert_tail(error.stderr)
    assert ("Error: nobody catches this" in error.stderr) == (death == "throw")


def assert_tail(stderr: str) -> None:
    """The last words are there, after as much of the flood as is kept."""
    assert "the last words\n" in stderr
    assert len(stderr) <= KEPT
    assert f"\n{FLOOD // 1_000 - 1} xxx" in stderr
    assert "\n0 xxx" not in stderr
