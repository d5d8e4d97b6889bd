"""Facts about the machine and the packages that something runs on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "cpu_count", "cpu_model", "package_version"]


def cache_folder() -> Path:
    """Where things are kept that can be made again; MAPLE_CACHE names another folder for them."""
    chosen = os.environ.get("MAPLE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("maple")


def cpu_count() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_model() -> str | None:
    """What the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, None) or platform.processor() or None


def package_version(name: str) -> str | None:
    """The version of an installed distribution; None for one that is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
