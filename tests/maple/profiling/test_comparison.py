"""Two sessions side by side: what is better, what is worse, and what is noise."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from bridge.histogram import Histogram
from bridge.throughput.quantities import MISSING
from maple.profiling import NothingRecorded, Profiler
from maple.profiling.analysis import Analysis, analyse
from maple.profiling.comparison import Compared, Comparison, compare
from maple.profiling.noise import Verdict
from maple.profiling.renderers.side_by_side import render_comparison, render_csv
from maple.profiling.session import Sample, Session, Usage, merge_sessions
from tests.maple.profiling.stage import SECOND, FakeClock, recorded


def run(
    laps: int = 10, *, noise: float = 0.02, seed: int = 0, warm: bool = True, **seconds: float
) -> Analysis:
    """So many laps of operations that take so many seconds, more or less.

    What is not warm takes half as long again at first, and less of that from lap to lap.
    """
    chance = random.Random(seed)
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for lap in range(laps):
        cold = 1.0 if warm else 1 + math.exp(-lap / 20) / 2
        for name, each in seconds.items():
            with profiler.profile(name):
                clock.go(each * cold * chance.uniform(1 - noise, 1 + noise))
        profiler.step(100)
        profiler.lap()
    return recorded(profiler)


def verdict(comparison: Comparison, name: str) -> Compared:
    [found] = [one for one in comparison.rows if one.name == name]
    return found


def test_a_clear_difference_is_better_or_worse_and_a_small_one_is_noise() -> None:
    compared = compare(
        run(env_step=1.0, backward=1.0, gae=1.0, seed=1),
        run(env_step=0.5, backward=1.4, gae=1.01, seed=2),
    )
    assert verdict(compared, "env_step").verdict is Verdict.BETTER
    assert verdict(compared, "env_step").ratio == pytest.approx(0.5, rel=0.05)
    assert verdict(compared, "backward").verdict is Verdict.WORSE
    assert verdict(compared, "gae").verdict is Verdict.NOISE
    assert verdict(compared, "a lap").verdict is Verdict.NOISE
    low, high = verdict(compared, "env_step").interval or (0, 0)
    assert low <= 0.5 * 1.05
    assert high < 1


def test_the_same_thing_twice_is_noise_however_noisy_it_is() -> None:
    alike = [
        verdict(
            compare(
                run(env_step=1.0, noise=0.3, seed=seed),
                run(env_step=1.0, noise=0.3, seed=seed + 100),
            ),
            "env_step",
        ).verdict
        for seed in range(20)
    ]
    # Of twenty pairs that are alike, one may look different by chance.
    assert sum(one in (Verdict.BETTER, Verdict.WORSE) for one in alike) <= 1
    assert alike.count(Verdict.NOISE) >= 14


def test_what_is_shown_is_what_is_compared() -> None:
    compared = compare(run(env_step=1.0, noise=0.4), run(env_step=1.0, noise=0.4, seed=3))
    for found in compared.operations:
        assert found.first is not None
        assert found.second is not None
        assert found.ratio == pytest.approx(found.second / found.first)


def test_with_too_few_laps_nothing_is_concluded() -> None:
    found = verdict(compare(run(4, env_step=1.0), run(4, env_step=2.0)), "env_step")
    assert found.verdict is Verdict.TOO_FEW
    assert found.interval is None
    # What was measured is still told.
    assert found.ratio == pytest.approx(2, rel=0.05)


def test_what_is_slower_is_told_while_both_warm_up() -> None:
    slower = run(160, env_step=1.59, gae=1.0, warm=False, seed=1)
    compared = compare(run(160, env_step=1.0, gae=1.0, warm=False), slower)
    for name, ratio in (("env_step", 1.59), ("a lap", 1.3), ("wall time of a step", 1.3)):
        assert verdict(compared, name).verdict is Verdict.WORSE, name
        assert verdict(compared, name).ratio == pytest.approx(ratio, rel=0.02)
    assert verdict(compared, "gae").verdict is Verdict.NOISE
    # Without a lap for each there is nothing in which the two go the same way.
    compared = compare(run(120, env_step=1.0, warm=False), slower)
    assert verdict(compared, "env_step").verdict is Verdict.UNSTEADY
    low, high = verdict(compared, "env_step").interval or (0, 0)
    assert low < 1 < high
    assert "too unsteady to tell" in render_comparison(compared)
    assert "Warm up first" in render_comparison(compared)


def test_what_helps_is_said_only_where_something_could_not_be_told() -> None:
    compared = compare(run(env_step=1.0), run(env_step=1.0, seed=1))
    assert "profiler.lap()" not in render_comparison(compared)
    compared = compare(run(4, env_step=1.0), run(4, env_step=1.0, seed=1))
    assert "profiler.lap()" in render_comparison(compared)


def test_what_is_shown_of_a_session_is_the_same_beside_any_other() -> None:
    first = watched(seed=3)
    beside = [
        {one.name: one.first for one in compare(first, other).rows if one.first is not None}
        for other in (watched(seed=1), watched(4, seed=1), run(env_step=1.0))
    ]
    assert beside[0] == beside[1] == beside[2]
    seconds = [lap.time / 1e9 for lap in first.session.processes[0].laps]
    assert beside[0]["a lap"] == pytest.approx(float(np.median(seconds)) * 1e9)


def test_what_only_one_of_them_did_is_said_and_has_no_ratio() -> None:
    compared = compare(run(env_step=1.0, old=1.0), run(env_step=1.0, new=1.0))
    assert verdict(compared, "old").verdict is Verdict.GONE
    assert verdict(compared, "new").verdict is Verdict.NEW
    assert (verdict(compared, "old").second, verdict(compared, "old").ratio) == (None, None)


def test_a_comparison_is_the_same_each_time() -> None:
    one, other = run(env_step=1.0, noise=0.2), run(env_step=1.1, noise=0.2, seed=5)
    assert compare(one, other).operations == compare(one, other).operations


def test_a_session_without_operations_cannot_be_compared() -> None:
    profiler = Profiler()
    with pytest.raises(NothingRecorded, match="no operations to compare"):
        compare(recorded(profiler), run(env_step=1.0))


def test_the_text_and_the_csv_tell_the_same() -> None:
    compared = compare(run(env_step=1.0, old=1.0), run(env_step=0.5, seed=3))
    text = render_comparison(compared)
    assert "within noise" not in text.split("TIME OF A CALL")[1].split("Better or worse")[0]
    assert "1 better, 1 only in the first" in text
    rows = list(csv.DictReader(io.StringIO(render_csv(compared))))
    by_name = {row["name"]: row for row in rows}
    assert by_name["env_step"]["verdict"] == "better"
    assert float(by_name["env_step"]["ratio"]) == verdict(compared, "env_step").ratio
    assert by_name["old"]["second"] == ""
    assert by_name["wall time of a step"]["place"] == ""
    assert {row["section"] for row in rows} == {"overall", "operations"}
    assert all(row["verdict"] for row in rows)


def automatic(laps: int, call: float) -> Analysis:
    """A run that the profiler has divided by itself, twice a second, with calls of any length."""
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(round(laps * 0.5 / call)):
        with profiler.profile("gradient_calculation"):
            for _ in range(round(call / 0.5)):
                clock.go(0.5)
                profiler._recording.mark()
    return recorded(profiler)


def test_calls_that_are_longer_than_laps_are_compared_by_how_long_they_took() -> None:
    found = verdict(compare(automatic(40, 0.5), automatic(40, 1.0)), "gradient_calculation")
    assert found.verdict is Verdict.WORSE
    assert found.ratio == pytest.approx(2)


def test_a_longer_run_of_the_same_code_is_not_worse() -> None:
    compared = compare(automatic(100, 0.5), automatic(400, 0.5))
    assert "a lap" not in {one.name for one in compared.overall}
    assert verdict(compared, "gradient_calculation").verdict is Verdict.NOISE
    by_hand = compare(run(100, env_step=1.0), run(400, env_step=1.0, seed=9))
    assert verdict(by_hand, "a lap").ratio == pytest.approx(1, rel=0.05)
    assert verdict(by_hand, "a lap").verdict is Verdict.NOISE


def test_time_while_the_profiler_is_off_makes_no_lap_longer() -> None:
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    for _ in range(6):
        profiler.enable(system=False)
        with profiler.profile("env_step"):
            clock.go(1)
        profiler.lap()
        profiler.disable()
        clock.go(9)
    [part] = profiler.session("test").processes
    assert [lap.time for lap in part.laps] == [SECOND] * 6


# Laps of two that took turns


def in_turn(ratios: Sequence[float], *, swapped: Sequence[int] = ()) -> tuple[Analysis, Analysis]:
    """Laps of two that were recorded by turns, each by itself, on a machine that becomes slower.

    So many times as long as the first takes the second. Of swapped pairs, the second came first.
    """
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    recorded: tuple[list[Session], list[Session]] = [], []
    for lap, ratio in enumerate(ratios):
        for which in (1, 0) if lap in swapped else (0, 1):
            profiler.reset()
            profiler.enable(system=False)
            with profiler.profile("env_step"):
                clock.go((1 + lap) * (ratio if which else 1.0))
            with profiler.profile("backward"):
                clock.go(1 + lap)
            profiler.metric("reward", -1.0)
            profiler.lap()
            profiler.disable()
            recorded[which].append(profiler.session("test"))
            clock.go(0.1)
    first, second = (analyse(merge_sessions(sessions)) for sessions in recorded)
    return first, second


def test_laps_that_took_turns_are_judged_beside_their_neighbours() -> None:
    compared = compare(*in_turn([0.7, 0.8, 0.75, 0.9, 0.85], swapped=[1, 3]))
    found = verdict(compared, "env_step")
    assert (found.verdict, found.interval) == (Verdict.BETTER, (0.7, 0.9))
    assert found.ratio == pytest.approx(0.8)
    assert verdict(compared, "backward").verdict is Verdict.NOISE
    # What is not above zero has no ratio.
    assert verdict(compared, "reward").ratio is None
    text = render_comparison(compared)
    assert "took turns" in text
    assert "95 % interval" not in text


@pytest.mark.parametrize("ratios", [[0.7, 0.8, 1.1, 0.9, 0.85], [0.98, 0.99, 0.97, 0.975, 0.98]])
def test_neighbours_that_do_not_agree_or_hardly_differ_are_noise(ratios: list[float]) -> None:
    assert verdict(compare(*in_turn(ratios)), "env_step").verdict is Verdict.NOISE


def test_neighbours_that_say_nothing_are_not_called_alike() -> None:
    ratios = [0.3, 1.0, 4.0, 1.2, 0.8]
    assert verdict(compare(*in_turn(ratios)), "env_step").verdict is Verdict.TOO_FEW
    assert verdict(compare(*in_turn(ratios * 4)), "env_step").verdict is Verdict.NOISE


def test_four_laps_in_turn_are_too_few() -> None:
    assert verdict(compare(*in_turn([0.5] * 4)), "env_step").verdict is Verdict.TOO_FEW


def test_runs_one_after_the_other_did_not_take_turns() -> None:
    first, second = in_turn([0.5] * 6)
    assert compare(first, second).in_turn
    halves = [first.session.processes[:3], second.session.processes[3:]]
    apart = [
        analyse(msgspec.structs.replace(one.session, processes=half))
        for one, half in zip((first, second), halves, strict=True)
    ]
    assert not compare(*apart).in_turn
    assert not compare(first, apart[1]).in_turn


def test_a_single_lap_of_each_is_no_turn() -> None:
    assert not compare(*in_turn([0.5])).in_turn


def test_a_metric_that_differs_a_little_in_every_lap_is_told_in_turn_too() -> None:
    first, second = in_turn([1.0] * 5)

    def scaled(analysis: Analysis, factor: float) -> Analysis:
        parts = []
        for part in analysis.session.processes:
            [lap] = part.laps
            lap = msgspec.structs.replace(lap, metrics={"reward": (1, factor)})
            parts.append(msgspec.structs.replace(part, laps=[lap]))
        return analyse(msgspec.structs.replace(analysis.session, processes=parts))

    compared = compare(scaled(first, 1.0), scaled(second, 1.02))
    assert verdict(compared, "reward").verdict is Verdict.HIGHER
    assert verdict(compared, "env_step").verdict is Verdict.NOISE


# What was not timed call by call


class Bridge:
    """Tells of choices and battles as the bridge does, of those that it was told of."""

    def __init__(self) -> None:
        self._counters = dict.fromkeys(("decisions", "battles_ended"), 0)
        self._simulate, self._total = Histogram(), Histogram()

    def play(self, decisions: int, seconds: float, *, ended: int = 0) -> None:
        self._counters["decisions"] += decisions
        self._counters["battles_ended"] += ended
        times = np.full(decisions, round(seconds * SECOND / decisions))
        self._simulate.record(times // 2)
        self._total.record(times)

    def stats(self) -> dict[str, Any]:
        total, simulate = (
            one.summary() | {"hdr": one.encode()} for one in (self._total, self._simulate)
        )
        return {
            "pool": {"size": 1, "rooms": 1},
            "counters": dict(self._counters),
            "traffic": {},
            "round_trips": {"choose": {"total": total, "phases": {"simulate": simulate}}},
        }


def watched(
    laps: int = 20,
    *,
    faster: float = 1.0,
    battles: tuple[int, ...] = (3, 4, 5),
    by_hand: bool = True,
    seed: int = 0,
) -> Analysis:
    """A run on the bridge: twenty decisions a lap, so many battles that end, and a reward."""
    chance = random.Random(seed)
    clock, bridge = FakeClock(0), Bridge()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.watch(bridge):
        for _ in range(laps):
            seconds = chance.uniform(0.98, 1.02) / faster
            ended = chance.choice(battles)
            with profiler.profile("env_step"):
                clock.go(seconds)
            bridge.play(20, seconds, ended=ended)
            profiler.metric("reward", chance.uniform(-0.1, 0.1) + faster - 1, unit="points")
            profiler.metric("entropy", chance.uniform(1, 1.01) * faster)
            profiler.step(20)
            profiler.episode(ended)
            if by_hand:
                profiler.lap()
            else:
                profiler._mark()
    looks = [
        Sample(
            look=look,
            at=look * SECOND // 2,
            cpu=round(look * SECOND * chance.uniform(0.3, 0.31) * faster),
            rss=round(1e8 * chance.uniform(1, 1.01) / faster),
        )
        for look in range(2, 2 * laps // 2)
    ]
    usage = Usage(pid=7, role="main", born=1, rss_peak=200_000_000, samples=looks)
    return analyse(msgspec.structs.replace(profiler.session("test"), usages=[usage]))


FED = ("ipc_choose", "ipc_simulate")
RATES = ("decisions a second", "battles a second")
COUNTED = ("wall time of a step", "wall time of an episode")


def test_every_row_has_a_verdict_and_what_is_better_depends_on_what_it_is() -> None:
    compared = compare(watched(), watched(faster=2.0, seed=1))
    verdicts = {one.name: one.verdict for one in compared.rows}
    assert verdicts == {
        **dict.fromkeys(("a lap", "env_step", *FED, *RATES, *COUNTED), Verdict.BETTER),
        "CPU of the machine": verdicts["CPU of the machine"],
        "resident memory": Verdict.BETTER,
        "peak memory": Verdict.ONCE,
        "reward": Verdict.HIGHER,
        "entropy": Verdict.HIGHER,
    }
    assert verdict(compared, "decisions a second").ratio == pytest.approx(2, rel=0.05)
    assert verdict(compared, "battles a second").ratio == pytest.approx(2, rel=0.2)
    assert verdict(compared, "ipc_simulate").ratio == pytest.approx(0.5, rel=0.05)
    assert verdict(compared, "entropy").ratio == pytest.approx(2, rel=0.05)
    # It was about zero before, and of that nothing is so many times as much.
    reward = verdict(compared, "reward")
    assert (reward.ratio, reward.interval, reward.calls) == (None, None, (20, 20))


def test_the_same_thing_twice_is_within_noise_in_every_row() -> None:
    compared = compare(watched(40), watched(40, seed=1))
    found = {one.verdict for one in compared.rows if one.name != "peak memory"}
    assert found <= {Verdict.NOISE, Verdict.TOO_FEW}
    for name in ("env_step", *FED, *RATES, *COUNTED, "reward", "entropy"):
        assert verdict(compared, name).verdict is Verdict.NOISE, name


def test_laps_that_one_of_them_lacks_are_too_few() -> None:
    # Those that come by themselves may not ask what the bridge did.
    compared = compare(watched(), watched(by_hand=False, seed=1))
    for name in (*FED, *RATES):
        assert verdict(compared, name).verdict is Verdict.TOO_FEW
        assert verdict(compared, name).ratio == pytest.approx(1, rel=0.1)
    assert verdict(compared, "wall time of a step").verdict is Verdict.NOISE
    assert verdict(compared, "a lap").verdict is Verdict.GONE


def test_battles_that_do_not_end_in_every_lap_are_compared_by_all_that_ended() -> None:
    first = watched(128, battles=(0, 1))
    second = watched(128, battles=(0, 1), faster=2.0, seed=1)
    compared = compare(first, second)
    for name, ratio in (("battles a second", 2.0), ("wall time of an episode", 0.5)):
        assert verdict(compared, name).verdict is Verdict.BETTER
        assert verdict(compared, name).ratio == pytest.approx(ratio, rel=0.2)
    rare = (*[0] * 9, 1)
    compared = compare(watched(battles=rare), watched(battles=rare, faster=2.0, seed=1))
    assert verdict(compared, "battles a second").verdict is Verdict.TOO_FEW


def test_processes_side_by_side_have_no_lap_that_all_have_counted_in() -> None:
    def worker(seed: int) -> Analysis:
        session = run(20, env_step=1.0, seed=seed).session
        [part] = session.processes
        return analyse(msgspec.structs.replace(session, processes=[part, part]))

    found = verdict(compare(worker(0), worker(1)), "wall time of a step")
    assert found.verdict is Verdict.TOO_FEW


def test_metrics_are_in_the_text_and_in_the_csv() -> None:
    compared = compare(watched(), watched(faster=2.0, seed=1))
    text = render_comparison(compared)
    assert "reward (points)" in text.split("METRICS")[1]
    assert "higher" in text.split("METRICS")[1]
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(render_csv(compared)))}
    assert rows.keys() == {one.name for one in compared.rows}
    assert (rows["reward"]["section"], rows["reward"]["place"]) == ("metrics", "main")
    assert (rows["ipc_choose"]["section"], rows["ipc_choose"]["place"]) == ("operations", "IPC")
    assert (rows["peak memory"]["section"], rows["peak memory"]["verdict"]) == (
        "overall",
        "measured once",
    )


# How it is written


def written(low: float, high: float, ratio: float = 1.0) -> list[str]:
    compared = compare(run(env_step=1.0), run(env_step=1.0))
    [row] = compared.operations
    row = replace(row, ratio=ratio, interval=(low, high))
    text = render_comparison(replace(compared, operations=(row,)))
    [line] = [line for line in text.splitlines() if line.startswith("env_step")]
    return [cell for cell in line.split("  ") if cell][3:5]


def test_intervals_are_short_and_on_the_side_of_their_limits() -> None:
    assert [cell.strip() for cell in written(0.687, 5429657.183, 16.23)] == [
        "16.2",
        "0.687 to >1000",
    ]
    assert written(0.0000001, 0.65)[1].strip() == "<0.001 to 0.650"
    assert written(1.00001, 1.05004)[1].strip() == "1.00001 to 1.05004"
    assert written(0.9499, 0.99996)[1].strip() == "0.9499 to 0.99996"
    assert written(0.95, 1.05)[1].strip() == "0.950 to 1.050"


# What else differs


def test_commands_are_told_if_they_differ() -> None:
    first, second = (
        analyse(msgspec.structs.replace(run(env_step=1.0).session, command=command))
        for command in ("train.py", "train.py --turbo")
    )
    assert render_comparison(compare(first, second)).splitlines()[2:4] == [
        "first:  $ train.py",
        "second: $ train.py --turbo",
    ]
    assert "$" not in render_comparison(compare(first, first))


def with_settings(**settings: Any) -> Analysis:
    return analyse(msgspec.structs.replace(run(env_step=1.0).session, settings=settings))


def test_settings_that_differ_are_told_by_their_names() -> None:
    first = with_settings(turbo=False, envs=8, ppo={"rate": 0.1, "clip": {"low": 0.2}}, gone="x")
    second = with_settings(turbo=True, envs=8, ppo={"rate": 0.2, "clip": {"low": 0.2}}, new={})
    told = [
        line for line in render_comparison(compare(first, second)).splitlines() if "same" in line
    ]
    assert [line for line in told if line.startswith("not the same")] == [
        "not the same turbo: False and True",
        "not the same ppo.rate: 0.1 and 0.2",
        f"not the same gone: x and {MISSING}",
        f"not the same new: {MISSING} and {{}}",
    ]


def test_of_many_settings_that_differ_some_are_told_and_the_rest_counted() -> None:
    first = with_settings(**{f"setting_{number}": "a" * 1000 for number in range(25)})
    second = with_settings(**{f"setting_{number}": "b\n" for number in range(25)})
    lines = render_comparison(compare(first, second)).splitlines()
    told = [line for line in lines if line.startswith("not the same setting")]
    assert len(told) == 20
    assert all(len(line) < 120 and line.endswith("… and b") for line in told)
    assert "and 5 more" in lines


def test_a_machine_that_was_busy_with_other_things_is_told() -> None:
    def beside(others: float | None, stolen: float | None) -> Analysis:
        analysis = run(env_step=1.0)
        machine = replace(analysis.machine, others_share=others, stolen_share=stolen)
        return replace(analysis, machine=machine)

    lines = render_comparison(compare(beside(0.41, 0.0), beside(0.02, 0.3))).splitlines()
    assert lines[2:4] == [
        "first: other programs took 41 % of the machine",
        "second: other virtual machines took 30 % of the machine",
    ]
    quiet = render_comparison(compare(beside(None, None), beside(0.09, 0.09)))
    assert "took" not in quiet
