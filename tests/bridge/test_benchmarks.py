"""The benchmark measures the same battles in every row, and says what it found as plain data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.benchmarks.rows import QUICK, ROWS
from bridge.benchmarks.run import Outcome
from bridge.benchmarks.sample import Sample, Spread, ratio, summarise

ROOT = Path(__file__).parents[2]
FIGURES = (
    "battles_per_s",
    "decisions_per_s",
    "python_cpu_ms_per_decision",
    "node_cpu_ms_per_decision",
    "memory",
)


def sample(**changes: Any) -> Sample:
    figures = {
        "battles": 10,
        "decisions": 1000,
        "turns": 500,
        "wall": 2.0,
        "python_cpu": 0.5,
        "node_cpu": 1.5,
        "python_memory": 100,
        "node_memory": 200,
    }
    return Sample(**figures | changes)


def test_a_sample_divides_what_it_counted() -> None:
    measured = sample()
    assert measured.battles_per_s == 5
    assert measured.decisions_per_s == 500
    assert measured.python_cpu_ms_per_decision == 0.5
    assert measured.node_cpu_ms_per_decision == 1.5
    assert measured.cpu_ms_per_decision == 2
    assert measured.memory == 300


def test_a_summary_has_the_median_of_each_figure_and_its_spread() -> None:
    summary = summarise([sample(wall=1.0), sample(wall=2.0), sample(wall=4.0)])
    assert summary["battles_per_s"] == 5
    assert summary["spread"]["battles_per_s"] == [2.5, 10]


def test_a_ratio_compares_neighbours_so_that_drift_cancels_out() -> None:
    drift = [1.0, 2.0, 4.0]
    fast = [sample(wall=wall) for wall in drift]
    slow = [sample(wall=2 * wall) for wall in drift]
    assert ratio(fast, slow, lambda s: s.battles_per_s) == Spread(2.0, 2.0, 2.0)


def test_a_comparison_holds_only_within_its_limit() -> None:
    outcome = Outcome({}, QUICK)
    outcome.samples = {"limit": [sample(python_cpu=0.0)], "pool": [sample(python_cpu=0.7)]}
    [comparison] = outcome.comparisons()
    assert comparison.measured.median == pytest.approx(2.2 / 1.5)
    assert not comparison.holds
    outcome.samples["pool"] = [sample(python_cpu=0.3)]
    assert outcome.comparisons()[0].holds


def test_the_rows_have_the_names_that_others_rely_on() -> None:
    assert {"limit", "process_per_battle", "pool", "showdown_websocket"} <= set(ROWS)


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/benchmark.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_every_seeded_row_plays_the_very_same_battles(tmp_path: Path) -> None:
    file = tmp_path / "benchmark.json"
    rows = ["limit", "process_per_battle", "pool"]
    small = ["--quick", "--repeats", "1", "--battles", "4", "--warmup", "1", "--pool", "1"]
    done = run_script("--only", ",".join(rows), *small, "--json", str(file))
    assert done.returncode == 0, done.stderr
    data = json.loads(file.read_text())
    assert list(data["rows"]) == rows
    for row in data["rows"].values():
        assert all(row[figure] >= 0 for figure in FIGURES)
        assert set(FIGURES) <= set(row["spread"])
    played = {
        (s["battles"], s["decisions"], s["turns"])
        for row in data["rows"].values()
        for s in row["samples"]
    }
    assert len(played) == 1
    assert data["machine"]["pokemon-showdown"] == "0.11.11"


def test_an_unknown_row_is_named_beside_the_known_ones() -> None:
    done = run_script("--only", "limits")
    assert done.returncode == 2
    assert "no row 'limits'" in done.stderr
    assert "limit," in done.stderr
