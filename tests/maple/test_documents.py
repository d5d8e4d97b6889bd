"""What the README and the documents show of environments is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def run(example: str, folder: Path | None = None) -> str:
    """What an example prints; in a folder it is a file, as one that starts workers has to be."""
    command = ["-c", example]
    if folder is not None:
        (folder / "example.py").write_text(example, "utf-8")
        command = ["example.py"]
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=folder,
    )
    assert done.stderr == ""
    return done.stdout


def examples(document: str) -> list[str]:
    text = (REPOSITORY / document).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.timeout(120)
def test_an_observation_is_as_long_as_promised_and_can_be_read() -> None:
    [example] = examples("docs/observation.md")
    length, words = run(example.replace("pool=1", "pool=1, warmup_battles=0")).split("\n", 1)
    assert f"print(len(update.observation))  # {length}\n" in example
    assert "species" in words


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("document", "place"), [("README.md", 3), ("docs/environment.md", 0)])
def test_the_first_example_of_the_environment_plays(document: str, place: int) -> None:
    example = examples(document)[place]
    shorter = example.replace("num_envs=64", "num_envs=4").replace("range(1000)", "range(20)")
    shapes = run(f"{shorter}print(observation['features'].shape, reward.shape)")
    assert shapes.strip() == "(4, 1760) (4,)"


@pytest.mark.timeout(120)
def test_the_example_of_doubles_plays() -> None:
    example = examples("docs/environment.md")[1]
    shorter = example.replace("num_envs=64", "num_envs=4").replace("range(1000)", "range(20)")
    shapes = run(f"{shorter}print(mask.shape, actions.shape)")
    assert shapes.strip() == "(4, 2, 107) (4, 2)"


@pytest.mark.timeout(120)
def test_the_example_of_the_profiler_saves_what_the_analyzer_reads(tmp_path: Path) -> None:
    printed = run(examples("docs/profiling.md")[0], tmp_path)
    assert "Total Episode Time" in printed
    [session] = (tmp_path / "logs/profiling/raw").glob("first_*.json")
    [summary] = (tmp_path / "logs/profiling/reports").glob("first_*_summary.txt")
    assert "gradient_calculation" in summary.read_text("utf-8")
    arguments = ["-m", "maple.profiling.analyzer", "--input", str(session)]
    explained = subprocess.check_output([sys.executable, *arguments], text=True, timeout=60)
    assert "CRITICAL: gradient_calculation (main)" in explained


@pytest.mark.timeout(120)
def test_the_example_of_profiled_workers_tells_of_both(tmp_path: Path) -> None:
    assert "OPERATIONS: worker × 2" in run(examples("docs/profiling.md")[1], tmp_path)


@pytest.mark.timeout(120)
def test_the_examples_of_agents_keep_a_network_and_play_with_it(tmp_path: Path) -> None:
    keep, play = examples("docs/agents.md")
    assert run(keep, tmp_path) == ""
    assert (tmp_path / "first.pt").exists()
    shorter = play.replace("num_envs=64", "num_envs=4").replace("battles < 200", "battles < 2")
    assert re.fullmatch(r"won \d+ of \d+\n", run(shorter, tmp_path))
