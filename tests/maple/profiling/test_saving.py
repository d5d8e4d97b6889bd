"""Sessions that are saved at the same moment."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from unittest.mock import patch

import pytest

from maple.profiling import Profiler, ProfilingError, Saved, load_session, saving
from tests.maple.profiling.stage import FakeClock

MOMENT = "20260101_120000"


def save_at_one_moment(folder: Path, times: int) -> list[Saved]:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    with patch.object(saving, "_moment", lambda: MOMENT):
        return [profiler.save("first", folder) for _ in range(times)]


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def test_sessions_that_are_saved_within_a_second_are_all_kept(tmp_path: Path) -> None:
    saved = save_at_one_moment(tmp_path, 3)
    names = [f"first_{MOMENT}{number}" for number in ("", "_2", "_3")]
    assert [one.raw.name for one in saved] == [f"{name}.json" for name in names]
    assert [one.report.name for one in saved] == [f"{name}_summary.txt" for name in names]
    for one in saved:
        assert load_session(one.raw).name == "first"
        assert one.report.read_text("utf-8")


def test_a_name_is_taken_if_either_file_is_there(tmp_path: Path) -> None:
    first, second = save_at_one_moment(tmp_path, 2)
    first.raw.unlink()
    second.report.unlink()
    [third] = save_at_one_moment(tmp_path, 1)
    assert third.raw.name == f"first_{MOMENT}_3.json"
    assert names_in(tmp_path / "raw") == [second.raw.name, third.raw.name]
    assert names_in(tmp_path / "reports") == [third.report.name, first.report.name]


@pytest.mark.parametrize("name", ["../first", "deep/first", "/first", "", "."])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    with pytest.raises(ProfilingError, match="named like a file"):
        profiler.save(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told_by_name(tmp_path: Path) -> None:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ProfilingError, match=f"cannot make {file}/reports: Not a directory"):
        profiler.save("first", str(file))


def test_a_session_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        save_at_one_moment(tmp_path, 1)
    assert names_in(tmp_path / "raw") == names_in(tmp_path / "reports") == []


def test_processes_that_save_at_once_do_not_write_over_each_other(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        saved = pool.starmap(save_at_one_moment, [(tmp_path, 10)] * 3, chunksize=1)
        pool.close()
        pool.join()
    raws = sorted(one.raw.name for several in saved for one in several)
    assert len(set(raws)) == 30
    assert names_in(tmp_path / "raw") == raws
    assert len(names_in(tmp_path / "reports")) == 30
