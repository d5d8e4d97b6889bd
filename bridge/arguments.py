"""What command lines share: how they refuse, in one line, and types of arguments with reasons."""

from __future__ import annotations

import logging
import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from typing import NoReturn

import structlog

__all__ = [
    "OneLineParser",
    "at_least_one",
    "end_on_sigterm",
    "not_negative",
    "output_file",
    "positive",
    "warn_on_stderr",
]


class OneLineParser(ArgumentParser):
    """Says what is wrong in one line, which begins with the name of the command."""

    def __init__(self, name: str, *, description: str | None, epilog: str) -> None:
        super().__init__(
            description=description, epilog=epilog, formatter_class=RawDescriptionHelpFormatter
        )
        self._name = name

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self._name}: {message}; --help shows how it is used\n")


def warn_on_stderr() -> None:
    """Warnings go to stderr, also while a progress bar stands in for it."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_name: structlog.PrintLogger(sys.stderr),
    )


def end_on_sigterm() -> None:
    """SIGTERM is a Ctrl-C: who ends a command by a time limit wants what there is by then as well.

    Ctrl-C may be ignored up to now, as it is where a script runs the command in the background.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def at_least_one(text: str) -> int:
    return _at_least(1, text)


def not_negative(text: str) -> int:
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < least:
        raise ArgumentTypeError(f"{value} is too few: at least {least}")
    return value


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"{text} is not more than 0")
    return value


def output_file(text: str) -> Path:
    """A file that can be written, looked at before the work and not after it."""
    path = Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text} is a folder")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text} cannot be written")
    return path
