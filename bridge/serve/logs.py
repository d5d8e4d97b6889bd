"""Sets up logging for a process that serves: all of it through structlog, all of it to stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import TextIO

import structlog
from structlog.typing import Processor

__all__ = ["configure"]


def configure(*, terminal: bool) -> None:
    """Lines for people on a terminal, `key=value` elsewhere; the libraries' own logs with them."""
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
    ]
    final = _for_people() if terminal else _for_programs()
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # Looked up anew each time: while a live table is shown, another file stands in for stderr.
        logger_factory=lambda *_name: structlog.PrintLogger(_stderr()),
    )
    handler = _StderrHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_plain(final))
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def _for_people() -> Sequence[Processor]:
    return [structlog.dev.ConsoleRenderer(pad_event_to=0)]


def _for_programs() -> Sequence[Processor]:
    return [
        structlog.processors.format_exc_info,
        structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
    ]


def _plain(final: Sequence[Processor]) -> list[Processor]:
    return [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final]


def _stderr() -> TextIO:
    return sys.stderr


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to whatever stands for stderr at the time."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _stream: TextIO) -> None:
        pass
