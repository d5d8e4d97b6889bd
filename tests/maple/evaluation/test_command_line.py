"""`python -m maple.evaluate`: what it prints, writes, and refuses."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from bridge import BridgeConfig
from maple.agents import Checkpoint, save_checkpoint
from maple.env.battle import Seat
from maple.env.opponents import MaxBasePowerOpponent
from maple.evaluation import arena, command_line
from maple.evaluation.display import Display
from maple.evaluation.results import Outcome, Played
from tests.maple.env.hands import TEAM

from .players import QUICK, network, observations

REPOSITORY = Path(__file__).parents[3]
FAULTS = Path(__file__).parents[2] / "adversity" / "faults" / "poison.js"


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
        (["nowhere"], 2, "there is no nowhere: name a checkpoint, or the folder of a run (or"),
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
        (["max", "--format", "nosuchformat"], 2, "Unrecognized format"),
        (["agent.pt", "--format", "gen9randombattle"], 2, "agent plays singles of generation 1"),
        (
            ["max", "--format", "gen9ou"],
            2,
            "gen9ou wants teams: give them as teams=… (here --teams",
        ),
        (
            ["agent.pt", "--teams", "team.txt"],
            2,
            "gen1randombattle draws teams of its own, and would ignore those of teams=… (here --te",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    run_here: Command, folder: Path, arguments: list[str], status: int, complaint: str
) -> None:
    (folder / "team.txt").write_text(TEAM)
    done = run_here(*arguments)
    assert (done.status, done.stdout) == (status, "")
    assert done.stderr.startswith("maple.evaluate: ")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(folder.glob("logs/evaluation/*"))


def test_results_are_not_mixed_with_earlier_ones(run_here: Command, folder: Path) -> None:
    options = ("max", "--against", "random", "--battles", "2", "--format", QUICK, "--output", "out")
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("what I want to know")
    assert run_here(*options).status == 0
    written = {file: file.stat().st_mtime_ns for file in (folder / "out").rglob("*")}
    again = run_here(*options)
    assert (again.status, again.stdout) == (2, "")
    assert "out has the results of an earlier evaluation: name another folder" in again.stderr
    assert {file: file.stat().st_mtime_ns for file in (folder / "out").rglob("*")} == written


def test_a_folder_that_was_there_stays_though_nothing_is_played(
    run_here: Command, folder: Path
) -> None:
    (folder / "out").mkdir()
    options = ("--format", "gen9randombattle", "--output")
    assert run_here("agent.pt", *options, "out").status == 2
    assert run_here("agent.pt", *options, "other/place").status == 2
    assert (folder / "out").is_dir()
    assert not list((folder / "out").iterdir())
    assert not (folder / "other" / "place").exists()


def test_who_begins_in_the_same_second_has_a_folder_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_line, "_name_of_now", lambda: "now")
    with (
        command_line._made_folder(None, replays=False) as one,
        command_line._made_folder(None, replays=True) as two,
    ):
        assert one != two
        assert {path.name for path in (folder / "logs" / "evaluation").iterdir()} == {
            one.name,
            two.name,
        }


def test_the_exit_status_tells_of_battles_that_failed(
    run_here: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = arena._read(None)
    faulty = quick.replace(node_arguments=("--require", str(FAULTS)), poison_folder=folder / "bad")
    monkeypatch.setattr(arena, "_read", lambda bridge: faulty)
    monkeypatch.setattr(MaxBasePowerOpponent, "decide", say_what_breaks)
    done = run_here("max", "--against", "random", "--battles", "2", "--format", QUICK)
    assert done.status == 1
    assert done.stderr.splitlines()[-1] == "maple.evaluate: 2 of 2 battles came to no end"
    assert "2 came to no end, and are left out: BattlePoisoned" in done.stdout


def say_what_breaks(self: object, seat: Seat) -> None:
    """Chooses what a simulator with a certain fault breaks at."""
    seat.choose("fault throw")
    seat.battle.table.chosen(seat.battle)


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


# Says when the first battle has ended.
ANNOUNCING = """\
from maple.evaluation.command_line import main
from maple.evaluation.tally import Tally

note = Tally.note

def announce(tally, *arguments):
    if not tally.played:
        print("a battle has ended", flush=True)
    note(tally, *arguments)

Tally.note = announce
raise SystemExit(main())
"""


# As a shell has what a script runs in the background.
IGNORING_CTRL_C = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("in_background", [False, True])
def test_whoever_ends_it_early_is_shown_what_was_played(folder: Path, in_background: bool) -> None:
    command = [sys.executable, "-c", ANNOUNCING, "max", "--against", "random", "--output", "out"]
    options = ["--format", QUICK, "--battles", "100000", "--pool", "1"]
    process = subprocess.Popen(
        [*(IGNORING_CTRL_C if in_background else ()), *command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "a battle has ended\n"
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, (stdout, stderr)
    assert "It was interrupted after " in stdout
    assert "of 100,000 battles." in stdout
    assert stderr == ""
    assert (folder / "out" / "matches.csv").is_file()


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
