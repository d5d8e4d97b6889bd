"""The picture: panels of what there is, and names that can be read."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from maple.profiling import Session
from maple.profiling.analysis import analyse, only
from maple.profiling.findings import find
from maple.profiling.renderers.charts import draw_charts
from tests.maple.profiling.sessions import (
    EVIL,
    empty_session,
    many_session,
    small_session,
    typical_session,
)


class Gallery:
    """Keeps the figures that are saved."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "charts.png"
        self.figures: list[Figure] = []

    def draw(self, session: Session, operation: str | None = None) -> Figure:
        analysis = analyse(session)
        if operation is not None:
            analysis = only(analysis, operation)
        draw_charts(analysis, find(analysis), self.file)
        return self.figures[-1]

    def size(self) -> tuple[int, int]:
        data = self.file.read_bytes()
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        return width, height


@pytest.fixture
def gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gallery:
    found = Gallery(tmp_path)
    save = Figure.savefig

    def keep(figure: Figure, *args: Any, **kwargs: Any) -> None:
        found.figures.append(figure)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", keep)
    return found


def panels(figure: FigureBase) -> dict[str, Axes]:
    """By what their titles begin with."""
    found = [axes for part in figure.subfigs for axes in part.axes if axes.get_visible()]
    return {axes.get_title(loc="left").split(":")[0].split(",")[0]: axes for axes in found}


def labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_typical_session_has_all_panels(gallery: Gallery) -> None:
    found = panels(gallery.draw(typical_session()))
    assert list(found) == [
        "Time by operation",
        "Time of a call",
        "Categories by place",
        "CPU cores in use",
        "Memory",
    ]
    assert found["Time of a call"].get_xscale() == "log"


def test_panels_without_data_are_left_out_and_leave_no_hole(gallery: Gallery) -> None:
    gallery.draw(typical_session())
    _, high = gallery.size()
    found = panels(gallery.draw(small_session()))
    assert list(found) == ["Time by operation", "Time of a call", "Categories by place"]
    _, low = gallery.size()
    assert low < high / 2
    assert panels(gallery.draw(empty_session())) == {}
    assert gallery.size()[1] < low


def test_bars_are_own_time_in_front_of_the_whole_and_labelled(gallery: Gallery) -> None:
    axes = panels(gallery.draw(typical_session()))["Time by operation"]
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert labels(axes)[:2] == ["training_iteration\n(main)", "env_step\n(main)"]
    assert widths[:4] == pytest.approx([7.6, 0.0, 4.0, 0.4])
    texts = [text.get_text() for text in axes.texts]
    assert texts[:2] == ["7.60 s, 58 % of 1.3 at once", "4.00 s, 31 % of 1.3 at once"]


def test_of_many_operations_the_longest_are_shown_and_the_others_counted(gallery: Gallery) -> None:
    axes = panels(gallery.draw(many_session(60)))["Time by operation"]
    assert labels(axes) == [f"operation_{number}" for number in range(59, 47, -1)]
    assert "48 more are left out" in axes.get_title(loc="left")


def test_long_names_neither_overlap_nor_are_cut(gallery: Gallery) -> None:
    def name(number: int) -> str:
        return "env_" + "a_name_in_many_parts_" * (number % 6) + "x" * (20 * number % 90)

    session = many_session(14, lambda number: f"{name(number)}_{number}")
    figure = gallery.draw(session)
    axes = panels(figure)["Time by operation"]
    shown = {label.replace("\n", "") for label in labels(axes)}
    assert shown == {f"{name(number)}_{number}" for number in range(2, 14)}
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    boxes.sort(key=lambda box: box.y0)
    for below, above in itertools.pairwise(boxes):
        assert below.y1 <= above.y0
    assert min(box.x0 for box in boxes) >= 0
    for text in axes.texts:
        assert text.get_window_extent().x1 <= axes.get_window_extent().x1


def test_operations_of_the_same_name_are_told_apart(gallery: Gallery) -> None:
    session = typical_session(evil="env_step")
    found = labels(panels(gallery.draw(session, "training_iteration"))["Time by operation"])
    assert len(set(found)) == len(found)


def test_names_are_drawn_as_they_are(gallery: Gallery) -> None:
    strange = f"{EVIL}\n$x_1$ 対戦 \t"
    axes = panels(gallery.draw(small_session(strange)))["Time by operation"]
    [label] = labels(axes)
    assert "$money" in label
    assert "対戦" in label
    assert "\t" not in label


def test_what_the_machine_has_is_a_line_over_what_was_used(gallery: Gallery) -> None:
    axes = panels(gallery.draw(typical_session()))["CPU cores in use"]
    [limit] = axes.lines
    assert list(limit.get_ydata()) == [2, 2]  # type: ignore[arg-type]
    assert axes.get_ylim()[1] > 2
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["main", "node", "other"]
