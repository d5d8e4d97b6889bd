"""Facts about the machine and the versions that a measurement was made with."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import psutil

from ..machine import cpu_count, cpu_model, package_version
from .report import Machine

__all__ = ["load_average", "machine_of"]


def machine_of(stats: Mapping[str, Any], *, own: bool, local: bool, load: float | None) -> Machine:
    """The machine of a registry: this one, if it is local, and what its stats tell.

    `own` says that the registry is in this process, so that its versions are ours. `load` is the
    load average from before the measurement, which then adds to it.
    """
    ours = {"python": platform.python_version(), "maple": package_version("maple")} if own else {}
    versions = stats.get("versions", ours)
    controller: Mapping[str, Any] = next(iter(stats["controllers"]), {})
    here: dict[str, Any] = {}
    if local:
        here = {
            "cpus": cpu_count(),
            "cpu_model": cpu_model(),
            "memory": psutil.virtual_memory().total,
            "load": load,
            "system": f"{platform.system()} {platform.machine()}",
        }
    return Machine(
        **here,
        python=versions.get("python"),
        node=_bare(versions.get("node") or controller.get("node")),
        simulator=versions.get("simulator") or controller.get("simulator"),
        turbo=controller.get("turbo"),
        left=tuple(controller.get("left", ())),
        maple=versions.get("maple"),
    )


def load_average() -> float:
    """How many processes wanted a CPU during the last minute."""
    return round(psutil.getloadavg()[0], 2)


def _bare(version: str | None) -> str | None:
    return version.removeprefix("v") if version else None
