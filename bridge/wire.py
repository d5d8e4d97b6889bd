"""The frames on the pipe: how commands become lines, and bytes become frames. Does no I/O."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from .errors import ProtocolViolation

__all__ = ["PROTOCOL", "Frame", "LineSplitter", "acknowledged", "decode", "encode"]

PROTOCOL: Final = 1
Frame = dict[str, Any]


def encode(fields: Frame) -> bytes:
    """Fields of a command as JSON; raises ValueError for text that has no UTF-8 form."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"cannot be encoded: {error}") from error


def decode(line: bytes) -> Frame:
    """The frame on a line; a controller that sends anything else cannot be talked to."""
    try:
        frame = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ProtocolViolation(f"a line from Node is not JSON: {error}: {line[:200]!r}") from error
    if not isinstance(frame, dict):
        raise ProtocolViolation(f"a line from Node is not an object: {line[:200]!r}")
    return frame


def acknowledged(line: bytes) -> int | None:
    """The number of the command that a line answers, even one that cannot be decoded."""
    found = re.match(rb'\{"ack":(\d+)', line)
    return int(found[1]) if found else None


class LineSplitter:
    """Cuts a byte stream into lines of any length, copying each byte a bounded number of times."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines."""
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts.clear()
        if rest:
            self._parts.append(rest)
        return lines
