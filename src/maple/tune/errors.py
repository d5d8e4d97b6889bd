"""The errors of tuning, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from bridge.errors import BridgeError

__all__ = ["TrialFailed"]


class TrialFailed(BridgeError):
    """Raised when training with some settings ends, or comes to no second update in time."""
