"""The picture of a run, from the figures that it has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from maple.train.curves import draw_curves

NAMES = "time/seconds,speed/decisions_per_s,learning/entropy,learning/explained,learning/clipped"
OTHERS = "reward/win,win_rate/random"


def write(folder: Path, rows: list[str]) -> Path:
    file = folder / "metrics.csv"
    file.write_text("\n".join([f"update,{NAMES},{OTHERS}", *rows]) + "\n", encoding="utf-8")
    return file


def pixels(metrics: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    file = metrics.with_suffix(".png")
    assert draw_curves(metrics, file, "$one_{run$")
    return np.asarray(imread(file), np.float64)


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_runs_of_any_length_are_drawn(tmp_path: Path, rows: int) -> None:
    metrics = write(tmp_path, [f"{n},{n},100,1,0.5,0.1,0.2,0.5" for n in range(rows)])
    picture = pixels(metrics)
    assert picture.shape[1] > picture.shape[0] > 500
    assert picture.std() > 0.01


def test_what_is_drawn_is_what_happened(tmp_path: Path) -> None:
    won = write(tmp_path, [f"{n},{n},100,1,0.5,0.1,0.2,0.9" for n in range(10)])
    first = pixels(won)
    lost = write(tmp_path, [f"{n},{n},100,1,0.5,0.1,0.2,0.1" for n in range(10)])
    differs = np.abs(first - pixels(lost)).sum(axis=2) > 0
    # Only in the part that has the win rates.
    height, width = differs.shape
    assert differs[: height // 2, : width // 2].any()
    assert not differs[height // 2 :, width // 2 :].any()


def test_an_opponent_that_was_not_met_at_first_has_no_figure_until_then(tmp_path: Path) -> None:
    metrics = write(tmp_path, ["1,1,100,1,0.5,0.1,,", "2,2,100,1,0.5,0.1,0.2,0.5"])
    assert pixels(metrics).std() > 0.01


def test_there_is_no_picture_of_nothing(tmp_path: Path) -> None:
    assert not draw_curves(write(tmp_path, []), tmp_path / "curves.png", "none")
    assert not (tmp_path / "curves.png").exists()
