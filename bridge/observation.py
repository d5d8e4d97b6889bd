"""What a side is shown, and the file that says what observations are; does not read one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from .errors import InstallationFailed
from .runtime import node_side

__all__ = ["LINES", "View", "load_spec", "spec_hash", "spec_path"]

_HASH_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class View:
    """What a side is shown: the lines and requests of the protocol, an observation, or both.

    `observe` names groups of observations; `decision` is among them, named or not. A side without
    lines hears of nothing but its own decisions, and the end.
    """

    lines: bool = True
    observe: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.lines, bool):
            raise TypeError(f"lines is True or False, not {self.lines!r}")
        if isinstance(self.observe, str):
            raise TypeError(f"observe is a list of groups, not {self.observe!r}")
        if self.observe is not None:
            object.__setattr__(self, "observe", tuple(self.observe))

    def as_field(self) -> dict[str, Any]:
        return {"lines": self.lines, "observe": self.observe}


LINES: Final = View()
"""What a side is shown unless somebody wants something else."""


def spec_path() -> Path:
    """Where the file is that says what an observation holds, byte by byte."""
    return node_side() / "observation" / "spec.json"


def load_spec(path: Path | None = None) -> dict[str, Any]:
    """The specification; raises InstallationFailed for a file that is missing or was edited."""
    path = path or spec_path()
    try:
        spec = json.loads(path.read_bytes())
        stated = spec.pop("hash")
    except (OSError, ValueError, KeyError) as error:
        raise InstallationFailed(f"cannot read {path}: {error}. Install maple again") from error
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    actual = hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
    if actual != stated:
        raise InstallationFailed(f"{path} was changed by hand: its hash is {actual}, not {stated}")
    return {"hash": stated, **spec}


@cache
def spec_hash() -> str:
    """Names the specification that this process reads observations by, from the first look on."""
    stated = load_spec()["hash"]
    assert isinstance(stated, str)
    return stated
