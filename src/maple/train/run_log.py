"""The log of a run: every line goes to its file, and warnings to whoever looks on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any, NoReturn

import structlog

__all__ = ["logging_to"]

_LOUD = ("warning", "error", "critical", "exception")


@contextmanager
def logging_to(file: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Has everything that is logged inside written to the file, after what is there already."""
    # Without a buffer, so that no line is left over for when a disk is full.
    with file.open("ab", buffering=0) as out:
        before = structlog.get_config()
        structlog.configure(
            processors=[
                structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
                structlog.processors.format_exc_info,
                _writer(out, say),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=False,
        )
        try:
            yield
        finally:
            structlog.configure(**before)


def _writer(out: RawIOBase, say: Callable[[str], None]) -> Callable[..., NoReturn]:
    def write(_logger: object, level: str, facts: structlog.typing.EventDict) -> NoReturn:
        line = _line(level, dict(facts))
        try:
            out.write(line.encode())
        except OSError:
            # A full disk must not end a run, and what is loud is said anyway.
            level = "error"
        if level in _LOUD:
            say(line.rstrip("\n"))
        raise structlog.DropEvent

    return write


def _line(level: str, facts: dict[str, Any]) -> str:
    moment, event = facts.pop("timestamp"), facts.pop("event")
    trace = facts.pop("trace", None) or facts.pop("exception", None)
    told = " ".join(f"{name}={value}" for name, value in facts.items())
    text = f"{moment} {level:<7} {event}" + (f"  {told}" if told else "")
    return f"{text}\n{trace}\n" if trace else f"{text}\n"
