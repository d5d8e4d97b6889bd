"""What the documents of the environment show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).parents[2] / "docs"


def run(example: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
    return done.stdout


def examples(document: str) -> list[str]:
    text = (DOCUMENTS / document).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.timeout(120)
def test_an_observation_is_as_long_as_promised_and_can_be_read() -> None:
    [example] = examples("observation.md")
    length, words = run(example.replace("pool=1", "pool=1, warmup_battles=0")).split("\n", 1)
    assert f"print(len(update.observation))  # {length}\n" in example
    assert "species" in words


@pytest.mark.timeout(120)
def test_the_first_example_of_the_environment_plays() -> None:
    example, _ = examples("environment.md")
    shorter = example.replace("num_envs=64", "num_envs=4").replace("range(1000)", "range(20)")
    assert run(f"{shorter}print(observation['features'].shape, reward.shape)").strip() == (
        "(4, 1760) (4,)"
    )
