"""The errors of environments, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from bridge.errors import BridgeError

__all__ = ["IllegalAction", "ObservationMismatch"]


class IllegalAction(BridgeError):
    """Raised when an action is not one that the mask of its observation allows."""


class ObservationMismatch(BridgeError):
    """Raised when observations are not of the kind that somebody has learned from or asks for."""
