"""How much a client of the lobby may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Messages and chat in characters, the others in numbers."""

    games_per_user: int = 512
    lines_per_message: int = 8
    longest_message: int = 64 * 1024
    longest_chat: int = 300

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 1")
