"""Replaying input logs, by `python -m bridge.replay` and by the simulator's own tool."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from bridge import BridgeConfig, ControllerRegistry, Result
from bridge.errors import BattleRejected
from bridge.journal import Journal, Move, Player
from bridge.replay import main, replay
from bridge.runtime import find_runtime
from bridge.workload import play, policies_for

FAULTS = Path(__file__).parents[1] / "adversity" / "faults" / "poison.js"
PROSE = b"Dear diary,\ntoday I lost.\n"
NAME = '"Ash" \\ é🐉 \''


def journal(*moves: Move) -> Journal:
    p1, p2 = Player(NAME, seed="5,6,7,8"), Player("Gary", seed="9,10,11,12")
    return Journal("gen1randombattle", "1,2,3,4", p1, p2, list(moves))


TURN = (Move("choose", "p1", "default"), Move("choose", "p2", "default"))


@dataclass
class Finished:
    """What a user sees of a command."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Finished]


def run(*arguments: str | Path) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "bridge.replay", *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command within this process, which is quicker."""

    def run_main(*arguments: str | Path) -> Finished:
        monkeypatch.setattr(sys, "argv", ["bridge.replay", *map(str, arguments)])
        status = main()
        return Finished(status, *capsys.readouterr())

    return run_main


def written(folder: Path, text: str) -> Path:
    path = folder / "battle.log"
    path.write_text(text, encoding="utf-8")
    return path


# The command


def test_a_battle_goes_on(tmp_path: Path) -> None:
    finished = run(written(tmp_path, journal(*TURN, *TURN).input_log()))
    assert finished.stderr == ""
    assert finished.stdout == "4 moves were replayed without a fault; the battle goes on\n"
    assert finished.status == 0


def test_a_battle_ended_when_a_player_gave_up(tmp_path: Path, run_here: Command) -> None:
    finished = run_here(written(tmp_path, journal(*TURN, Move("forfeit", "p1")).input_log()))
    assert finished.stderr == ""
    assert finished.stdout == (
        "3 moves were replayed without a fault; p2 won after 2 turns (forfeit)\n"
    )
    assert finished.status == 0


def test_a_battle_breaks_the_simulator_again(tmp_path: Path) -> None:
    settings = tmp_path / "bridge.yml"
    poisoned = tmp_path / "poisoned"
    settings.write_text(
        yaml.safe_dump(
            {"node_arguments": ["--require", str(FAULTS)], "poison_folder": str(poisoned)}
        )
    )
    log = written(tmp_path, journal(*TURN, Move("choose", "p1", "fault throw")).input_log())
    finished = run(log, "--config", settings)
    assert finished.status == 1, finished
    assert "the battle failed 2 times" in finished.stdout
    assert "Error: thrown by a test" in finished.stdout
    (copy,) = poisoned.iterdir()
    assert str(copy) in finished.stdout
    assert copy.read_text("utf-8") == log.read_text("utf-8")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (PROSE, "line 1 of the input log is not understood: Dear diary,"),
        (b"", "the input log does not start a battle of two players"),
        (b"\x89PNG\r\n\x1a\n\xff", "codec can't decode byte 0x89"),
        (b'>start {"formatid": "gen1randombattle"}\n', "line 1 of the input log"),
        (None, "No such file or directory"),
    ],
    ids=["prose", "empty", "picture", "no seed", "missing"],
)
def test_a_file_that_is_no_log_gets_one_line(
    tmp_path: Path, run_here: Command, content: bytes | None, complaint: str
) -> None:
    path = tmp_path / "battle.log"
    if content is not None:
        path.write_bytes(content)
    finished = (run if content == PROSE else run_here)(path)
    assert finished.status == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("bridge.replay: ")
    assert complaint in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_battle_that_cannot_start_is_no_fault(tmp_path: Path, run_here: Command) -> None:
    nowhere = journal()
    nowhere.format = "gen1nosuchformat"
    finished = run_here(written(tmp_path, nowhere.input_log()))
    assert finished.status == 2
    assert finished.stderr.startswith('bridge.replay: Unrecognized format "gen1nosuchformat"')


# Logs of battles that were played


async def played(registry: ControllerRegistry) -> tuple[Journal, Result]:
    room = await registry.open("gen1randombattle", seed=4, p1=NAME)
    return room.journal, await play(room, policies_for(4))


async def test_a_battle_comes_to_the_same_end(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        original, result = await played(registry)
        log = Journal.from_input_log(original.input_log())
        assert log == original
        assert await replay(log, registry) == (
            f"{len(log.moves)} moves were replayed without a fault; "
            f"{result.winner} won after {result.turns} turns (win)"
        )
        assert registry.stats()["pool"]["rooms"] == 0

        log.moves = log.moves[:-3]
        assert (await replay(log, registry)).endswith("the battle goes on")
        assert registry.stats()["pool"]["rooms"] == 0

        log.seed = "not a seed"
        with pytest.raises(BattleRejected, match="not a seed"):
            await replay(log, registry)
        assert registry.stats()["pool"]["rooms"] == 0


def simulate(original: Journal) -> Finished:
    """What the simulator's own tool makes of a battle."""
    runtime = find_runtime()
    tool: list[str | Path] = [runtime.node, runtime.simulator / "pokemon-showdown"]
    finished = subprocess.run(
        [*tool, "simulate-battle", "--skip-build"],
        input=original.input_log(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)


@pytest.mark.parametrize("ending", [Move("forfeit", "p1", " left."), Move("tie", None, "Enough.")])
def test_the_tool_of_the_simulator_understands_moves_of_all_kinds(ending: Move) -> None:
    original = journal(
        Move("sheets", None),
        Move("choose", "p1", "team 123456"),
        Move("undo", "p1"),
        Move("choose", "p1", "team 654321"),
        Move("choose", "p2", "default"),
        *TURN,
        ending,
    )
    original.format, original.rated = "gen9bssfactory", "Cup battle"
    finished = simulate(original)
    assert finished.stderr == ""
    lines = finished.stdout.split("\n")
    assert "|rated|Cup battle" in lines
    assert any(line.startswith("|showteam|p2|") for line in lines)
    assert ("|win|Gary" if ending.operation == "forfeit" else "|tie") in lines


async def test_the_tool_of_the_simulator_comes_to_the_same_end(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        original, result = await played(registry)
    finished = simulate(original)
    assert finished.stderr == ""
    end = json.loads(finished.stdout.rpartition("\nend\n")[2])
    assert result.winner is not None
    assert end["winner"] == {"p1": NAME, "p2": "Player 2"}[result.winner]
    assert (end["turns"], end["seed"]) == (result.turns, original.seed)
