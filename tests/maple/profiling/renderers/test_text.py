"""The reports as text: what stands where, and that nothing in it counts twice."""

from __future__ import annotations

import re

import msgspec

from maple.profiling import Profiler, Session
from maple.profiling.analysis import Analysis, analyse, only
from maple.profiling.findings import find
from maple.profiling.renderers.text import render_analysis, render_live, render_summary
from tests.maple.profiling.sessions import many_session, typical_session
from tests.maple.profiling.stage import SECOND, FakeClock


def section(text: str, title: str) -> list[str]:
    """The lines below a heading."""
    below = text.partition(f"\n{title}")[2]
    return below.partition("\n\n")[0].splitlines()[2:]


def shown(analysis: Analysis) -> str:
    return render_analysis(analysis, find(analysis))


def as_worker(session: Session, count: int) -> Session:
    """The same recording by so many processes side by side."""
    [part] = session.processes
    parts = [
        msgspec.structs.replace(part, role="worker", pid=part.pid + number)
        for number in range(count)
    ]
    return msgspec.structs.replace(session, processes=[part, *parts])


def test_categories_of_a_place_come_to_all_of_it() -> None:
    rows = [re.split(r"\s{2,}", line) for line in section(shown_typical(), "CATEGORIES")]
    found = {row[0]: row for row in rows[2:] if row[1] == "main"}
    assert found["Waiting"] == ["Waiting", "main", "3.60 s", "28 %"]
    # A batch as a whole is of Learning too, and what is in it does not count there again.
    assert found["Learning"] == ["Learning", "main", "3.40 s", "26 %"]
    shares = [float(row[-1].rstrip(" %")) for row in found.values()]
    assert abs(sum(shares) - 100) < 1


def shown_typical() -> str:
    return shown(analyse(typical_session()))


def test_what_takes_the_most_by_itself_is_marked_once() -> None:
    text = render_summary(analyse(typical_session()))
    marked = [line for line in text.splitlines() if "← the most by itself" in line]
    assert len(marked) == 1
    assert marked[0].lstrip().startswith("env_step / env_wait:")


def test_operations_of_one_name_are_told_apart_by_their_places() -> None:
    session = as_worker(typical_session(), 2)
    summary = render_summary(analyse(session))
    assert "training_iteration / env_step, main:" in summary
    assert "training_iteration / env_step, worker × 2:" in summary


def test_a_place_of_which_one_operation_is_shown_tells_what_that_takes() -> None:
    analysis = only(analyse(typical_session()), "env_wait")
    assert "WHERE THE TIME GOES: main (capacity 1.3; 28 % of it is in operations)" in shown(
        analysis
    )


def test_what_profiling_cost_is_a_share_of_the_time_of_all_processes() -> None:
    session = typical_session()
    assert session.overhead is not None
    dear = msgspec.structs.replace(session.overhead, enabled=SECOND / 100)
    session = as_worker(msgspec.structs.replace(session, overhead=dear), 15)
    cost = section(shown(analyse(session)), "WHAT PROFILING COST")
    [share] = re.findall(r"calls took .* which is (\S+) % of the time of the processes", str(cost))
    assert 1 < float(share) < 4


def test_limits_that_nothing_exceeds_are_named() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.profile("env_step"):
        clock.go(0.01)
    clock.go(1)
    text = shown(analyse(profiler.session("test")))
    [line] = section(text, "RECOMMENDATIONS")
    assert "no operation takes more than 30 % of the time, 100 ms a call, or 100 MB" in line


def test_a_live_summary_has_what_takes_the_most_and_not_all_there_is() -> None:
    text = render_live(analyse(many_session(40)))
    # Each takes a little longer than the one before it.
    assert re.findall(r"operation_(\d+):", text) == [str(number) for number in range(39, 29, -1)]


def test_pauses_are_told_beside_what_was_recorded() -> None:
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    for _ in range(2):
        profiler.enable(system=False)
        with profiler.profile("env_step"):
            clock.go(1)
        profiler.disable()
        clock.go(3)
    assert "paused: 2.00 s of 5.00 s recorded" in shown(analyse(profiler.session("paused")))


def test_operations_that_are_in_themselves_are_told_apart(
    profiler: Profiler, clock: FakeClock
) -> None:
    with profiler.profile("search"), profiler.profile("search"), profiler.profile("search"):
        clock.go(1)
    text = render_summary(analyse(profiler.session("deep")))
    assert re.findall(r"^  (search[a-z/ ]*):", text, re.MULTILINE) == [
        "search",
        "search / search",
        "search / search / search",
    ]


def test_what_else_is_needed_to_read_gains_is_said_only_where_it_is() -> None:
    alone = Profiler(clock=FakeClock())
    alone.enable(system=False)
    with alone.profile("env_step"):
        pass
    assert "Of other threads" not in shown(analyse(alone.session("alone")))
    assert "Of Node: while env_wait" not in shown(analyse(alone.session("alone")))
    assert "Of other threads and processes" in shown_typical()
    assert "Of Node: while env_wait" in shown_typical()
