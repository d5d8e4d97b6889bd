"""The errors of agents, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from bridge.errors import BridgeError

__all__ = ["CheckpointMismatch", "CheckpointNotWritten", "CheckpointUnreadable"]


class CheckpointUnreadable(BridgeError):
    """Raised when there is no checkpoint, or what is there is none that this version can read."""


class CheckpointMismatch(BridgeError):
    """Raised when a checkpoint's network has learned from other observations or actions."""


class CheckpointNotWritten(BridgeError):
    """Raised when a checkpoint could not be written; what was there before is still there."""
