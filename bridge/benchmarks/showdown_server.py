"""The baseline of the benchmark: poke-env's RandomPlayer against the real Showdown server.

It owns the server's life and the battles played over WebSocket. It does not choose the best setting
and prints no table. `python -m bridge.benchmarks.showdown_server` plays the battles of one
measurement in a process of its own, so that the CPU time of Python is counted alone.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import dataclasses
import json
import logging
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import psutil

from ..errors import BridgeError, ConfigError, InstallationFailed
from .sample import Sample

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from poke_env.player import Player

__all__ = [
    "BaselineFailed",
    "Place",
    "ServerSettings",
    "ShowdownServer",
    "Trial",
    "measure_showdown",
    "play_in_own_process",
    "play_random_battles",
]

START_SECONDS = 60.0
STOP_SECONDS = 10.0
PLAY_SECONDS = 120.0
SECONDS_A_BATTLE = 2.0  # ten times what two cores take for one
EXIT_SECONDS = 30.0
LOG_LINES = 60

LISTENING = "maple: listening on port "

# Follows the package's own example configuration; `--no-security` turns off every throttle. The
# hook says when the server listens, and ends it when its standard input closes, so that it never
# outlives Python.
OVERRIDES = """
exports.bindaddress = '127.0.0.1';
exports.subprocesses.simulator = %(simulator_processes)d;
exports.startuphook = () => {
	require('cluster').on('listening', (worker, address) => {
		if (address.addressType === 4) console.log('%(listening)s' + address.port);
	});
	process.stdin.on('end', () => process.exit()).resume();
};
"""


class BaselineFailed(BridgeError):
    """Raised when the Showdown server does not start, or battles on it do not end in time."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How many processes of the server simulate battles."""

    simulator_processes: int

    def __post_init__(self) -> None:
        if self.simulator_processes < 1:
            raise ConfigError(
                f"simulator_processes is {self.simulator_processes}, must be 1 or more"
            )


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of battles under one setting of the server and of the players."""

    simulator_processes: int
    concurrency: int
    sample: Sample


class ShowdownServer:
    """The server of the npm package, running on a free loopback port while the context is open."""

    pid: int
    port: int

    def __init__(self, package: Path, node: Path, settings: ServerSettings) -> None:
        self._package = package
        self._node = node
        self.settings = settings

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="showdown-", ignore_cleanup_errors=True)
            )
            home = _copy_package(self._package, Path(folder), self.settings)
            process = _start_process(self._node, home)
            log = _ServerLog(process)
            stack.callback(_stop_process, process, log)
            self.pid = process.pid
            self.port = log.wait_for_port(START_SECONDS)
            _wait_for_greeting(self.websocket_url, START_SECONDS)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    def cpu_seconds(self) -> float:
        """CPU time so far of the server and of all its children, also of those that have ended."""
        return session_cpu_seconds(self.pid)


def _copy_package(package: Path, folder: Path, settings: ServerSettings) -> Path:
    """Make a copy of the package that a server may write to, and return where it is."""
    if not (package / "dist" / "server" / "index.js").is_file():
        raise InstallationFailed(f"there is no compiled Showdown server in {package}")
    home = folder / "pokemon-showdown"
    shutil.copytree(package, home, ignore=shutil.ignore_patterns("*.map", "*.ts", "*.tsx"))
    (folder / "node_modules").symlink_to(package.resolve().parent, target_is_directory=True)
    (home / "logs" / "repl").mkdir(parents=True)
    (home / "config" / "chat-plugins").mkdir(parents=True)
    example = (home / "config" / "config-example.js").read_text(encoding="utf-8")
    overrides = OVERRIDES % {
        "simulator_processes": settings.simulator_processes,
        "listening": LISTENING,
    }
    (home / "config" / "config.js").write_text(example + overrides, encoding="utf-8")
    return home


def _start_process(node: Path, home: Path) -> subprocess.Popen[str]:
    """Start the server on a port that the system picks, out of reach of the terminal's Ctrl-C."""
    return subprocess.Popen(
        [node, "pokemon-showdown", "start", "--no-security", "--skip-build", "0"],
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


class _ServerLog:
    """Reads what the server prints, so that it never blocks, and keeps the last lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self._ports: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="showdown-log", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)
            if line.startswith(LISTENING):
                self._ports.put(int(line.removeprefix(LISTENING)))
        self._ports.put(None)

    def wait_for_port(self, timeout: float) -> int:
        """Return the port when the server listens on it."""
        try:
            port = self._ports.get(timeout=timeout)
        except queue.Empty:
            raise self._failure(
                f"the Showdown server did not listen within {timeout:g} s"
            ) from None
        if port is None:
            raise self._failure("the Showdown server ended before it listened")
        return port

    def _failure(self, message: str) -> BaselineFailed:
        return BaselineFailed(
            message,
            pid=self._process.pid,
            exit_status=self._process.poll(),
            stderr="".join(self._lines),
        )

    def wait_for_end(self, timeout: float | None = None) -> None:
        """Wait for the end of the output, which comes with the end of the server's last process."""
        self._reader.join(timeout)

    def close(self) -> None:
        self.wait_for_end()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _wait_for_greeting(url: str, timeout: float) -> None:
    """Return when the server has answered a WebSocket with what a player needs to log in."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    deadline = time.monotonic() + timeout
    try:
        with connect(url, open_timeout=timeout) as websocket:
            while "|challstr|" not in str(websocket.recv(deadline - time.monotonic())):
                pass
    except (OSError, WebSocketException) as error:
        raise BaselineFailed(f"the Showdown server at {url} does not answer: {error!r}") from error


def _stop_process(process: subprocess.Popen[str], log: _ServerLog) -> None:
    """End the server by closing its standard input, and whatever is left of it by force."""
    try:
        assert process.stdin is not None
        process.stdin.close()
        log.wait_for_end(STOP_SECONDS)
    finally:
        for survivor in session_members(process.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                survivor.kill()
        process.wait()
        log.close()


def session_members(leader: int) -> list[psutil.Process]:
    """The processes of a session that have not ended, though its leader may have."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
    return members


def session_cpu_seconds(leader: int) -> float:
    """CPU time of a session so far; the time of a member that ended is with its parent."""
    total = 0.0
    for process in _running_session(leader):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def session_memory_bytes(leader: int) -> int:
    """Resident memory of the processes of a session."""
    total = 0
    for process in _running_session(leader):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def _running_session(leader: int) -> list[psutil.Process]:
    members = session_members(leader)
    if not any(process.pid == leader for process in members):
        raise BaselineFailed("the Showdown server is not running", pid=leader)
    return members


def play_random_battles(
    url: str,
    *,
    server_pid: int,
    battles: int,
    concurrency: int,
    format: str = "gen9randombattle",
    warmup: int = 0,
    deadline: float | None = None,
) -> Sample:
    """Let two RandomPlayers of poke-env play each other on the server at `url`.

    The warm-up battles come first and are not counted. All of it has to end within `deadline`
    seconds, or as long as so many battles may take. The CPU time of the server is read at the same
    two moments as the CPU time of this process.
    """
    if deadline is None:
        deadline = seconds_for(warmup + battles)
    return asyncio.run(
        _play_random_battles(url, server_pid, battles, concurrency, format, warmup, deadline)
    )


def seconds_for(battles: int) -> float:
    """How long so many battles may take before something must be wrong."""
    return PLAY_SECONDS + SECONDS_A_BATTLE * battles


async def _play_random_battles(
    url: str,
    server_pid: int,
    battles: int,
    concurrency: int,
    battle_format: str,
    warmup: int,
    deadline: float,
) -> Sample:
    from poke_env import AccountConfiguration, ServerConfiguration

    from .poke_env_players import CountingPlayer

    p1, p2 = (
        CountingPlayer(
            AccountConfiguration.generate("maple", rand=True),
            battle_format=battle_format,
            log_level=logging.WARNING,
            max_concurrent_battles=concurrency,
            server_configuration=ServerConfiguration(url, ""),
        )
        for _ in range(2)
    )
    try:
        async with asyncio.timeout(deadline):
            await _while_connected(p1.battle_against(p2, n_battles=warmup), p1, p2)
            warm = set(p1.battles)
            decisions = p1.decisions + p2.decisions
            node_cpu = session_cpu_seconds(server_pid)
            python_cpu, start = time.process_time(), time.perf_counter()
            await _while_connected(p1.battle_against(p2, n_battles=battles), p1, p2)
            wall = time.perf_counter() - start
            python_cpu = time.process_time() - python_cpu
            node_cpu = session_cpu_seconds(server_pid) - node_cpu
    except TimeoutError:
        raise BaselineFailed(
            f"{p1.n_finished_battles} of {warmup} + {battles} battles ended within {deadline:g} s",
            pid=server_pid,
        ) from None
    played = [battle for tag, battle in p1.battles.items() if tag not in warm and battle.finished]
    for player in (p1, p2):
        await player.ps_client.stop_listening()  # type: ignore[no-untyped-call]
    return Sample(
        battles=len(played),
        decisions=p1.decisions + p2.decisions - decisions,
        turns=sum(battle.turn for battle in played),
        wall=wall,
        python_cpu=python_cpu,
        node_cpu=node_cpu,
        python_memory=psutil.Process().memory_info().rss,
        node_memory=session_memory_bytes(server_pid),
    )


async def _while_connected(work: Coroutine[Any, Any, None], *players: Player) -> None:
    """Do the work; a player whose connection ends would wait for ever, so that ends it too."""
    task = asyncio.ensure_future(work)
    connections = [asyncio.wrap_future(player.ps_client._listening_coroutine) for player in players]
    await asyncio.wait({task, *connections}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        raise BaselineFailed("a player lost its connection to the Showdown server")
    await task


class Place(Protocol):
    """A server of battles that is a session of its own."""

    @property
    def websocket_url(self) -> str: ...

    @property
    def pid(self) -> int: ...


def play_in_own_process(
    server: Place,
    *,
    battles: int,
    concurrency: int,
    format: str = "gen9randombattle",
    warmup: int = 0,
    deadline: float | None = None,
) -> Sample:
    """Play on a running server from a fresh Python process, as often as the caller likes."""
    if deadline is None:
        deadline = seconds_for(warmup + battles)
    arguments = {
        "--url": server.websocket_url,
        "--server-pid": server.pid,
        "--battles": battles,
        "--concurrency": concurrency,
        "--format": format,
        "--warmup": warmup,
        "--deadline": deadline,
    }
    command = [sys.executable, "-m", "bridge.benchmarks.showdown_server"]
    command += [str(word) for pair in arguments.items() for word in pair]
    try:
        done = subprocess.run(
            command,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=deadline + EXIT_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise BaselineFailed(f"the players did not end within {error.timeout:g} s") from error
    except subprocess.CalledProcessError as error:
        raise BaselineFailed(
            "the players failed", exit_status=error.returncode, stderr=error.stderr
        ) from error
    return Sample(**json.loads(done.stdout))


def measure_showdown(
    package: Path,
    node: Path,
    *,
    battles: int,
    warmup: int,
    simulator_processes: Sequence[int],
    concurrencies: Sequence[int],
    rounds: int = 1,
    format: str = "gen9randombattle",
) -> list[Trial]:
    """Measure every combination of the two settings, with one server for each first one.

    At least twice as many battles are played as are in flight at a time.
    """
    trials = []
    for count in simulator_processes:
        with ShowdownServer(package, node, ServerSettings(simulator_processes=count)) as server:
            for number, concurrency in enumerate([*concurrencies] * rounds):
                sample = play_in_own_process(
                    server,
                    battles=max(battles, 2 * concurrency),
                    warmup=warmup if number < len(concurrencies) else warmup // 4,
                    concurrency=concurrency,
                    format=format,
                )
                trials.append(Trial(count, concurrency, sample))
    return trials


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the battles that the command line asks for and print one line of JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m bridge.benchmarks.showdown_server", description=main.__doc__
    )
    parser.add_argument("--url", required=True, help="WebSocket URL of a Showdown server")
    parser.add_argument("--server-pid", type=int, required=True, help="its pid, to count its cost")
    parser.add_argument("--battles", type=int, required=True, help="battles to measure")
    parser.add_argument("--concurrency", type=int, required=True, help="battles in flight")
    parser.add_argument("--format", default="gen9randombattle", help="a format with random teams")
    parser.add_argument("--warmup", type=int, default=0, help="battles before the measured ones")
    parser.add_argument("--deadline", type=float, help="seconds for it all")
    options = vars(parser.parse_args(arguments))
    try:
        sample = play_random_battles(options.pop("url"), **options)
    except BaselineFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(dataclasses.asdict(sample)))
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Without poke-env's exit hook: it waits for connections that a frozen server never closes.
    os._exit(status)
