"""What a benchmark ran on, and what turbo does to the simulator there."""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import dataclass
from typing import Any

import psutil

from ..machine import cpu_count, cpu_model, package_version
from ..runtime import Runtime
from .child import RowFailed

__all__ = ["Patch", "describe_machine", "find_patches"]

_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of turbo, and whether it is on; if not, why not."""

    name: str
    on: bool
    why: str


def find_patches(runtime: Runtime) -> list[Patch]:
    """The patches of turbo in the order in which they are applied."""
    script = runtime.entry.parent / "bench" / "patches.js"
    command = [str(runtime.node), str(script), f"--simulator={runtime.simulator}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_PATIENCE
        )
    except subprocess.CalledProcessError as error:
        raise RowFailed(
            "turbo does not say what it does", exit_status=error.returncode, stderr=error.stderr
        ) from error
    except subprocess.TimeoutExpired as error:
        raise RowFailed(f"turbo does not say within {error.timeout:g} s what it does") from error
    return [Patch(**patch) for patch in json.loads(done.stdout)]


def describe_machine(runtime: Runtime, patches: list[Patch]) -> dict[str, Any]:
    """Processor, memory, versions and how much of turbo there is, as plain data."""
    package = json.loads((runtime.simulator / "package.json").read_text(encoding="utf-8"))
    return {
        "cpu": cpu_model(),
        "cores": cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "node": runtime.node_version,
        "pokemon-showdown": package["version"],
        "turbo": f"{sum(patch.on for patch in patches)} of {len(patches)} patches",
        **{
            name: package_version(name)
            for name in ("maple", "uvloop", "msgspec", "orjson", "poke-env")
        },
    }
