"""The picture: every pair that played has its cell, and every player its rating."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from maple.evaluation.picture import draw_picture
from maple.evaluation.report import Report

from .reports import make_report


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Those that are saved."""
    found: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: Any, **kwargs: Any) -> None:
        found.append(figure)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", keep)
    return found


def draw(report: Report, folder: Path) -> tuple[int, int]:
    file = folder / "matrix.png"
    draw_picture(report, file)
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_it_has_a_cell_for_each_pair_and_a_rating_for_each_player(
    tmp_path: Path, figures: list[Figure]
) -> None:
    report = make_report()
    width, height = draw(report, tmp_path)
    assert width > height > 200
    matrix, ratings = figures[0].axes
    written = [text.get_text() for text in matrix.texts]
    assert written.count("75") == 6
    assert written.count("25") == 6
    assert written.count("53 to 89") == 6
    assert [label.get_text() for label in matrix.get_xticklabels()] == list(report.players)
    assert ratings.get_yticklabels()[0].get_text() == "first"
    assert "1000 ± 0" in [text.get_text() for text in ratings.texts]
    assert figures[0].get_suptitle() == "gen9randombattle: 20 battles for each pair"


def test_of_no_battles_it_is_empty(tmp_path: Path, figures: list[Figure]) -> None:
    draw(make_report(battles=0, wanted=5, ending="interrupted"), tmp_path)
    matrix, ratings = figures[0].axes
    assert not matrix.texts
    assert not ratings.get_visible()
    assert figures[0].get_suptitle().endswith("of which 0 of 30 played")


def test_names_of_all_kinds_can_be_drawn(tmp_path: Path, figures: list[Figure]) -> None:
    names = ("$a_b$", "n" * 80, "日本 \t", "random")
    draw(make_report(names), tmp_path)
    labels = [label.get_text() for label in figures[0].axes[0].get_yticklabels()]
    assert labels[0] == "$a_b$"
    assert len(labels[1]) == 24
