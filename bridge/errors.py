"""The errors of the bridge, named by cause.

Every error carries what a bug report needs: the room tag, the controller's pid and, where a process
died, how it ended and the last lines it wrote to stderr.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

__all__ = [
    "BattleFailed",
    "BattlePoisoned",
    "BattleRejected",
    "BridgeError",
    "ChoiceRejected",
    "ConfigError",
    "ConnectionLost",
    "ControllerDied",
    "ControllerUnresponsive",
    "InferenceFailed",
    "InstallationFailed",
    "NameTaken",
    "PlayerFailed",
    "PoolExhausted",
    "ProtocolViolation",
    "QueueClosed",
    "RegistryClosed",
    "RoomClosed",
    "StaleChoice",
    "UnknownPolicy",
]


class BridgeError(Exception):
    """The base of every error that the bridge raises on purpose.

    An error can be made from its message alone, because that is how it is copied and unpickled.
    """

    def __init__(
        self,
        message: str,
        *,
        room: str | None = None,
        pid: int | None = None,
        exit_status: int | None = None,
        stderr: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.room = room
        self.pid = pid
        self.exit_status = exit_status
        self.stderr = stderr

    def about(self, room: str) -> Self:
        """The same error, told to somebody who waits for a certain room."""
        told = copy.copy(self)
        told.room = room
        told.__cause__ = self.__cause__
        return told

    def in_one_line(self) -> str:
        """The message and, where a process died, the last thing that it said."""
        said = self.stderr.strip().splitlines()
        return " ".join(" ".join((self.message, *said[-1:])).split())

    def __str__(self) -> str:
        facts = [
            f"{name}={value}"
            for name, value in (
                ("room", self.room),
                ("pid", self.pid),
                ("exit_status", self.exit_status),
            )
            if value is not None
        ]
        text = f"{self.message} [{', '.join(facts)}]" if facts else self.message
        return f"{text}\n{self.stderr.rstrip()}" if self.stderr else text


class ConfigError(BridgeError):
    """Raised when a setting is unknown, of the wrong type or out of range."""


class InstallationFailed(BridgeError):
    """Raised when Node or the simulator is missing and could not be installed."""


class PoolExhausted(BridgeError):
    """Raised when no controller had a free place before the deadline of `open`."""


class RegistryClosed(BridgeError):
    """Raised when a registry is used before it was started or after it began to close."""


class RoomClosed(BridgeError):
    """Raised when a room is used after `close()`, or while the registry closes under it."""


class ControllerDied(BridgeError):
    """Raised when a Node process ended and the work it held could not be moved elsewhere."""


class ControllerUnresponsive(ControllerDied):
    """Raised when a Node process is alive but did not answer in time, and was killed for it.

    `held` says that it could not have answered, because a signal or a debugger had stopped it.
    """

    def __init__(self, message: str, *, held: bool = False, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.held = held


class BattleRejected(BridgeError):
    """Raised when a battle cannot start: unknown format, illegal team, unusable name or seed.

    `problems` is what the simulator finds wrong with a team, one by one.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.problems = problems


class ChoiceRejected(BridgeError):
    """Raised when a choice is refused; the battle waits for another one.

    `sides` says of each side whose choice was refused with what words; where both chose at once,
    the choice of a side that is not in there was taken.
    """

    def __init__(
        self, message: str, *, sides: Mapping[str, str] | None = None, **facts: Any
    ) -> None:
        super().__init__(message, **facts)
        self.sides = dict(sides or {})


class StaleChoice(ChoiceRejected):
    """Raised when a choice answers a request that is not open: an old one, or one twice."""


class BattlePoisoned(BridgeError):
    """Raised when a battle failed twice; `input_log` names the file that reproduces it."""

    def __init__(self, message: str, *, input_log: Path | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.input_log = input_log


class ProtocolViolation(BridgeError):
    """Raised when the two ends of a pipe do not understand each other."""


class InferenceFailed(BridgeError):
    """Raised when the forward that held this row failed; `__cause__` says why."""


class QueueClosed(BridgeError):
    """Raised when a queue was closed before a row was computed."""


class UnknownPolicy(BridgeError):
    """Raised when a row is submitted for a policy that the queue does not have."""


class NameTaken(BridgeError):
    """Raised when a player cannot have its name, because somebody else is there by that name."""


class ConnectionLost(BridgeError):
    """Raised when a player has no connection to its server, or its server no pool."""


class PlayerFailed(BridgeError):
    """Raised when a player's own code raised in a battle, which it forfeits; see `__cause__`."""


class BattleFailed(BridgeError):
    """Raised when a server could not play a battle to its end; the message says why."""
