"""Types of arguments that several command lines share; each refuses with a reason."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from pathlib import Path

__all__ = ["at_least_one", "output_file", "positive"]


def at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ArgumentTypeError(f"{value} is too few: at least 1")
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
