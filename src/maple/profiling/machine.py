"""Where a session is recorded."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import psutil

from bridge.machine import cpu_count, cpu_model, package_version

from .session import Machine

__all__ = ["describe_machine"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PACKAGES = ("maple", "torch", "numpy", "poke-env", "uvloop")


def describe_machine() -> Machine:
    return Machine(
        cores=cpu_count(),
        all_cores=psutil.cpu_count() or cpu_count(),
        cpu=cpu_model(),
        memory=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.machine()}",
        boot=_boot(),
        epoch=time.time_ns() - time.monotonic_ns(),
        versions={
            "python": platform.python_version(),
            **{name: package_version(name) for name in _PACKAGES},
        },
    )


def _boot() -> str:
    """What names this run of this machine, and no other."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return f"{platform.node()} {psutil.boot_time():.0f}"
