"""What a benchmark ran on."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from ..runtime import Runtime

__all__ = ["describe_machine"]


def describe_machine(runtime: Runtime) -> dict[str, Any]:
    """Processor, memory and versions, as plain data."""
    package = json.loads((runtime.simulator / "package.json").read_text(encoding="utf-8"))
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "node": runtime.node_version,
        "pokemon-showdown": package["version"],
        **{name: _version(name) for name in ("maple", "uvloop", "orjson", "poke-env")},
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
