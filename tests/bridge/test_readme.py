"""What the README and the documents show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def examples(document: str) -> list[str]:
    text = (REPOSITORY / document).read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(example: str, **smaller: str) -> str:
    """What an example prints, with some of its numbers made smaller."""
    for number, instead in smaller.items():
        changed = re.sub(rf"{number}=\d+", f"{number}={instead}", example)
        assert changed != example
        example = changed
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.timeout(120)
def test_the_example_prints_what_the_readme_says() -> None:
    example = examples("README.md")[0]
    [promised] = re.findall(r"# (Result\(.*\))", example)
    assert run(example, pool="1, warmup_battles=0") == promised


@pytest.mark.timeout(120)
def test_a_script_of_poke_env_plays_with_one_argument_changed() -> None:
    _, before, after, *_ = examples("README.md")
    changed = after.replace(
        "from bridge.poke_env import local_server\n\nserver = local_server()\n", ""
    )
    changed = changed.replace("server_configuration=server", "")
    assert changed in before
    lines = (f"{before.partition('one =')[0]}{after}print(one.n_finished_battles)").splitlines()
    script = "\n".join(["async def main():", *(f"    {line}" for line in lines)])
    assert run(f"{script}\nimport asyncio\nasyncio.run(main())", n_battles="2") == "2"


@pytest.mark.timeout(120)
def test_the_example_of_poke_env_plays_to_the_end() -> None:
    example = examples("docs/poke_env.md")[0]
    wins = run(example, n_battles="3", pool="1, warmup_battles=0").split()
    assert sum(map(int, wins)) <= 3
