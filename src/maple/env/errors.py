"""The errors of environments, named by cause; the base of all is the bridge's."""

from __future__ import annotations

from typing import Any

from bridge.errors import BridgeError

__all__ = ["IllegalAction", "ObservationMismatch", "OpponentFailed", "StepTimeout"]


class IllegalAction(BridgeError):
    """Raised when an action is not one that the mask of its observation allows."""


class ObservationMismatch(BridgeError):
    """Raised when observations are not of the kind that somebody has learned from or asks for."""


class OpponentFailed(BridgeError):
    """Raised when whoever has the other seat did not decide, but failed; see `__cause__`."""


class StepTimeout(BridgeError):
    """Raised when environments did not answer in time; the others can go on, and so may these.

    `environments` are their numbers.
    """

    def __init__(self, message: str, *, environments: tuple[int, ...] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.environments = environments
