"""The figures of a run as CSV: new columns, runs that go on, half-written rows, full disks."""

from __future__ import annotations

import csv
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from maple.train.errors import RunUnusable
from maple.train.metrics import Metrics
from maple.train.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def metrics(folder: RunFolder, update: int = 0) -> Metrics:
    return Metrics(folder, tensorboard=False, update=update)


def written(folder: RunFolder, updates: int = 4) -> Metrics:
    """Figures of so many updates."""
    made = metrics(folder)
    for update in range(1, updates + 1):
        made.write(update, {"loss": update / 8, "speed": 100.0 * update})
    return made


def rows(folder: RunFolder) -> list[dict[str, str]]:
    with folder.metrics.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text, strict=True))


def updates(folder: RunFolder) -> list[int]:
    return [int(row["update"]) for row in rows(folder)]


def test_every_update_is_a_row(folder: RunFolder) -> None:
    written(folder, 2)
    assert rows(folder) == [
        {"update": "1", "loss": "0.125", "speed": "100.0"},
        {"update": "2", "loss": "0.25", "speed": "200.0"},
    ]


def test_a_row_is_in_the_file_as_soon_as_it_is_written(folder: RunFolder) -> None:
    made = written(folder, 1)
    assert updates(folder) == [1]
    made.write(2, {"loss": 0.25, "speed": 200.0})
    assert updates(folder) == [1, 2]


def test_a_column_that_is_new_in_the_middle_of_a_run_is_empty_before(folder: RunFolder) -> None:
    made = written(folder, 2)
    made.write(3, {"loss": 0.5, "win_rate/max": 0.75, "speed": 3.0})
    made.write(4, {"loss": 0.5, "win_rate/max": 0.25, "speed": 4.0})
    assert [row["win_rate/max"] for row in rows(folder)] == ["", "", "0.75", "0.25"]
    assert [row["speed"] for row in rows(folder)] == ["100.0", "200.0", "3.0", "4.0"]
    assert list(folder.path.iterdir()) == [folder.metrics]


def test_a_figure_that_is_not_there_any_more_leaves_its_column_empty(folder: RunFolder) -> None:
    made = written(folder, 1)
    made.write(2, {"speed": 5.0})
    assert rows(folder)[1] == {"update": "2", "loss": "", "speed": "5.0"}


# Runs that go on


def test_rows_of_updates_that_are_done_again_are_cut_off(folder: RunFolder) -> None:
    written(folder, 4).close()
    again = metrics(folder, update=2)
    assert updates(folder) == [1, 2]
    again.write(3, {"loss": 7.0, "speed": 8.0})
    assert rows(folder)[2] == {"update": "3", "loss": "7.0", "speed": "8.0"}


def test_rows_before_stay_as_they_were(folder: RunFolder) -> None:
    made = written(folder, 2)
    made.write(3, {"win_rate/max": 0.75, "speed": 3.0})
    before = rows(folder)
    again = metrics(folder, update=3)
    assert rows(folder) == before
    again.write(4, {"gradient": 1.0, "speed": 4.0})
    assert [row["gradient"] for row in rows(folder)] == ["", "", "", "1.0"]
    assert [row["win_rate/max"] for row in rows(folder)] == ["", "", "0.75", ""]


def test_a_run_that_begins_again_from_nothing_has_new_rows_alone(folder: RunFolder) -> None:
    written(folder, 2)
    metrics(folder, update=0).write(1, {"other": 1.0})
    assert rows(folder) == [{"update": "1", "other": "1.0"}]


@pytest.mark.parametrize("left", ["", "3", "3,0.3", "3,0.375\r"])
def test_a_row_that_was_half_written_when_the_run_was_killed_is_forgotten(
    folder: RunFolder, left: str
) -> None:
    written(folder, 2)
    with folder.metrics.open("a", encoding="utf-8", newline="") as out:
        out.write(left)
    metrics(folder, update=3).write(4, {"loss": 0.5, "speed": 400.0})
    assert updates(folder) == [1, 2, 4]
    assert rows(folder)[2] == {"update": "4", "loss": "0.5", "speed": "400.0"}


def test_a_file_with_nothing_in_it_is_as_good_as_none(folder: RunFolder) -> None:
    folder.metrics.touch()
    metrics(folder, update=2).write(3, {"loss": 1.0})
    assert rows(folder) == [{"update": "3", "loss": "1.0"}]


# Disks


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """The file system refuses files that are larger than `room`, as a full one would."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    told = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, told)


def test_a_full_disk_costs_the_rows_of_its_time_and_is_told_once(folder: RunFolder) -> None:
    made = written(folder, 2)
    with capture_logs() as logs:
        with full_disk(folder.metrics.stat().st_size):
            made.write(3, {"loss": 3.0, "speed": 3.0})
            made.write(4, {"loss": 4.0, "speed": 4.0})
        made.write(5, {"loss": 5.0, "speed": 5.0})
    assert updates(folder) == [1, 2, 5]
    assert rows(folder)[2] == {"update": "5", "loss": "5.0", "speed": "5.0"}
    assert logs == [
        {
            "event": "figures cannot be written; training goes on",
            "cause": "File too large",
            "log_level": "warning",
        }
    ]


def test_a_disk_that_is_full_again_is_told_again(folder: RunFolder) -> None:
    made = written(folder, 1)
    with capture_logs() as logs:
        for update in (2, 4):
            with full_disk(folder.metrics.stat().st_size):
                made.write(update, {"loss": 1.0, "speed": 1.0})
            made.write(update + 1, {"loss": 1.0, "speed": 1.0})
    assert updates(folder) == [1, 3, 5]
    assert len(logs) == 2


def test_a_row_that_a_full_disk_cuts_short_does_not_join_the_next(folder: RunFolder) -> None:
    made = written(folder, 2)
    with capture_logs(), full_disk(folder.metrics.stat().st_size + 4):
        made.write(3, {"loss": 3.0, "speed": 3.0})
    made.write(4, {"loss": 4.0, "speed": 4.0})
    assert updates(folder) == [1, 2, 4]
    assert rows(folder)[2] == {"update": "4", "loss": "4.0", "speed": "4.0"}


@pytest.mark.parametrize("before", [0, 2])
def test_a_column_that_is_new_on_a_full_disk_has_its_name_as_soon_as_there_is_room(
    folder: RunFolder, before: int
) -> None:
    made = written(folder, before)
    kept = rows(folder) if before else []
    figures = {"loss": 3.0, "speed": 3.0, "win_rate/max": 0.5}
    with capture_logs() as logs, full_disk(10):
        made.write(3, figures)
    assert len(logs) == 1
    assert folder.metrics.exists() == bool(before)
    assert not before or rows(folder) == kept
    made.write(4, figures)
    assert updates(folder) == [*range(1, before + 1), 4]
    assert rows(folder)[-1]["win_rate/max"] == "0.5"


def test_a_last_number_that_is_not_whole_is_forgotten(folder: RunFolder) -> None:
    written(folder, 2)
    with folder.metrics.open("a", newline="") as out:
        out.write("3,0.375,30")
    metrics(folder, update=3)
    assert updates(folder) == [1, 2]


def test_a_run_does_not_go_on_where_a_disk_is_full(folder: RunFolder) -> None:
    written(folder, 2)
    with full_disk(10), pytest.raises(RunUnusable, match="cannot write"):
        metrics(folder, update=2)
