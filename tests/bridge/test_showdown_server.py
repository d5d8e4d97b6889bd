"""The baseline of the benchmark: battles on the real Showdown server, and what it leaves behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from bridge.benchmarks import showdown_server
from bridge.benchmarks.showdown_server import (
    BaselineFailed,
    ServerSettings,
    ShowdownServer,
    measure_showdown,
    play_in_own_process,
    seconds_for,
    session_members,
)
from bridge.errors import ConfigError, InstallationFailed
from bridge.runtime import Runtime, find_runtime

pytestmark = pytest.mark.serial

REPOSITORY = Path(__file__).resolve().parents[2]
PLAYERS = (sys.executable, "-m", "bridge.benchmarks.showdown_server")

# A benchmark that is interrupted while its server starts, or runs.
HOLD_A_SERVER = """
import sys, time
from pathlib import Path
from bridge.benchmarks.showdown_server import ServerSettings, ShowdownServer
with ShowdownServer(Path(sys.argv[1]), Path(sys.argv[2]), ServerSettings(1)) as server:
    print(server.pid, server.websocket_url, flush=True)
    time.sleep(600)
"""


@contextmanager
def hold_a_server(package: Path, node: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a server in a Python of its own, which keeps its copy of the package in `folder`."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_SERVER, package, node],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(folder)},
        text=True,
    ) as holder:
        try:
            yield holder
        finally:
            holder.kill()


def simulators(leader: int) -> int:
    """How many processes of a server simulate battles; it has others, some of them short-lived."""
    commands = [" ".join(process.cmdline()) for process in session_members(leader)]
    return sum("room-battle" in command for command in commands)


def ends(leader: int) -> bool:
    """Whether every process of a session is gone, or soon will be."""
    deadline = time.monotonic() + 10
    while session_members(leader):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def stub_node(folder: Path, script: str) -> Path:
    node = folder / "node"
    node.write_text(f"#!/bin/sh\n{script}\n")
    node.chmod(0o755)
    return node


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return find_runtime()


@pytest.fixture(scope="module")
def server(runtime: Runtime) -> Iterator[ShowdownServer]:
    with ShowdownServer(runtime.simulator, runtime.node, ServerSettings(2)) as running:
        yield running
    assert ends(running.pid)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", running.port))


def test_battles_decisions_and_time_are_counted(server: ShowdownServer) -> None:
    before = server.cpu_seconds()

    played = play_in_own_process(server, battles=3, warmup=1, concurrency=2, deadline=60)

    assert played.battles == 3
    assert played.turns > 3
    assert played.turns * 2 * 0.5 < played.decisions < played.turns * 2 * 2
    assert 0 < played.python_cpu < played.wall * 2
    assert 0 < played.node_cpu < server.cpu_seconds() - before
    assert played.python_memory > 0
    assert played.node_memory > 0


def test_more_battles_get_more_time() -> None:
    assert seconds_for(2000) > 10 * seconds_for(60) > 0


def test_the_server_is_as_many_processes_as_asked_for_and_listens_on_loopback_only(
    server: ShowdownServer,
) -> None:
    assert simulators(server.pid) == 2
    listening = {
        connection.laddr
        for process in session_members(server.pid)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {("127.0.0.1", server.port)}


def test_players_of_a_frozen_server_give_up_at_the_deadline(server: ShowdownServer) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(BaselineFailed, match=r"0 of 0 \+ 3 battles ended within 1 s"):
            play_in_own_process(server, battles=3, concurrency=1, deadline=1)
    finally:
        os.kill(server.pid, signal.SIGCONT)


def test_a_killed_python_takes_its_server_along_and_players_notice_at_once(
    runtime: Runtime,
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        hold_a_server(runtime.simulator, runtime.node, Path(folder)) as holder,
    ):
        assert holder.stdout is not None
        leader, url = holder.stdout.readline().split()
        assert simulators(int(leader)) == 1
        with ThreadPoolExecutor(1) as executor:
            play = ("--battles", "1", "--warmup", "500", "--concurrency", "1")
            players = executor.submit(
                subprocess.run,
                [*PLAYERS, *play, "--url", url, "--server-pid", leader],
                cwd=REPOSITORY,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            holder.kill()
            failed = players.result()
    assert ends(int(leader))
    assert failed.returncode == 1
    assert "a player lost its connection to the Showdown server" in failed.stderr


def test_an_interrupted_start_leaves_no_process(runtime: Runtime, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    node = stub_node(tmp_path, f"echo $$ > '{tmp_path}/started'; exec cat")
    with (
        (tmp_path / "started").open("r+b", buffering=0) as started,
        hold_a_server(runtime.simulator, node, tmp_path) as holder,
    ):
        assert select.select([started], [], [], 20)[0], "the server was not started"
        leader = int(started.readline())
        assert session_members(leader) != []
        holder.send_signal(signal.SIGINT)
        _, errors = holder.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    assert ends(leader)


def test_a_server_that_neither_listens_nor_ends_is_killed_with_its_children(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showdown_server, "START_SECONDS", 0.5)
    monkeypatch.setattr(showdown_server, "STOP_SECONDS", 0.5)
    server = ShowdownServer(
        runtime.simulator, stub_node(tmp_path, "sleep 600 & sleep 600"), ServerSettings(1)
    )
    with pytest.raises(BaselineFailed, match=r"did not listen within 0\.5 s"), server:
        pass
    assert ends(server.pid)
    with pytest.raises(BaselineFailed, match="is not running"):
        server.cpu_seconds()


def test_a_server_that_ends_at_once_is_reported_with_what_it_printed(
    runtime: Runtime, tmp_path: Path
) -> None:
    node = stub_node(tmp_path, "echo no such luck; exit 3")
    with (
        pytest.raises(BaselineFailed, match="ended before it listened") as raised,
        ShowdownServer(runtime.simulator, node, ServerSettings(1)),
    ):
        pass
    assert raised.value.stderr == "no such luck\n"


def test_a_folder_without_a_server_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(InstallationFailed, match="no compiled Showdown server"):
        measure_showdown(
            tmp_path,
            runtime.node,
            battles=1,
            warmup=0,
            simulator_processes=[1],
            concurrencies=[1],
        )


def test_a_server_without_simulator_processes_is_refused() -> None:
    with pytest.raises(ConfigError, match="simulator_processes is 0"):
        ServerSettings(simulator_processes=0)
