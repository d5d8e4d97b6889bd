"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.timeout(120)
def test_the_example_prints_what_the_readme_says() -> None:
    [example] = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    [promised] = re.findall(r"# (Result\(.*\))", example)
    smaller = example.replace("pool=8", "pool=1, warmup_battles=0")
    assert smaller != example
    done = subprocess.run(
        [sys.executable, "-c", smaller], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout.strip(), done.stderr) == (promised, "")
