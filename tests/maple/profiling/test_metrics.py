"""Metrics of several processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from bridge.throughput.quantities import MISSING
from maple.profiling import Profiler, Session, load_session
from maple.profiling.analysis import analyse
from maple.profiling.metrics import session_metrics
from maple.profiling.renderers.text import render_summary
from tests.maple.profiling.stage import FakeClock


def rewarded(*values: float) -> Session:
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.profile("env_step"):
        clock.go(1)
    for value in values:
        profiler.metric("reward", value, unit="points")
    return profiler.session("test")


def reward_rows(session: Session) -> list[list[str]]:
    lines = [line.split() for line in render_summary(analyse(session)).splitlines()]
    return [line for line in lines if line[:1] == ["reward"]]


def test_metrics_of_several_processes_are_one_row_of_the_summary() -> None:
    one = rewarded(1, 3)
    assert reward_rows(one) == [["reward", "points", "2", "2", "1", "1", "3", "3", "3"]]
    [part] = one.processes
    other = msgspec.structs.replace(part, pid=part.pid + 1)
    both = msgspec.structs.replace(one, processes=[part, other])
    # Which of them was the last, nobody knows.
    assert reward_rows(both) == [["reward", "points", "4", "2", "1", "1", "3", "3", MISSING]]


def test_the_largest_numbers_are_counted_and_can_be_saved(tmp_path: Path) -> None:
    most = sys.float_info.max
    session = rewarded(most, most, 1.7e308, -1.0)
    session.save(tmp_path / "session.json")
    [(_, metric)] = session_metrics(load_session(tmp_path / "session.json"))
    assert (metric.count, metric.highest, metric.total) == (4, most, most)


def test_metrics_of_different_roles_or_units_are_kept_apart() -> None:
    one = rewarded(1)
    [part] = one.processes
    percents = {"reward": msgspec.structs.replace(part.metrics["reward"], unit="%")}
    others = [
        msgspec.structs.replace(part, pid=part.pid + 1, role="worker"),
        msgspec.structs.replace(part, pid=part.pid + 2, role="worker", metrics=percents),
    ]
    session = msgspec.structs.replace(one, processes=[part, *others])
    found = [(name, metric.unit, metric.count) for name, metric in session_metrics(session)]
    assert found == [
        ("reward, main", "points", 1),
        ("reward, worker", "points", 1),
        ("reward, worker", "%", 1),
    ]


def test_numbers_of_any_library_are_counted_and_can_be_saved(tmp_path: Path) -> None:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    profiler.step(np.int64(3))  # type: ignore[arg-type]
    profiler.count("wins", torch.tensor([True, False, True]).sum())  # type: ignore[arg-type]
    profiler.metric("reward", torch.tensor(0.5))  # type: ignore[arg-type]
    profiler.metric("reward", np.float32(1.5))  # type: ignore[arg-type]
    profiler.session("test").save(tmp_path / "session.json")
    [part] = load_session(tmp_path / "session.json").processes
    assert part.counts == {"steps": 3, "wins": 2}
    assert part.metrics["reward"].total == 2


def test_what_cannot_be_counted_is_refused_where_it_is_given_and_costs_nothing_else(
    tmp_path: Path,
) -> None:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    profiler.count("wins")
    calls: list[tuple[type[Exception], Callable[[], None]]] = [
        (TypeError, lambda: profiler.step(0.5)),  # type: ignore[arg-type]
        (ValueError, lambda: profiler.step(-5)),
        (ValueError, lambda: profiler.count("wins", 2**70)),
        (TypeError, lambda: profiler.count(5)),  # type: ignore[arg-type]
        (TypeError, lambda: profiler.metric(5, 1.0)),  # type: ignore[arg-type]
        (TypeError, lambda: profiler.metric("reward", 1.0, unit=3)),  # type: ignore[arg-type]
        (ValueError, lambda: profiler.metric("loss", float("nan"))),
    ]
    for error, call in calls:
        with pytest.raises(error):
            call()
    profiler.session("test").save(tmp_path / "session.json")
    [part] = load_session(tmp_path / "session.json").processes
    assert (part.counts, part.metrics) == ({"wins": 1}, {})


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (5, "5"),
        (np.str_("env_step"), "env_step"),
        ("a\ud800", "a\\ud800"),
        ("ä\n\x1b[2J", "ä\\n\\x1b[2J"),
    ],
)
def test_an_operation_may_be_called_anything(tmp_path: Path, name: str, shown: str) -> None:
    profiler = Profiler(clock=FakeClock())
    profiler.enable(system=False)
    with profiler.profile(name):
        pass
    assert profiler.summary()
    profiler.session("test").save(tmp_path / "session.json")
    [row] = analyse(load_session(tmp_path / "session.json")).rows
    assert (row.calls, row.name) == (1, shown)
