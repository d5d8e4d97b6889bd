"""What is being served, and where it is in its life: what endpoints and status read."""

from __future__ import annotations

import asyncio
import enum
import platform
from typing import Any, Final

from ..lobby import Lobby
from ..machine import package_version
from ..registry import ControllerRegistry

__all__ = ["Phase", "Service"]


class Phase(enum.Enum):
    """Where a service is in its life."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"


_P = Phase
_TRANSITIONS: Final = {
    _P.STARTING: {_P.SERVING, _P.STOPPING},
    _P.SERVING: {_P.STOPPING},
    _P.STOPPING: set[Phase](),
}


class Service:
    """A registry and its lobby, the address they are served at, and the phase of its life."""

    def __init__(self, registry: ControllerRegistry, url: str, lobby: Lobby | None = None) -> None:
        self.registry = registry
        self.lobby = lobby or Lobby(registry)
        self.url = url
        self.phase = Phase.STARTING
        self._started = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Service: {self.phase.value} at {self.url}, {self.registry!r}, {self.lobby!r}>"

    def become(self, phase: Phase) -> None:
        if phase not in _TRANSITIONS[self.phase]:
            raise AssertionError(f"a service cannot go from {self.phase} to {phase}")
        self.phase = phase
        self._started.set()

    async def started(self) -> None:
        """Waits until battles can be opened, or until none will be."""
        await self._started.wait()

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Whether a battle could be opened now, and plain data that says why."""
        pool = self.registry.stats(round_trips=False)["pool"]
        status = self.status(pool)
        return status == "ready", {"status": status, "pool": pool}

    def status(self, pool: dict[str, Any]) -> str:
        """One word for the state of a service whose pool is as described."""
        if self.phase is not Phase.SERVING:
            return str(self.phase.value)
        return "ready" if pool["ready"] else "recovering"

    def report(self) -> dict[str, Any]:
        """All there is to know, as plain data: registry, lobby, settings and versions."""
        stats = self.registry.stats()
        return {
            "status": self.status(stats["pool"]),
            **stats,
            "lobby": self.lobby.stats(),
            "config": self.registry.config.describe(),
            "versions": self._versions(stats),
        }

    def _versions(self, stats: dict[str, Any]) -> dict[str, str | None]:
        runtime = self.registry.runtime
        simulators = [controller["simulator"] for controller in stats["controllers"]]
        return {
            "maple": package_version("maple"),
            "python": platform.python_version(),
            "node": runtime.node_version if runtime else None,
            "simulator": simulators[0] if simulators else None,
        }
