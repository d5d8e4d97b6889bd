"""Names as Showdown takes them: which are allowed, and the id that makes two of them the same."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LONGEST_NAME", "clean_name", "name_problem", "to_id"]

LONGEST_NAME: Final = 18
_NOT_IN_IDS: Final = re.compile(r"[^a-z0-9]+")
# What the protocol cannot carry, or gives a meaning to.
_NOT_IN_NAMES: Final = re.compile(r"[|,\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")


def to_id(name: str) -> str:
    """The letters and digits of a name, which is what counts."""
    return _NOT_IN_IDS.sub("", name.lower())


def clean_name(name: str) -> str:
    """The name without what the protocol cannot carry."""
    return " ".join(_NOT_IN_NAMES.sub("", name).split(" ")).strip()


def name_problem(name: str) -> str | None:
    """Why nobody can be called that, in Showdown's words."""
    if not to_id(name) or to_id(name).startswith("guest"):
        return "Your name must contain at least one letter."
    if len(name) > LONGEST_NAME:
        return f"Your name must be {LONGEST_NAME} characters or shorter."
    return None
