"""The frames on the pipe: how commands become lines, and bytes become frames. Does no I/O."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct, UnsetType

from .errors import ProtocolViolation
from .formats import FormatFacts

__all__ = [
    "PROTOCOL",
    "UNSET",
    "End",
    "Failure",
    "Fields",
    "Frame",
    "Hello",
    "LineSplitter",
    "News",
    "SideFailure",
    "acknowledged",
    "decode",
    "decode_request",
    "encode",
]

PROTOCOL: Final = 1
Fields = dict[str, Any]
"""What a command says, beside its number and its operation."""


NodeStamps = tuple[int, int, int, int]
"""When Node received a command, and the nanoseconds that it waited, ran, and took to encode."""


class Hello(Struct, gc=False):
    """Who speaks, in the first frame."""

    protocol: int
    node: str
    simulator: str
    turbo: bool
    left: list[str]
    """What turbo leaves to vanilla, and why."""
    pid: int
    observation: str = ""
    """The hash of the specification that observations are written by."""


class News(Struct, gc=False):
    """What a command made known to a side."""

    text: str = ""
    rqid: int | None = None
    request: Raw = Raw()
    """As it came. Hundreds of objects, if decoded, of which a crowd of rooms would be full: they
    are made when somebody reads them."""
    refusal: str | None = None
    """With what words the simulator refused the side's choice before it asked again."""
    obs: bytes | None = None
    """What it may know, from base64."""


class End(Struct, gc=False):
    """How a battle ended."""

    winner: Literal["p1", "p2"] | None
    turns: int
    reason: Literal["win", "tie", "forfeit"]


class SideFailure(Struct, gc=False):
    """Why the choice of one side was refused."""

    code: str
    message: str


class Failure(Struct, gc=False):
    """Why a command was refused."""

    code: str
    message: str
    problems: list[str] | None = None
    """What is wrong with a team, one by one."""
    sides: dict[Literal["p1", "p2"], SideFailure] | None = None
    """Whose choices were refused, of two that came together; what else there was has been done."""


class Frame(Struct, gc=False):
    """What Node answers to a command. Members that are not listed are skipped."""

    ack: int | UnsetType | None = UNSET
    """The number of the command; None for a line that was none."""
    p1: News | None = None
    p2: News | None = None
    end: End | None = None
    error: Failure | None = None
    teams: list[str | None] | None = None
    facts: FormatFacts | None = None
    team: str | None = None
    """A team that was validated, as packed."""
    t: NodeStamps | None = None
    rooms: int | None = None
    rss: int | None = None
    heap: int | None = None
    cpu: float | None = None
    warm: tuple[int, int] | None = None
    """Battles of the warm-up that are played, and how many there are to be."""
    left: list[str] | None = None
    """What turbo leaves to vanilla by now: some of it is known when a mod is met."""
    warnings: list[str] | None = None
    """What has gone wrong since the last frame, and concerns no command."""
    hello: Hello | None = None


_decoder = msgspec.json.Decoder(Frame)


def encode(fields: Fields) -> bytes:
    """Fields of a command as JSON; raises ValueError for text that has no UTF-8 form."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"cannot be encoded: {error}") from error


def decode(line: bytes) -> Frame:
    """The frame on a line; a controller that sends anything else cannot be talked to."""
    try:
        if not line.isascii():
            # Requests are skipped here; what is in them would be noticed too late.
            line.decode()
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolViolation(f"a line from Node is no frame: {error}: {line[:200]!r}") from error


def decode_request(raw: Raw) -> dict[str, Any]:
    """The request in a frame that was decoded before."""
    try:
        request = orjson.loads(memoryview(raw))
    except orjson.JSONDecodeError as error:
        raise ProtocolViolation(f"a request from Node is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise ProtocolViolation(f"a request from Node is not an object: {request!r}"[:300])
    return request


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
