"""The wheel carries the Node side and whatever else the package reads at run time."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("node_modules", "__pycache__", "/test/")


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel that was built from here."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", "pip", *build, "--wheel-dir", str(folder), str(ROOT)],
        check=True,
        timeout=100,
    )
    [wheel] = folder.glob("maple-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_a_wheel_carries_the_node_side(carried: set[str]) -> None:
    node = ROOT / "node"
    files = ["controller.js", "package.json", "package-lock.json", "bench/limit.js"]
    files += [str(file.relative_to(node)) for file in (node / "lib").glob("*.js")]
    assert len(files) > 10
    observation = [file for file in (node / "observation").rglob("*") if file.is_file()]
    assert len(observation) > 10
    files += [str(file.relative_to(node)) for file in observation]
    assert {f"bridge/_node/{name}" for name in files} <= carried


def test_a_wheel_carries_every_file_of_the_packages(carried: set[str]) -> None:
    files = {
        str(file.relative_to(parent))
        for parent, package in ((ROOT, "bridge"), (ROOT / "src", "maple"))
        for file in (parent / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {"bridge/py.typed", "bridge/throughput/page.html", "bridge/throughput/page.js"} <= files
    assert {"maple/py.typed", "maple/env/__init__.py"} <= files
    assert files <= carried


def test_a_wheel_carries_nothing_that_was_installed_or_is_only_for_tests(carried: set[str]) -> None:
    assert [name for name in carried if any(part in name for part in LEFT_OUT)] == []
    top = {name.partition("/")[0] for name in carried}
    assert top == {"bridge", "maple", "maple-0.1.0.dist-info"}
