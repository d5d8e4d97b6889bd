"""Writes a session where sessions are kept, with its summary beside it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from .analysis import analyse
from .errors import ProfilingError
from .renderers.text import render_summary
from .session import Session

__all__ = ["Saved", "save_session"]


class Saved(NamedTuple):
    """Where a session and its summary were written."""

    raw: Path
    report: Path


def save_session(session: Session, folder: Path) -> Saved:
    """Writes both, named by the session and the moment, and by a number if that is taken."""
    if not session.name or session.name != Path(session.name).name:
        raise ProfilingError(
            f"a session is named like a file, and {session.name!r} is no such name: give the "
            "folder beside it"
        )
    saved = _reserve(folder, f"{session.name}_{_moment()}")
    try:
        session.save(saved.raw)
        saved.report.write_text(render_summary(analyse(session)), encoding="utf-8")
    except BaseException:
        saved.report.unlink(missing_ok=True)
        raise
    return saved


def _reserve(folder: Path, stem: str) -> Saved:
    """Names that nobody else has or gets: who creates the report may write the session."""
    for number in itertools.count(1):
        name = stem if number == 1 else f"{stem}_{number}"
        saved = Saved(folder / "raw" / f"{name}.json", folder / "reports" / f"{name}_summary.txt")
        try:
            saved.report.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProfilingError(f"cannot make {saved.report.parent}: {error.strerror}") from error
        try:
            saved.report.touch(exist_ok=False)
        except FileExistsError:
            continue
        if not saved.raw.exists():
            return saved
        saved.report.unlink()
    raise AssertionError("there is always another number")


def _moment() -> str:
    return datetime.now(UTC).astimezone().strftime("%Y%m%d_%H%M%S")
