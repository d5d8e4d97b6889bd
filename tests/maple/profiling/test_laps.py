"""What is kept of each part of a run."""

from __future__ import annotations

from maple.profiling import Profiler
from tests.maple.profiling.stage import FakeClock


def test_laps_have_what_was_counted_and_what_metrics_came_to(
    profiler: Profiler, clock: FakeClock
) -> None:
    for steps, rewards in ((64, (0.5, 1.5)), (32, (-1.0,))):
        profiler.step(steps)
        for reward in rewards:
            profiler.metric("reward", reward)
        clock.go(1)
        profiler.lap()
    profiler.episode()
    [part] = profiler.session("test").processes
    assert [lap.counts for lap in part.laps] == [{"steps": 64}, {"steps": 32}]
    assert [lap.metrics for lap in part.laps] == [{"reward": (2, 2.0)}, {"reward": (1, -1.0)}]
