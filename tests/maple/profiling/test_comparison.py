"""Two sessions side by side: what is better, what is worse, and what is noise."""

from __future__ import annotations

import csv
import io
import random

import pytest

from maple.profiling import NothingRecorded, Profiler
from maple.profiling.analysis import Analysis
from maple.profiling.comparison import Compared, Comparison, compare
from maple.profiling.noise import Verdict
from maple.profiling.renderers.side_by_side import render_comparison, render_csv
from tests.maple.profiling.stage import SECOND, FakeClock, recorded


def run(laps: int = 10, *, noise: float = 0.02, seed: int = 0, **seconds: float) -> Analysis:
    """So many laps of operations that take so many seconds, more or less."""
    chance = random.Random(seed)
    clock = FakeClock(0)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(laps):
        for name, each in seconds.items():
            with profiler.profile(name):
                clock.go(each * chance.uniform(1 - noise, 1 + noise))
        profiler.step(100)
        profiler.lap()
    return recorded(profiler)


def verdict(comparison: Comparison, name: str) -> Compared:
    [found] = [one for one in (*comparison.overall, *comparison.operations) if one.name == name]
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
