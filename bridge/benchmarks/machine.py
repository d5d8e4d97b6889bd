"""What a benchmark ran on."""

from __future__ import annotations

import json
import platform
from typing import Any

import psutil

from ..machine import cpu_count, cpu_model, package_version
from ..runtime import Runtime

__all__ = ["describe_machine"]


def describe_machine(runtime: Runtime) -> dict[str, Any]:
    """Processor, memory and versions, as plain data."""
    package = json.loads((runtime.simulator / "package.json").read_text(encoding="utf-8"))
    return {
        "cpu": cpu_model(),
        "cores": cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "node": runtime.node_version,
        "pokemon-showdown": package["version"],
        **{
            name: package_version(name)
            for name in ("maple", "uvloop", "msgspec", "orjson", "poke-env")
        },
    }
