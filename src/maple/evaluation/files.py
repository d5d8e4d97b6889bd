"""Writes what an evaluation found into a folder: tables, a picture, replays, decisions."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bridge.errors import ConfigError

from .arena import Arena
from .decisions import to_lines, to_text
from .errors import ReplayDiverged
from .lineup import file_name
from .picture import draw_picture
from .replays import write_replay
from .report import Report
from .tables import battles_csv, matches_csv, matrix_csv, ratings_csv
from .tally import Kept, Tally

__all__ = ["REPLAYS", "refuse_results", "write_replays", "write_report"]

REPLAYS: Final = "replays"
_TABLES: Final[dict[str, Callable[[Report], str]]] = {
    "matches.csv": matches_csv,
    "matrix.csv": matrix_csv,
    "ratings.csv": ratings_csv,
    "battles.csv": battles_csv,
}
_PICTURE: Final = "matrix.png"


def refuse_results(folder: Path) -> None:
    """Raises ConfigError for a folder with results, which new ones would be mixed with."""
    files = ((folder / name).exists() for name in (*_TABLES, _PICTURE))
    if any(files) or any((folder / REPLAYS).glob("*")):
        raise ConfigError(f"{folder} has the results of an earlier evaluation: name another folder")


def write_report(report: Report, folder: Path) -> list[Path]:
    """The tables as CSV, and a picture where matplotlib is installed; the files."""
    written = []
    for name, table in _TABLES.items():
        file = folder / name
        file.write_text(table(report), encoding="utf-8")
        written.append(file)
    if importlib.util.find_spec("matplotlib") is not None:
        draw_picture(report, folder / _PICTURE)
        written.append(folder / _PICTURE)
    return written


def write_replays(arena: Arena, tally: Tally, folder: Path) -> list[Path]:
    """Plays the battles that were kept once more, and writes what is to be seen; the pages.

    Beside a page stands its input log, and what networks decided, if that was written down.
    """
    return [_write_replay(arena, kept, folder) for kept in tally.kept]


def _write_replay(arena: Arena, kept: Kept, folder: Path) -> Path:
    fixture = kept.fixture
    name = f"{file_name(fixture.agent)}-vs-{file_name(fixture.opponent)}-{fixture.number + 1:04d}"
    if kept.decisions:
        (folder / f"{name}.jsonl").write_bytes(to_lines(name, kept.decisions))
        (folder / f"{name}.txt").write_text(to_text(name, kept.decisions), encoding="utf-8")
    spectated = arena.spectate(kept.journal)
    page = write_replay(spectated, folder, name, arena.facts.name)
    if spectated.result != kept.result:
        raise ReplayDiverged(
            f"{page} does not end as the battle did, which was {kept.result}, but as "
            f"{spectated.result}"
        )
    return page
