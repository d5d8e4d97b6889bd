"""What docs/evaluation.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
TEXT = (REPOSITORY / "docs" / "evaluation.md").read_text("utf-8")


@pytest.mark.timeout(120)
def test_the_example_measures_a_network() -> None:
    [example] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    smaller = example.replace('Arena("gen1randombattle")', 'Arena("gen1randombattle", pool=1)')
    smaller = smaller.replace("battles=20", "battles=2")
    assert smaller.count("=2,") == 1
    done = subprocess.run(
        [sys.executable, "-c", smaller], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
    assert re.fullmatch(r"random: \d\.\d\d, \(.*\)\nmax: \d\.\d\d, \(.*\)\n", done.stdout)


def test_all_options_and_files_are_explained() -> None:
    shown = subprocess.check_output(
        [sys.executable, "-m", "maple.evaluate", "--help"], text=True, timeout=60
    )
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help", "--no-cross-play"}
    assert not [option for option in sorted(options) if option not in TEXT]
    package = REPOSITORY / "src" / "maple" / "evaluation"
    apart = {"__init__.py", "defaults.py", "errors.py"}
    modules = {file.name for file in package.glob("*.py")} - apart
    assert not [name for name in sorted(modules) if f"`{name}`" not in TEXT]
