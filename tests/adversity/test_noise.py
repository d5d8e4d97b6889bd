"""Whatever the simulator prints breaks nothing, and its last words are kept."""

from __future__ import annotations

import asyncio
import json
import re
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
FLOOD = 5_000
KEPT = 16 * 1024

# Code that dies when the simulator is loaded, or soon after Node has said hello.
DIE = {
    "start": """
        const {{ Module }} = require('node:module');
        const {{ die }} = require({noise});
        const load = Module._load;
        Module._load = function (name, ...rest) {{
            if (!name.endsWith('pokemon-showdown')) return load.call(this, name, ...rest);
            die('{death}', (text) => process.stderr.write(text));
        }};
    """,
    "warm-up": """
        const {{ die }} = require({noise});
        setTimeout(() => die('{death}', (text) => process.stderr.write(text)), 1);
    """,
}
# How Node ends by each of the deaths that noise.js knows.
DEATHS = {"exit": 7, "abort": -signal.SIGABRT}


@pytest.fixture(name="settings")
def patient(settings: BridgeConfig) -> BridgeConfig:
    return settings.replace(response_timeout=30.0)


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
            counters = registry.stats()["counters"]
            assert (counters["deaths"], counters["battles_moved"]) == (0, 0)
            assert controller._process is not None
            printed = controller._process.output_tail
            assert len(printed) <= KEPT
            assert re.findall(r"Trace: after (\d+) kilobytes\n", printed)[-1] == str(2 * FLOOD)

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


@pytest.mark.parametrize("moment", DIE)
@pytest.mark.parametrize("death", ["exit", "throw"])
def test_the_error_of_a_pool_that_does_not_start_has_the_end_of_what_was_printed(
    runner: asyncio.Runner, settings: BridgeConfig, tmp_path: Path, death: str, moment: str
) -> None:
    fault = tmp_path / "fault.js"
    fault.write_text(DIE[moment].format(noise=json.dumps(str(NOISE)), death=death), "utf-8")

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
    assert f"\n{FLOOD - 1} xxx" in stderr
    assert "\n0 xxx" not in stderr
