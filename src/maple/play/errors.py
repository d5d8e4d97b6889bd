"""The errors of an agent that plays on servers, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from bridge.errors import BridgeError

__all__ = ["ObservationFailed", "ObserverClosed", "ObserverDied"]


class ObserverDied(BridgeError):
    """Raised when the process that observes ended, or did not answer, and cannot be kept up."""


class ObserverClosed(BridgeError):
    """Raised when an observer is asked after it was closed."""


class ObservationFailed(BridgeError):
    """Raised when a battle cannot be followed; other battles can."""
