"""`python -m maple.evaluate`: what it prints, writes, and refuses."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from bridge import BridgeConfig
from maple.agents import Checkpoint, save_checkpoint
from maple.evaluation import arena, command_line
from maple.evaluation.display import Display
from maple.evaluation.results import Outcome, Played

from .players import QUICK, network, observations

REPOSITORY = Path(__file__).parents[3]


@dataclass
class Finished:
    """What a user sees of a command."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Finished]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it runs: with a checkpoint of a small network in it."""
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint.of(network(), observations(), format=QUICK)
    save_checkpoint(tmp_path / "agent.pt", checkpoint)
    return tmp_path


@pytest.fixture
def run_here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs the command within this process, on one that is not warmed up."""
    quick = BridgeConfig(pool=1, warmup_battles=0, open_timeout=30.0, start_timeout=30.0)
    monkeypatch.setattr(arena, "_read", lambda bridge: quick)
    # What it does about signals is for a process of its own.
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*arguments: str | Path) -> Finished:
        try:
            status = command_line.main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        return Finished(status, *capsys.readouterr())

    return run


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))


@pytest.mark.timeout(120)
def test_all_that_was_found_is_printed_and_written(run_here: Command, folder: Path) -> None:
    done = run_here(
        *("agent.pt", "--against", "random,max", "--battles", "4", "--cross-play"),
        *("--replays", "1", "--turns", "--output", "out", "--json", "out.json", "--seed", "3"),
    )
    assert done.status == 0, done
    assert "gen1randombattle, 4 battles for each pair, seed 3, actions of networks drawn" in (
        done.stdout
    )
    assert "Elo ratings; 1000 of random" in done.stdout
    assert {file.name for file in (folder / "out").iterdir()} == {
        "matches.csv",
        "matrix.csv",
        "ratings.csv",
        "battles.csv",
        "matrix.png",
        "replays",
    }
    matches = rows(folder / "out" / "matches.csv")
    assert [(row["agent"], row["opponent"], row["battles"]) for row in matches] == [
        ("agent", "random", "4"),
        ("agent", "max", "4"),
        ("random", "max", "4"),
    ]
    assert [row[""] for row in rows(folder / "out" / "matrix.csv")] == ["agent", "random", "max"]
    assert len(rows(folder / "out" / "battles.csv")) == 12
    assert json.loads((folder / "out.json").read_bytes())["seed"] == 3
    replays = folder / "out" / "replays"
    assert len(list(replays.glob("*.html"))) == len(list(replays.glob("*.log"))) == 3
    assert {file.stem for file in replays.glob("*.jsonl")} == {
        "agent-vs-random-0001",
        "agent-vs-max-0001",
    }
    first = json.loads((replays / "agent-vs-max-0001.jsonl").read_bytes().splitlines()[0])
    assert (first["agent"], first["seat"], first["turn"]) == ("agent", "p1", 1)
    assert (replays / "agent-vs-max-0001.txt").read_text("utf-8").startswith("agent-vs-max-0001\n")


def test_without_a_folder_results_go_to_one_that_is_named_by_the_time(
    run_here: Command, folder: Path
) -> None:
    done = run_here("max", "--against", "random", "--battles", "2", "--format", QUICK)
    assert done.status == 0, done
    [made] = (folder / "logs" / "evaluation").iterdir()
    assert f"written to {made.relative_to(folder)}: matches.csv" in done.stdout
    assert "a replay to look at" in done.stdout
    assert (made / "replays" / "max-vs-random-0001.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["nowhere"], 1, "there is no nowhere: name a checkpoint, or the folder of a run (or"),
        (["max", "--against", "max"], 2, "there is nobody to play against"),
        (["agent.pt", "./agent.pt"], 2, "./agent.pt is the same as agent.pt"),
        (["max", "--turns"], 2, "--turns is about networks"),
        (["max", "--greedy"], 2, "--greedy is about networks"),
        (["agent.pt", "--turns", "--replays", "0"], 2, "--turns is about the battles of --repl"),
        (["agent.pt", "--battles", "0"], 2, "0 is too few: at least 1"),
        (["agent.pt", "--greedy", "--sample"], 2, "not allowed with argument"),
        (["agent.pt", "--opponent-teams", "x"], 2, "--opponent-teams goes with --teams"),
        (["agent.pt", "--teams", "x"], 2, "cannot read the team x"),
        (["agent.pt", "--json", "no/where.json"], 2, "there is no folder no"),
        (["agent.pt", "--output", "agent.pt"], 2, "cannot make the folder agent.pt"),
        (["max", "--format", "gen9ou"], 2, "gen9ou wants teams: give --teams"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    run_here: Command, arguments: list[str], status: int, complaint: str
) -> None:
    done = run_here(*arguments)
    assert (done.status, done.stdout) == (status, "")
    assert done.stderr.startswith("maple.evaluate: ")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_player_that_fails_leaves_what_was_played(
    run_here: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from maple.evaluation.entrants import NetworkPlayer

    infer = NetworkPlayer._infer

    def fail(player: NetworkPlayer, seats: list[object]) -> object:
        done.append(len(seats))
        if sum(done) > 300:
            raise ArithmeticError("out of numbers")
        return infer(player, seats)  # type: ignore[arg-type]

    done: list[int] = []
    monkeypatch.setattr(NetworkPlayer, "_infer", fail)
    options = ("--battles", "60", "--parallel", "2", "--output", "out")
    finished = run_here("agent.pt", "--against", "max", *options)
    assert finished.status == 1
    assert "It ended early after " in finished.stdout
    assert "maple.evaluate: the network failed: ArithmeticError: out of numbers" in (
        finished.stderr
    )
    assert 0 < len(rows(folder / "out" / "battles.csv")) < 60


@pytest.mark.timeout(120)
def test_whoever_ends_it_early_is_shown_what_was_played(folder: Path) -> None:
    command = [sys.executable, "-m", "maple.evaluate", "max", "--against", "random"]
    options = ["--format", QUICK, "--battles", "100000", "--output", "out", "--pool", "1"]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for_child(process.pid)
        # Nothing but time says that some battles have ended.
        time.sleep(2)
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, (stdout, stderr)
    assert "It was interrupted after " in stdout
    assert "of 100,000 battles." in stdout
    assert stderr == ""
    assert (folder / "out" / "matches.csv").is_file()


def wait_for_child(pid: int) -> None:
    """Until there is a Node process."""
    while not psutil.Process(pid).children(recursive=True):
        time.sleep(0.05)


def test_help_has_examples() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "maple.evaluate", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "examples:\n  python -m maple.evaluate runs/first\n" in shown.stdout
    assert "The exit status is 0" in " ".join(shown.stdout.split())
    assert "| torch" not in shown.stderr


# While it plays


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ended(number: int, outcome: Outcome = "win") -> Played:
    return Played("agent", "max", number, "p1", outcome, 20, "win", "1,2,3,4")


def test_elsewhere_than_on_a_terminal_a_line_says_every_ten_seconds_how_far_it_is() -> None:
    clock = Clock()
    console = Console(file=io.StringIO(), width=80)
    with Display(console, [("agent", "max"), ("agent", "random")], 50, clock) as display:
        for number in range(40):
            clock.now += 0.5
            display.battle_ended(ended(number, "win" if number % 4 else "loss"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "20 of 100 battles, 2.0 a second, 40.0 s left; agent against max 75.0 %",
        "40 of 100 battles, 2.0 a second, 30.0 s left; agent against max 75.0 %",
    ]


def test_on_a_terminal_it_stays_in_its_place() -> None:
    clock = Clock()
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    with Display(console, [("agent", "max")], 4, clock) as display:
        for number in range(4):
            clock.now += 1
            display.battle_ended(ended(number))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "4 of 4 battles, 1.0 a second\n" in shown.replace("\r", "")
    assert "3 of 4 battles, 1.0 a second, 1.00 s left" in shown
    assert "agent  max  3  100.0 %" in shown
