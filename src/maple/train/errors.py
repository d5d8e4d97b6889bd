"""The errors of training, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from typing import Any

from bridge.errors import BridgeError

__all__ = ["LossNotFinite", "RunNotFound", "RunUnusable", "WorkerFailed"]


class LossNotFinite(BridgeError):
    """Raised when there is a loss that no network can learn from; `batch` is what it came of."""

    def __init__(self, message: str, *, batch: dict[str, Any]) -> None:
        super().__init__(message)
        self.batch = batch


class RunNotFound(BridgeError):
    """Raised when there is no run in a folder, or none that could go on."""


class RunUnusable(BridgeError):
    """Raised when a run's folder is used by another process, or its files do not fit together."""


class WorkerFailed(BridgeError):
    """Raised when workers fail again and again, and another one would not do better."""
