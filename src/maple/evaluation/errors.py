"""The errors of evaluation, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from bridge.errors import BridgeError

__all__ = ["ReplayDiverged"]


class ReplayDiverged(BridgeError):
    """Raised when a battle that is played again does not end as it did."""
