"""The report as people read it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bridge.timing import PHASES
from maple.profiling.training import render
from tests.maple.profiling.training.examples import FIGURES, OFF, ON, batch, mode, result


def shares_of(text: str, marks: str) -> list[float]:
    found = re.findall(rf"^{marks}.*\(\s*([\d.]+) %\)", text, re.MULTILINE)
    return [float(share) for share in found]


def test_a_report_shows_parts_with_bars_that_add_up() -> None:
    text = render(result(ON), breakdown=True)

    assert "1. Data Collection" in text
    assert "Waiting for the simulator" in text
    assert "5. Other" in text
    assert "█" in text
    assert all(phase in text for phase in PHASES)
    assert sum(shares_of(text, r"\d\. ")) == pytest.approx(100, abs=0.3)
    assert max(map(len, text.splitlines())) <= 110


def test_the_parts_of_data_collection_are_for_a_breakdown() -> None:
    text = render(result(OFF, ON))

    assert "Env Step" not in text
    assert "Backward Pass" in text
    assert "Both modes played the same battles" in text


def test_modes_that_played_other_battles_are_not_said_to_have_played_the_same() -> None:
    other = mode(True, [batch(figures=replace(FIGURES, battles=9)) for _ in range(5)])

    assert "did not play the same battles" in render(result(OFF, other))


def test_a_report_says_that_it_is_not_complete() -> None:
    assert "interrupted" in render(result(ON, ending="interrupted"))
    assert "It failed: gone." in render(result(ON, ending="failed", failure="gone"))


def test_times_too_short_to_measure_their_cpu_are_not_given_any() -> None:
    text = render(result(mode(True, [batch(python_cpu=None, node_cpu=None)])))

    assert "too short" in text


def test_what_is_called_faster_is_seen_to_leave_out_the_same() -> None:
    ratios = (1.003, 1.2, 1.1, 1.15, 1.3)
    slow = mode(False, [batch(ratio) for ratio in ratios])
    fast = mode(True, [batch() for _ in ratios])

    text = render(result(slow, fast))

    [whole] = [line for line in text.splitlines() if line.startswith("a batch  ") and "×" in line]
    assert re.search(r"1\.15×\s+1\.003 to 1\.30\s+faster$", whole)
