"""What the rows that train are to reach, beside each other and beside what they replace."""

from __future__ import annotations

import operator
from typing import Any

from bridge.benchmarks.run import Target
from bridge.machine import cpu_count

from .rows import OPEN_ROOMS, rooms_row
from .training_table import cores_in_use

__all__ = ["TARGETS"]


def _steps(above: str, below: str, what: str, **bound: Any) -> Target:
    return Target(
        text=f"{what}/s, {above} / {below}",
        above=above,
        below=below,
        figure=lambda sample: sample.decisions_per_s,
        at_least=True,
        **bound,
    )


def _memory_of_a_room(rooms: int, side: str) -> Target:
    return Target(
        text=f"KiB of {side.title()} an open room that observes, of {rooms:,}",
        above=rooms_row(rooms),
        below=rooms_row(OPEN_ROOMS[0]),
        figure=lambda sample: getattr(sample, f"{side}_memory") / 1024 / (rooms - OPEN_ROOMS[0]),
        beside=operator.sub,
    )


def _profiled(row: str, text: str, limit: float) -> Target:
    return Target(
        text=f"CPU µs of a `with profile(…)`, {text}, {row}",
        above=row,
        figure=lambda sample: 1e3 * sample.python_cpu_ms_per_decision,
        limit=limit,
    )


TARGETS: tuple[Target, ...] = (
    _steps("vector_env", "singles_env_showdown", "steps", limit=12.0, aim=25.0),
    _steps("vector_env_vanilla", "singles_env_showdown", "steps"),
    _steps("vector_env_self", "showdown_websocket", "decisions", limit=6.0, aim=10.0),
    _steps("vector_env_self_vanilla", "showdown_websocket", "decisions"),
    Target(
        text="Python CPU µs per decision, inference included, vector_env_self",
        above="vector_env_self",
        figure=lambda sample: 1e3 * sample.python_cpu_ms_per_decision,
        limit=60.0,
    ),
    Target(
        text="Node CPU µs per decision to track and encode, observation - observation_off",
        above="observation",
        below="observation_off",
        figure=lambda sample: 1e3 * sample.node_cpu_ms_per_decision,
        beside=operator.sub,
        limit=60.0,
    ),
    _steps("training", "training_showdown", "decisions", limit=10.0),
    Target(
        text="share of all cores that the trainer keeps busy, training",
        above="training",
        figure=lambda sample: cores_in_use(sample) / cpu_count(),
        at_least=True,
        limit=0.9,
    ),
    _profiled("profile_off", "the profiler off", 0.2),
    _profiled("profile_on", "on", 1.0),
    _profiled("profile_nested", "on and nested", 1.0),
    *(_memory_of_a_room(rooms, side) for rooms in OPEN_ROOMS[1:] for side in ("python", "node")),
)
