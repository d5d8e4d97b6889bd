"""Measuring, as far as that is no matter of the command."""

from __future__ import annotations

import pytest

from bridge import BridgeConfig
from bridge.errors import BridgeError
from maple.profiling import ProfilingError, get_profiler
from maple.profiling.training import PPOConfig, default_threads, measure_training


def test_torch_gets_the_cores_that_node_leaves_and_at_least_one() -> None:
    assert [default_threads(16, 8), default_threads(2, 2), default_threads(2, 8)] == [8, 1, 1]


def test_a_profiler_that_is_in_use_is_left_alone() -> None:
    profiler = get_profiler()
    profiler.enable(system=False)
    try:
        with pytest.raises(ProfilingError, match="on already"):
            measure_training(PPOConfig(), [True], 1, bridge=BridgeConfig())
    finally:
        profiler.disable()
        profiler.reset()


def test_what_cannot_begin_is_an_error_and_no_empty_report() -> None:
    bridge = BridgeConfig(pool=1, warmup_battles=0)

    with pytest.raises(BridgeError):
        measure_training(PPOConfig(format="gen9nothing"), [True], 1, bridge=bridge)
