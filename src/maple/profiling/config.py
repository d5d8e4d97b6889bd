"""The settings of the profiler: one typed object, loadable from YAML."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.errors import ConfigError
from bridge.settings import build_settings, load_settings

__all__ = ["OTHER", "ProfilingConfig", "load_profiling_config"]

OTHER = "Other"
"""The category of an operation that no pattern knows, and whose parent has none either."""


def _default_categories() -> dict[str, list[str]]:
    return {
        "IPC": ["ipc_*"],
        "Inference": [
            *("agent_*", "inference_*", "policy_*", "forward*", "batch_build*", "queue_wait*")
        ],
        "Waiting": ["*_wait", "wait_*", "waiting*", "*_idle"],
        "Environment": ["env_*", "environment_*"],
        "Model": ["convlstm_*", "model_*", "network_*"],
        "Policy": ["recurrent_policy_*"],
        "Learning": [
            "gradient_*",
            "gae*",
            "loss_*",
            "backward*",
            "optimizer_*",
            "replay_buffer*",
            "training_*",
            "simulated_*",
            "*_update",
        ],
        "Logging I/O": ["log_*", "logging*", "tensorboard*", "checkpoint*", "save_*"],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingConfig:
    """How a run is profiled, and how its operations are grouped.

    Args:
        categories: Patterns of names, by category, in the order in which they are tried: `*` stands
            for any characters. An operation that none of them knows is of its parent's category.
        sample_interval: Seconds between two looks at the CPU time and memory of our processes.
        summary_every: Steps between two live summaries; 0 for none.
        trace_calls: How many of the latest calls are kept one by one, for a trace; 0 for none.
        part_interval: Seconds after which a worker writes down what it has recorded, so that
            little is lost if it is killed.
        folder: Where sessions and summaries are written, in `raw` and `reports`.
    """

    categories: dict[str, list[str]] = field(default_factory=_default_categories)
    sample_interval: float = 0.5
    summary_every: int = 0
    trace_calls: int = 100_000
    part_interval: float = 5.0
    folder: Path = Path("logs/profiling")

    def __post_init__(self) -> None:
        for name in self.categories:
            if not isinstance(name, str):
                raise ConfigError(f"a category is named by text, and {name!r} is none: quote it")
        for name in ("sample_interval", "part_interval"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} is {value}, but must be more than 0")
        for name in ("summary_every", "trace_calls"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 0")

    def category(self, path: tuple[str, ...]) -> str:
        """The category of an operation, given the names from the outermost to its own."""
        for name in reversed(path):
            for category, patterns in self.categories.items():
                if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                    return category
        return OTHER


def load_profiling_config(path: str | Path) -> ProfilingConfig:
    """Reads settings from a YAML file; keys that are not given keep their defaults."""
    return load_settings(path, _build)


def _build(data: Mapping[Any, Any]) -> ProfilingConfig:
    return build_settings(ProfilingConfig, data)
