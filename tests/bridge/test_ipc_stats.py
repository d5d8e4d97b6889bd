"""The command line of scripts/ipc_stats.py, run as its users run it."""

from __future__ import annotations

import contextlib
import fcntl
import http.server
import io
import json
import os
import pty
import re
import runpy
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge.runtime import find_runtime
from bridge.throughput import Report
from bridge.timing import PHASES

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "ipc_stats.py"
BATTLES = 4


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, str(SCRIPT), *map(str, arguments)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, check=False, env=plain()
    )


def plain() -> dict[str, str]:
    """An environment in which nothing colours or stretches what is printed."""
    unwanted = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {"PYTHONPATH": str(REPOSITORY)}


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a pool that does not warm up."""
    path = tmp_path_factory.mktemp("settings") / "bridge.yml"
    path.write_text("pool: 1\nwarmup_battles: 0\n")
    return path


@dataclass(frozen=True)
class Outcome:
    process: subprocess.CompletedProcess[str]
    data: dict[str, Any]
    page: str

    @property
    def report(self) -> Report:
        return Report.from_dict(self.data)


@pytest.fixture(scope="module")
def outcome(cold: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A short run, with everything that it writes."""
    folder = tmp_path_factory.mktemp("run")
    files = folder / "report.json", folder / "report.html"
    play = ("--config", cold, "--battles", str(BATTLES), "--rooms", "2", "--seed", "7")
    process = run(*play, "--interval", "0.2", "--json", files[0], "--html", files[1])
    assert process.returncode == 0, process.stderr
    return Outcome(process, json.loads(files[0].read_text()), files[1].read_text())


def test_battles_are_played_and_reported(outcome: Outcome) -> None:
    report = outcome.report
    assert report.ending == "complete"
    assert report.counts.battles_ended == BATTLES
    assert report.settings["seed"] == 7
    assert report.settings["warmup_battles"] == 0
    text = outcome.process.stdout
    assert f"{BATTLES} battles of gen9randombattle, 2 at a time on 1 controller\n" in text
    for title in ("Throughput over", "Round trips and their phases", "Processes", "Starts and"):
        assert title in text
    assert "1 of 1 controllers are ready" in outcome.process.stderr
    assert (report.machine.turbo, report.machine.left) == (True, ())
    assert "simulator pokemon-showdown 0.11.11, turbo" in text
    assert "pokemon-showdown 0.11.11, turbo" in outcome.page
    assert [process.warmth for process in report.processes] == [None, 1.0]


def test_battles_can_be_measured_without_turbo_once_the_pool_is_warm(tmp_path: Path) -> None:
    settings, file = tmp_path / "bridge.yml", tmp_path / "report.json"
    settings.write_text("pool: 1\nwarmup_battles: 2\nheartbeat: 0.1\n")
    process = run("--config", settings, "--no-turbo", "--battles", "2", "--json", file)
    assert process.returncode == 0, process.stderr
    report = Report.load(file)
    assert report.machine.turbo is False
    assert "pokemon-showdown 0.11.11, vanilla" in process.stdout
    assert "warming up" in process.stderr
    assert [use.warmth for use in report.processes] == [None, 1.0]
    assert "warm" not in {operation.name for operation in report.operations}


def test_what_was_written_is_what_was_printed(outcome: Outcome) -> None:
    text = outcome.process.stdout
    decisions = outcome.data["counts"]["decisions"]
    assert re.search(rf"^decisions .* {decisions:,} ", text, re.MULTILINE)
    for process in outcome.report.processes:
        assert f" {process.pid} " in text


def test_the_figures_agree_with_each_other(outcome: Outcome) -> None:
    report, rates = outcome.report, outcome.data["rates"]
    counts = report.counts
    assert counts.decisions is not None
    assert rates["decisions_per_s"] * report.seconds == pytest.approx(counts.decisions)
    assert rates["bytes_in_per_decision"] * counts.decisions == pytest.approx(counts.bytes_in)
    assert rates["frames_in_per_turn"] * (counts.turns or 0) == pytest.approx(counts.frames)
    operations = {operation.name: operation for operation in report.operations}
    assert operations["open"].total["count"] == BATTLES
    assert counts.decisions <= operations["choose"].total["count"] < counts.decisions * 1.05
    for operation in operations.values():
        means = sum(operation.phases[phase]["mean"] for phase in PHASES)
        assert means == pytest.approx(operation.total["mean"], rel=0.02)
        assert operation.total["p50"] <= operation.total["p99"] <= operation.total["max"]


def test_the_cost_of_each_process_is_measured(outcome: Outcome) -> None:
    python, node = outcome.report.processes
    assert (python.role, node.role) == ("python", "node")
    for process in (python, node):
        assert process.source == "system"
        assert process.cpu_seconds is not None
        assert 0 < process.cpu_seconds < outcome.report.seconds * 8
        assert process.rss_peak is not None
        assert process.rss_peak > 20_000_000
    assert (node.rooms_peak or 0) <= 2
    assert (outcome.report.counts.starts, outcome.report.ever.starts) == (0, 1)
    assert outcome.report.machine.node == find_runtime().node_version


def test_the_page_stands_alone(outcome: Outcome) -> None:
    assert not re.search(r"https?://", outcome.page)
    found = re.search(r'id="data">(.*?)</script>', outcome.page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["report"] == outcome.data


def test_no_process_is_left(outcome: Outcome) -> None:
    for process in outcome.report.processes:
        assert process.pid is not None
        assert not psutil.pid_exists(process.pid)


def test_an_interrupted_run_reports_what_it_measured_and_leaves_no_process(
    cold: Path, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    play = command("--config", cold, "--battles", "100000", "--rooms", "4", "--json", file)
    with subprocess.Popen(
        play, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain()
    ) as process:
        assert process.stderr is not None
        under_way = re.compile(r"of 100000 battles, [1-9][\d,]* decisions/s")
        assert any(under_way.search(line) for line in process.stderr)
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "It was interrupted" in text
    assert "Round trips and their phases" in text
    report = Report.load(file)
    assert report.ending == "interrupted"
    assert report.counts.decisions
    assert report.counts.deaths == 0
    assert all(not psutil.pid_exists(used.pid or 0) for used in report.processes)


def test_on_a_terminal_a_bar_shows_how_it_comes_along(cold: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    play = command("--config", cold, "--battles", "6", "--rooms", "2", "--interval", "0.1")
    with (
        os.fdopen(ours, "rb", buffering=0) as screen,
        subprocess.Popen(
            [*play, "--format", "gen1randombattle"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=plain() | {"TERM": "xterm-256color"},
        ) as process,
    ):
        os.close(theirs)
        seen = read_all(screen)
        text, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"\x1b" not in text
    assert b"Throughput over" in text
    assert b"controllers are ready" in seen
    drawn = re.sub(rb"\x1b\[[\d;?]*[a-zA-Z]", b"", seen)
    assert re.search(rb"battles \S+ [1-6]/6 [\d,]+ decisions/s", drawn), drawn
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor stays hidden"


def read_all(screen: io.FileIO) -> bytes:
    """What a terminal is shown until nobody has it open any more, which Linux calls an error."""
    seen = b""
    with contextlib.suppress(OSError):
        while some := screen.read(4096):
            seen += some
    return seen


def test_a_run_that_is_interrupted_while_it_warms_up_leaves_no_process(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    node = tmp_path / "node"
    asked = f'[ "$1" = -p ] && exec "{find_runtime().node}" "$@"'
    node.write_text(f'#!/bin/sh\n{asked}\necho $$ > "{started}"\nexec sleep 600\n')
    node.chmod(0o755)
    settings = tmp_path / "bridge.yml"
    settings.write_text(f"node: {node}\n")
    with subprocess.Popen(
        command("--config", settings), stderr=subprocess.PIPE, text=True, env=plain()
    ) as process:
        pid = int(started.read_text())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "ipc_stats: interrupted before there was anything to report\n"
    assert not psutil.pid_exists(pid)


@pytest.fixture
def wrong_server() -> Iterator[str]:
    """A server of something else."""
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def assert_refused(process: subprocess.CompletedProcess[str], status: int, reason: str) -> None:
    """It ended with a status and one line, which says why."""
    assert process.returncode == status, process.stderr
    lines = [line for line in process.stderr.splitlines() if not line.endswith("are ready")]
    assert len(lines) == 1, process.stderr
    assert lines[0].startswith("ipc_stats: ")
    assert re.search(reason, lines[0]), lines[0]
    assert process.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--battles", "0"], "--battles: 0 is too few"),
        (["--pool", "0"], "--pool: 0 is too few"),
        (["--rooms", "many"], "--rooms: 'many' is not a whole number"),
        (["--interval", "0"], "--interval: 0 is not more than 0"),
        (["--interval", "nan"], "--interval: nan is not more than 0"),
        (["--json", "no/such/folder/report.json"], "there is no folder no/such/folder"),
        (["--html", "/"], "--html: / is a folder"),
        (["--duration", "3"], "--duration needs --attach"),
        (["--attach", "127.0.0.1:9", "--pool", "2"], "--pool does not go with --attach"),
        (["--attach", "127.0.0.1:9", "--no-turbo"], "--no-turbo does not go with --attach"),
        (["--batles", "3"], "--batles"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["ipc_stats.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    said = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    refused = subprocess.CompletedProcess(arguments, ended.value.code, said.out, said.err)
    assert_refused(refused, 2, reason)


def test_a_format_that_is_not_there_is_refused(cold: Path) -> None:
    refused = run("--config", cold, "--format", "gen9nosuchbattle", "--battles", "3")
    assert_refused(refused, 1, "gen9nosuchbattle")


def test_a_format_that_needs_teams_is_refused(cold: Path) -> None:
    assert_refused(run("--config", cold, "--format", "gen9ou"), 1, "needs a team")


def test_more_rooms_than_there_are_places_are_refused(cold: Path) -> None:
    refused = run("--config", cold, "--rooms", "5000", "--battles", "6000")
    assert_refused(refused, 1, "5000 rooms do not fit on 1 controller of 512 rooms each")


def test_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    settings = tmp_path / "bridge.yml"
    settings.write_text("node: no-such-node\n")
    assert_refused(run("--config", settings), 1, "no-such-node is not there")


def test_settings_that_are_not_there_are_refused(tmp_path: Path) -> None:
    assert_refused(run("--config", tmp_path / "bridge.yml"), 1, "cannot read .*bridge.yml")


def test_an_address_where_nothing_listens_is_refused() -> None:
    assert_refused(
        run("--attach", "http://127.0.0.1:9"), 1, "nothing listens at http://127.0.0.1:9"
    )


def test_a_server_of_something_else_is_refused(wrong_server: str) -> None:
    assert_refused(run("--attach", wrong_server), 1, "is not a Maple server")


def test_a_running_server_is_watched(cold: Path, tmp_path: Path) -> None:
    file, page = tmp_path / "report.json", tmp_path / "report.html"
    serve = [sys.executable, "-m", "bridge.serve", "--config", str(cold), "--port", "0"]
    with subprocess.Popen(
        serve, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, env=plain()
    ) as server:
        assert server.stderr is not None
        ready = next(line for line in server.stderr if "event=ready" in line)
        url = re.findall(r"url=(\S+)", ready)[0]
        watched = run(
            *("--attach", url, "--interval", "0.3", "--count", "2"),
            *("--json", file, "--html", page),
        )
        server.terminate()
        server.communicate(timeout=30)
    assert watched.returncode == 0, watched.stderr
    assert watched.stdout.count("a second, last") == 2
    assert watched.stdout.count("Node deaths") == 3
    report = Report.load(file)
    python, node = report.processes
    assert (python.pid, python.source) == (server.pid, "system")
    assert node.state == "ready"
    assert report.seconds > 0.5
    assert report.settings["warmup_battles"] == 0
    assert url in page.read_text()


def test_the_help_has_examples() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    assert "examples:" in shown.stdout
    assert "--attach http://127.0.0.1:8000" in shown.stdout
