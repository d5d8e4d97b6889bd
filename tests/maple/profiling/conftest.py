"""What tests of the profiler share: a clock that is set by hand, and a profiler that reads it."""

from __future__ import annotations

import pytest

from maple.profiling import Profiler
from tests.maple.profiling.stage import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def profiler(clock: FakeClock) -> Profiler:
    """One that is on, and does nothing by itself."""
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    return profiler
