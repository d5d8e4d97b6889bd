"""Sessions as files, and the sessions of several processes as one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from maple.profiling import Profiler, ProfilingError, UnreadableSession
from maple.profiling.analysis import analyse
from maple.profiling.comparison import Verdict
from maple.profiling.session import (
    VERSION,
    GpuSample,
    Machine,
    MachineCpu,
    Overhead,
    Sample,
    Session,
    Usage,
    load_session,
    merge_sessions,
)
from tests.maple.profiling.stage import SECOND, FakeClock, recorded, row

PIDS = itertools.count(1000)


def session_of(
    *calls: tuple[float, float],
    role: str = "worker",
    name: str = "env_step",
    begin: float = 0,
    end: float = 10,
) -> Session:
    """A process that was on for so many seconds, with calls of one operation in it."""
    clock = FakeClock(round(begin * SECOND))
    profiler = Profiler(clock=clock, role=role)
    profiler.enable(system=False)
    for start, until in calls:
        clock.now = round(start * SECOND)
        with profiler.profile(name):
            clock.now = round(until * SECOND)
    clock.now = round(end * SECOND)
    profiler.disable()
    session = profiler.session(role)
    [part] = session.processes
    part = msgspec.structs.replace(part, pid=next(PIDS))
    return msgspec.structs.replace(session, processes=[part])


# Files


def test_a_session_is_the_same_after_it_was_saved_and_loaded(tmp_path: Path) -> None:
    session = session_of((0, 1), (2, 5))
    session.save(tmp_path / "deep" / "session.json")
    assert load_session(tmp_path / "deep" / "session.json") == session


def test_a_call_of_a_week_can_be_saved_and_loaded(tmp_path: Path) -> None:
    session = session_of((0, 7 * 86_400), end=8 * 86_400)
    session.save(tmp_path / "session.json")
    assert row(analyse(load_session(tmp_path / "session.json")), "env_step").mean == pytest.approx(
        7 * 86_400 * SECOND
    )


def test_settings_and_arguments_of_any_kind_can_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", "battles\udcff.yml"])
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    settings = {
        "folder": Path("runs"),
        "rate": np.float32(0.5),
        "layers": (np.int64(3), 4),
        "reward": {"win": 1.0, 2: None},
        "kind": Verdict.BETTER,
    }
    profiler.session("test", settings=settings).save(tmp_path / "session.json")
    loaded = load_session(tmp_path / "session.json")
    assert loaded.settings == {
        "folder": "runs",
        "rate": 0.5,
        "layers": [3, 4],
        "reward": {"win": 1.0, "2": None},
        "kind": "better",
    }
    assert loaded.command == "train.py 'battles\\udcff.yml'"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"not JSON at all", "is not JSON"),
        (b"[1, 2]", "is no session of the profiler"),
        (b'{"some": "thing"}', "is no session of the profiler"),
        (b'{"schema": "another", "version": 1}', "is no session of the profiler, but 'another'"),
        (b"\xff\xfe\x00", "is not JSON"),
        (
            b'{"schema": "maple.profiling.session", "version": 99}',
            f"is a session of version 99, and this maple reads {VERSION}",
        ),
        (
            b'{"schema": "maple.profiling.session", "version": %d}' % VERSION,
            "is a damaged session",
        ),
    ],
)
def test_whatever_is_no_session_is_refused_in_one_line_that_says_why(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)
    with pytest.raises(UnreadableSession) as refused:
        load_session(file)
    assert str(refused.value).startswith(str(file))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_session_that_was_cut_off_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    whole = session_of((0, 1)).to_json()
    file = tmp_path / "file.json"
    for length in range(1, len(whole) - 1, 97):
        file.write_bytes(whole[:length])
        with pytest.raises(UnreadableSession, match="cut off"):
            load_session(file)


def test_a_wrong_type_inside_is_told_by_its_place(tmp_path: Path) -> None:
    data: dict[str, Any] = msgspec.json.decode(session_of((0, 1)).to_json())
    data["processes"][0]["operations"][0]["calls"] = "many"
    file = tmp_path / "file.json"
    file.write_bytes(msgspec.json.encode(data))
    with pytest.raises(
        UnreadableSession, match=r"processes\[0\]\.operations\[0\]|operations\[...\]"
    ):
        load_session(file)


def test_a_file_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSession, match=r"cannot read .*nowhere\.json: No such file"):
        load_session(tmp_path / "nowhere.json")


# Several processes


def test_workers_side_by_side_share_the_time_and_never_exceed_it() -> None:
    merged = merge_sessions(
        [
            session_of((0, 6), role="main", name="gradient_calculation"),
            session_of((0, 6)),
            session_of((3, 10)),
            session_of((4, 5)),
        ]
    )
    analysis = analyse(merged)
    assert analysis.wall == 10 * SECOND
    step = row(analysis, "env_step")
    assert (step.place, step.capacity, step.calls) == ("worker × 3", 3, 3)
    assert (step.busy, step.covered, step.is_bound) == (14 * SECOND, 10 * SECOND, False)
    assert step.share == pytest.approx(14 / 30)
    assert row(analysis, "gradient_calculation").share == pytest.approx(0.6)
    assert (step.shortest, step.longest) == (1 * SECOND, 7 * SECOND)


def test_a_worker_that_replaced_another_adds_no_capacity() -> None:
    merged = merge_sessions([session_of((0, 4), end=5), session_of((6, 10), begin=5)])
    step = row(analyse(merged), "env_step")
    assert (step.capacity, step.busy, step.covered) == (1, 8 * SECOND, 8 * SECOND)


def test_percentiles_of_several_processes_come_from_all_calls() -> None:
    many = session_of(*((n / 100, n / 100 + 0.001) for n in range(99)))
    one = session_of((0, 8))
    step = row(analyse(merge_sessions([many, one])), "env_step")
    assert step.calls == 100
    assert step.p50 == pytest.approx(0.001 * SECOND, rel=0.01)
    assert step.p99 == pytest.approx(0.001 * SECOND, rel=0.01)
    assert step.longest == 8 * SECOND


def test_calls_without_number_cover_at_most_what_is_said() -> None:
    many = [session_of(*((n / 100, n / 100 + 0.005) for n in range(1000))) for _ in range(2)]
    step = row(analyse(merge_sessions(many)), "env_step")
    assert step.is_bound
    assert step.covered is not None
    # Both did the same at the same time, but too often to remember when.
    assert 5 * SECOND <= step.covered <= 10 * SECOND
    alone = row(analyse(many[0]), "env_step")
    assert alone.covered == pytest.approx(5 * SECOND)
    assert not alone.is_bound


def test_sessions_of_different_machines_are_not_merged() -> None:
    one, other = session_of((0, 1)), session_of((0, 1))
    elsewhere: Machine = msgspec.structs.replace(other.machine, boot="another")
    with pytest.raises(ProfilingError, match="clocks do not compare"):
        merge_sessions([one, msgspec.structs.replace(other, machine=elsewhere)])


def test_a_part_that_is_given_twice_is_refused_rather_than_doubled() -> None:
    one, other = session_of((0, 1)), session_of((0, 1))
    pid = one.processes[0].pid
    with pytest.raises(ProfilingError, match=rf"process {pid} \(worker\) in worker is given twice"):
        merge_sessions([one, other, one])
    merged = merge_sessions([one, other])
    assert len(merged.processes) == 2
    # And so it is if it came inside of others.
    with pytest.raises(ProfilingError, match="is given twice"):
        merge_sessions([merged, other])


def test_gpu_samples_of_all_sessions_are_kept_in_the_order_of_time() -> None:
    def watched(gpu: str, *moments: int) -> Session:
        samples = [GpuSample(at=at, gpu=gpu, busy=0.5, memory=1, capacity=2) for at in moments]
        return msgspec.structs.replace(session_of((0, 1)), gpus=samples)

    merged = merge_sessions([watched("0", 10, 30, 50), watched("1", 5, 30, 40)])
    found = [(sample.at, sample.gpu) for sample in merged.gpus]
    assert found == [(5, "1"), (10, "0"), (30, "0"), (30, "1"), (40, "1"), (50, "0")]


def looked(pid: int, *moments: int, sees: Sequence[int] = ()) -> Session:
    """A session in which that process looked at the machine, and at others that it had started."""
    usages = [
        Usage(pid=one, role=role, born=1, rss_peak=0, samples=[Sample(look=0, at=0, cpu=0, rss=0)])
        for one, role in ((pid, "main"), *((one, "worker") for one in sees))
    ]
    looks = [MachineCpu(pid=pid, look=at, at=at, busy=at, ours=0, steal=None) for at in moments]
    return msgspec.structs.replace(session_of((0, 1)), usages=usages, machine_cpu=looks)


def test_looks_at_the_machine_are_kept_in_the_order_of_time() -> None:
    merged = merge_sessions([looked(7, 10, 30), looked(8, 5, 40)])
    assert [(one.at, one.pid) for one in merged.machine_cpu] == [(5, 8), (10, 7), (30, 7), (40, 8)]


def test_who_was_looked_at_itself_is_not_counted_twice() -> None:
    merged = merge_sessions([looked(7, 10, 30, sees=[8]), looked(8, 5, 40)])
    assert [(one.at, one.pid) for one in merged.machine_cpu] == [(10, 7), (30, 7)]


@pytest.mark.parametrize(
    ("role", "born", "recorded_as", "shown"),
    [
        ("other", 5_000, "actor", "actor"),
        ("worker", 5_000, "actor", "actor"),
        # The clock on the wall was set a little.
        ("other", 5_900, "actor", "actor"),
        # Another process had this pid before.
        ("other", 1_000, "actor", "other"),
        ("main", 5_000, "trainer", "main"),
        ("worker", 5_000, "main", "worker"),
    ],
)
def test_a_process_that_has_recorded_is_called_as_it_calls_itself(
    role: str, born: int, recorded_as: str, shown: str
) -> None:
    recorded = session_of((0, 1), role=recorded_as)
    part = msgspec.structs.replace(recorded.processes[0], born=5_000)
    recorded = msgspec.structs.replace(recorded, processes=[part])
    samples = [Sample(look=0, at=0, cpu=0, rss=1)]
    usage = Usage(pid=part.pid, role=role, born=born, rss_peak=1, samples=samples)
    looked = msgspec.structs.replace(session_of((0, 1), role="main"), usages=[usage])
    [merged] = merge_sessions([looked, recorded]).usages
    assert merged == msgspec.structs.replace(usage, role=shown)


def seen(*looks: tuple[int, int]) -> Session:
    """A session of which one process was looked at: moments, and bytes."""
    samples = [Sample(look=at, at=at, cpu=at, rss=rss) for at, rss in looks]
    usage = Usage(
        pid=7, role="node", born=1, rss_peak=max(rss for _, rss in looks), samples=samples
    )
    return msgspec.structs.replace(session_of((0, 1)), usages=[usage])


def test_looks_at_a_process_one_after_the_other_are_put_together() -> None:
    [usage] = merge_sessions([seen((10, 5), (20, 90)), seen((30, 8), (40, 3))]).usages
    assert [sample.at for sample in usage.samples] == [10, 20, 30, 40]
    assert usage.rss_peak == 90


def test_of_two_who_looked_at_a_process_the_one_with_more_looks_is_heard() -> None:
    [usage] = merge_sessions([seen((10, 5), (40, 5)), seen((11, 8), (20, 3), (30, 4))]).usages
    assert [sample.at for sample in usage.samples] == [11, 20, 30]
    [usage] = merge_sessions([seen((10, 90), (40, 5)), seen((11, 8), (20, 3), (30, 4))]).usages
    assert (len(usage.samples), usage.rss_peak) == (3, 90)


def test_looks_of_all_parts_are_added_up() -> None:
    looks = Overhead(disabled=100.0, enabled=800.0, measured=3e4, sampling_cpu=50, samples=5)
    none = msgspec.structs.replace(looks, sampling_cpu=None, samples=0)
    parts = [
        msgspec.structs.replace(session_of((0, 1), begin=begin, end=begin + 1), overhead=overhead)
        for begin, overhead in ((0, looks), (2, none), (4, looks), (6, None))
    ]
    merged = merge_sessions(parts)
    assert merged.overhead == msgspec.structs.replace(looks, sampling_cpu=100, samples=10)


def test_a_parent_that_took_no_time_is_there_for_its_children(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("training_batch"), profiler.profile("env_step"):
        with profiler.profile("env_wait"):
            pass
        found = [(one.path, one.calls) for one in recorded(profiler).rows]
    assert found == [
        (("training_batch",), 0),
        (("training_batch", "env_step"), 0),
        (("training_batch", "env_step", "env_wait"), 1),
    ]
