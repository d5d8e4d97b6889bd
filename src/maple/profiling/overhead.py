"""What a `with profile(…)` costs here and now, adding up included.

Counted in CPU time, so that other work on the machine does not add to it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

__all__ = ["cost_of_calls"]

_ROUNDS = 5


def cost_of_calls(profile: Callable[[str], AbstractContextManager[object]], calls: int) -> float:
    """Nanoseconds a `with`, less those of an empty loop: the median of some rounds."""
    costs = []
    for _ in range(_ROUNDS):
        began = time.thread_time_ns()
        for _ in range(calls):
            with profile("nothing"):
                pass
        ended = time.thread_time_ns()
        for _ in range(calls):
            pass
        costs.append((2 * ended - began - time.thread_time_ns()) / calls)
    return statistics.median(costs)
